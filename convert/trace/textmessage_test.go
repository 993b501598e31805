package trace_test

import (
	"bytes"
	"compress/zlib"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
)

// messages has messages of several lines, of the kernel and of a program.
const messages = `# tracer: nop
#
            bash-100     [000] .....   100.000001: my_func: first line
second line
third: line
            bash-100     [000] .....   100.000002: tracing_mark_write: hello

world

            bash-100     [000] .....   100.000003: sched_waking: comm=x pid=3 prio=120 target_cpu=000
no line of it
`

const messagesListed = `{"comm":"bash","pid":100,"tid":100,"cpu":0,"time":100.000001000,"event":"trace:my_func","fields":{"text":"first line\u000asecond line\u000athird: line"}}
{"comm":"bash","pid":100,"tid":100,"cpu":0,"time":100.000002000,"event":"ftrace:tracing_mark_write","fields":{"text":"hello\u000a\u000aworld"}}
`

// TestMessages: a message may have several lines, and what is behind another event is none.
func TestMessages(t *testing.T) {
	name := written(t, messages)
	got := list(t, name, listing.Options{}, listing.PrinterOptions{Format: listing.JSON})
	if !strings.HasPrefix(got, messagesListed) || strings.Count(got, "\n") > 3 {
		t.Errorf("%s\nwant\n%s", got, messagesListed)
	}
	if got := warnings(t, name); !strings.Contains(got, "1 line of no known form, the first is line 11") {
		t.Error(got)
	}
	long := "# tracer: nop\n a-1 [000] ..... 1.0: f: x\n" + strings.Repeat("y\n", 1000)
	if got := warnings(t, written(t, long)); !strings.Contains(got, "744 lines of no known form") {
		t.Error(got)
	}
}

// TestMessagesWithPlaces: who wrote a message is the same with the options sym-offset and sym-addr, and in a module.
func TestMessagesWithPlaces(t *testing.T) {
	plain := "# tracer: nop\n bash-100     [000] .....   100.000001: my_func: text: x\n bash-100     [000] .....   100.000002: tracing_mark_write: hello\n"
	want := list(t, written(t, plain), listing.Options{}, listing.PrinterOptions{Format: listing.JSON})
	for _, place := range []string{"+0xda/0x270", " <ffffffff9aa1ce2a>", "+0xda/0x270 [mod] <ffffffff9aa1ce2a>", " [mod]"} {
		text := strings.NewReplacer("my_func:", "my_func"+place+":", "mark_write:", "mark_write"+place+":").Replace(plain)
		if got := list(t, written(t, text), listing.Options{}, listing.PrinterOptions{Format: listing.JSON}); got != want {
			t.Errorf("%s: %s\nwant\n%s", place, got, want)
		}
	}
}

// TestAtraceCompressed: what atrace -z prints is what it prints without.
func TestAtraceCompressed(t *testing.T) {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, err := w.Write([]byte(messages))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range []string{"TRACE:\n", "capturing trace... done\nTRACE:\r\n"} {
		got := list(t, written(t, head+z.String()), listing.Options{}, listing.PrinterOptions{Format: listing.JSON})
		if !strings.HasPrefix(got, messagesListed) {
			t.Errorf("%s\nwant\n%s", got, messagesListed)
		}
	}
}

// TestGraphWithoutColumns: calls of a text without CPUs and tasks are of none, which is no
// task that has gone.
func TestGraphWithoutColumns(t *testing.T) {
	const graph = "# tracer: function_graph\n#\n# DURATION                  FUNCTION CALLS\n" +
		"              |  vfs_read() {\n  0.500 us    |    up_read();\n  4.000 us    |  }\n"
	name := written(t, graph)
	if got := warnings(t, name); got != "" {
		t.Error(got)
	}
	if got := list(t, name, listing.Options{}, listing.PrinterOptions{Format: listing.JSON}); strings.Contains(got, `"cpu"`) || !strings.Contains(got, `"duration":4000`) {
		t.Error(got)
	}
	if got := strings.Join(folded(t, name, "ftrace:function_graph", 1, convert.Options{}), " "); got != "vfs_read 3500 vfs_read;up_read 500" {
		t.Error(got)
	}
}

// TestMessagesOfLog: lines that others print meanwhile are no part of a message that was dumped into a log,
// all lines of which have the same time (kernel/printk/printk.c, record_print_text).
func TestMessagesOfLog(t *testing.T) {
	name := written(t, `[   12.000001] Dumping ftrace buffer:
[   12.000002] ---------------------------------
[   12.000003]     bash-100     0..... 100000001us : my_func: first line
[   12.000003] second line
[   12.000004] usb 1-1: new high-speed USB device
[   12.000005]     bash-100     0..... 100000002us : my_func: hello
[   12.000006] rcu: INFO
[   12.000007] ---------------------------------
`)
	got := list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Fields}})
	if want := "text=first line\ufffdsecond line\ntext=hello\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := warnings(t, name); got != "left out 2 lines of no known form, the first is line 5" {
		t.Errorf("warnings %s", got)
	}
}

// TestQuoted: what a mail quotes has names of tasks without its marks, and its blanks before functions; what
// follows a message is as it was written.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"> # tracer: function\n>           <idle>-0     [000] d..2. 12.000001: vfs_read <-ksys_read\n>             bash-1507  [000] d..2. 12.000101: vfs_write <-ksys_write\n" +
			"> > other-8 [000] d..2. 12.000102: f <-g\n": "swapper vfs_read <-ksys_read\nbash vfs_write <-ksys_write\nother f <-g\n",
	} {
		got := list(t, written(t, text), listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Comm | listing.Trace}})
		var lines strings.Builder
		for line := range strings.Lines(got) {
			lines.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
		if lines.String() != want {
			t.Errorf("%q, want %q", lines.String(), want)
		}
	}
	message := list(t, written(t, "sh-9 [000] ..... 1.000001: print: a\n> b\n"), listing.Options{}, listing.PrinterOptions{Format: listing.JSON})
	if want := `"text":"a\u000a> b"`; !strings.Contains(message, want) {
		t.Errorf("%s, want %s", message, want)
	}
	name := written(t, "Hello,\n> >  0)               |  sys_open() {\n> >  0)   0.382 us    |    getname();\n> >  0)   3.382 us    |  }\n")
	if got, want := strings.Join(folded(t, name, "ftrace:function_graph", 1, convert.Options{}), ","), "sys_open 3000,sys_open;getname 382"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
