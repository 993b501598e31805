package listing_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/perfevent/livetest"
)

// workload makes many events happen.
const workload = `
d=$(mktemp -d) && cd "$d" || exit 1
head -c 100000 /dev/zero >f; sync f; mv f g; ln g h; rm g h
(exit 3); sleep 0.02; echo hello | cat >/dev/null
(sleep 5 & p=$!; kill -USR1 $p; wait $p) 2>/dev/null
(exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; (exec 3<>/dev/udp/127.0.0.1/9; echo x >&3) 2>/dev/null; (exec 3<>/dev/tcp/::1/1) 2>/dev/null
cd / && rm -r "$d"
`

// systems are those whose events the workload makes, and which perf does not make
// in numbers by its own writing.
var systems = []string{"sched", "kmem", "block", "timer", "irq", "workqueue", "writeback", "filemap", "ext4", "jbd2",
	"signal", "task", "net", "sock", "tcp", "skb", "napi", "oom", "power", "mmap", "vmscan", "tlb", "csd", "ipi",
	"raw_syscalls", "cgroup", "compaction", "migrate", "fib", "neigh", "qdisc", "udp", "icmp", "netlink", "notifier"}

// differences are all that may differ from perf script 6.1, by cause: what strip
// finds is taken out of both lines, and then they are equal.
var differences = []struct {
	cause string
	event string // of which events, a prefix
	strip *regexp.Regexp
}{
	{"perf takes a frame number for the address of struct page, which depends on a variable of the kernel", "kmem:mm_page_", regexp.MustCompile(`page=\S+`)},
	{"perf does not know the constants of include/uapi/linux/ioprio.h", "block:", regexp.MustCompile(` (none|rt|be|idle|0x\d),`)},
	{"perf 6.1 computes flags & (a | b | c) as if it had no parentheses; the kernel's own text agrees with kprof", "timer:timer_", regexp.MustCompile(` flags=\S*$`)},
	{"perf prints the first name whose value it does not know where no flag is set, and takes jiffies, which only the kernel has, for 0", "writeback:", regexp.MustCompile(` (state|flags|reason|age)[= ]\S*`)},
}

// TestPerfScript records the tracepoints of many systems, and compares every line with
// perf script's.
func TestPerfScript(t *testing.T) {
	livetest.Require(t, livetest.Perf, livetest.Root, livetest.Tracefs, livetest.Program("bash"))
	livetest.UseMachine(t)
	name := filepath.Join(t.TempDir(), "perf.data")
	args := []string{"record", "-q", "-a", "-m", "8M", "-c", "1", "-o", name}
	for _, system := range systems {
		events, err := filepath.Glob("/sys/kernel/tracing/events/" + system + "/*/format")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			args = append(args, "-e", system+":"+filepath.Base(filepath.Dir(e)))
		}
	}
	for _, call := range []string{"openat", "read", "getpid", "getppid", "mmap", "wait4", "kill", "connect"} {
		args = append(args, "-e", "syscalls:sys_enter_"+call, "-e", "syscalls:sys_exit_"+call)
	}
	args = append(args, "--", "bash", "-c", workload)
	if out, err := livetest.PerfCommand(t, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	events := compareWithPerf(t, name, compared)
	for _, e := range []string{"sched:sched_switch", "sched:sched_process_exec", "kmem:kmalloc", "raw_syscalls:sys_enter", "syscalls:sys_enter_openat"} {
		if !events[e] {
			t.Errorf("no %s was compared", e)
		}
	}
}

// TestPerfScriptCorpus compares the lines of recordings of other kernels and machines, of
// which perf reads those that have nothing but the kernel's events.
func TestPerfScriptCorpus(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	files, err := filepath.Glob("../../testdata/recordings/*.data")
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := filepath.Glob("../../../shared/corpus/perfdata/*")
	if err != nil {
		t.Fatal(err)
	}
	events, read := map[string]bool{}, 0
	for _, name := range append(files, corpus...) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if strings.Contains(name, "intel_pt") || strings.Contains(name, "platform_system_extras") {
				return // perf makes samples of the trace; it does not read simpleperf's names of events
			}
			for _, columns := range []string{compared, "comm,pid,tid,time,event"} {
				if livetest.PerfCommand(t, "script", "-F", columns, "-i", name).Run() == nil {
					read++
					for e := range compareWithPerf(t, name, columns) {
						events[e] = true
					}
					return
				}
			}
			t.Log("perf does not read it, or it has no times")
		})
	}
	t.Logf("%d of %d recordings compared, of %d events", read, len(files)+len(corpus), len(events))
	if read < 3 || len(corpus) > 0 && !events["sched:sched_switch"] {
		t.Errorf("%d recordings compared, of events %v", read, events)
	}
}

const compared = "comm,pid,tid,cpu,time,event,trace"

// compareWithPerf compares the lines of a recording, and returns the events that it has.
func compareWithPerf(t *testing.T, name, compared string) map[string]bool {
	cmd := livetest.PerfCommand(t, "script", "-G", "--ns", "-F", compared, "-i", name)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("perf script: %v\n%s", err, errs.Bytes())
	}
	var b bytes.Buffer
	columns, err := listing.ParseColumns(compared)
	if err != nil {
		t.Fatal(err)
	}
	res := read(t, name, listing.Options{}, listing.NewPrinter(&b, listing.PrinterOptions{Columns: columns, Nanos: true, Parallel: true}))
	late := uint64(0)
	for _, w := range res.Warnings {
		if w.Kind == convert.OutOfOrder {
			late = w.Count
		}
	}
	want, _ := byTime(t, string(out))
	got, backwards := byTime(t, b.String())
	if backwards > late {
		t.Errorf("%d lines are earlier than the one before, told of are %d", backwards, late)
	}
	same, unexplained := 0, 0
	events, causes := map[string]bool{}, map[string]int{}
	for key, w := range want {
		g := got[key]
		if len(g) != len(w) {
			t.Errorf("at %s: %d lines, perf script has %d", key, len(g), len(w))
			continue
		}
		slices.Sort(g)
		slices.Sort(w)
		event := key[strings.IndexByte(key, ' ')+1:]
		events[event] = true
		for i := range w {
			if g[i] == w[i] {
				same++
			} else if c := cause(event, g[i], w[i]); c != "" {
				causes[c]++
			} else if unexplained++; unexplained <= 20 {
				t.Errorf("%s\n%q, perf script says\n%q", event, g[i], w[i])
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d times and events, perf script has %d", len(got), len(want))
	}
	t.Logf("%d lines of %d events are the same, %d unexplained", same, len(events), unexplained)
	for c, n := range causes {
		t.Logf("%d lines: %s", n, c)
	}
	return events
}

// read lists the events of a recording.
func read(t *testing.T, name string, o listing.Options, p *listing.Printer) *listing.Result {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := convert.OpenRecording(f)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	o.Address = p.Address
	res, err := listing.Read(t.Context(), rec, o, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return res
}

func cause(event, own, perf string) string {
	if strings.Contains(perf, "[FAILED TO PARSE]") {
		return "perf cannot read the print fmt, and prints name=value"
	}
	for _, d := range differences {
		if strings.HasPrefix(event, d.event) && d.strip.ReplaceAllString(own, "") == d.strip.ReplaceAllString(perf, "") {
			return d.cause
		}
	}
	return ""
}

var scriptLine = regexp.MustCompile(`^.* +(\d+\.\d{9}): +(\S+): ?.*$`)

var lostLine = regexp.MustCompile(`^CPU:\d+ \[LOST \d+ EVENTS\]$`)

// byTime are lines by time and event, and how many are earlier than the one before. perf
// writes ends of lines in names as they are.
func byTime(t *testing.T, text string) (lines map[string][]string, backwards uint64) {
	lines = map[string][]string{}
	key, last := "", ""
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, " \n")
		if lostLine.MatchString(l) {
			continue // perf script does not show them
		}
		m := scriptLine.FindStringSubmatch(l)
		if m == nil {
			if key == "" {
				t.Fatalf("not a line: %q", l)
			}
			k := lines[key]
			k[len(k)-1] += "\ufffd" + l
			continue
		}
		at := strings.Repeat("0", 20-len(m[1])) + m[1]
		if at < last {
			backwards++
		}
		last = at
		key = m[1] + " " + m[2]
		lines[key] = append(lines[key], l)
	}
	return lines, backwards
}
