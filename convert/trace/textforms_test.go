package trace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
)

// TestPage: the pages of systrace have the text in an element, older ones in a string.
func TestPage(t *testing.T) {
	const text = `# tracer: nop
           <...>-17    (-----) [001] ...1    12.000001: tracing_mark_write: B|17|inflate
          my ui-17    (   17) [001] ...1    12.000003: tracing_mark_write: E|17
`
	const want = `my ui    17 [001]    12.000001: ftrace:tracing_mark_write: B|17|inflate
my ui    17 [001]    12.000003: ftrace:tracing_mark_write: E|17
`
	filler := strings.Repeat("var a = '# tracer'; // of the viewer\n", 5000) + strings.Repeat("b();", 1<<15) + "\n" // a line longer than any of a trace
	for _, page := range []string{
		"<!DOCTYPE html>\n<html><head><script>\n" + filler + "</script></head><body>\n<!-- BEGIN TRACE -->\n  <script class=\"trace-data\" type=\"application/text\">\n" + text + "\n  </script>\n<!-- END TRACE -->\n</body></html>\n",
		"<html><script>\n" + filler + "var linuxPerfData = \"" + strings.ReplaceAll(text, "\n", "\\n\\\n") + "\\n\";\n</script></html>\n",
	} {
		name := written(t, page)
		got := list(t, name, listing.Options{}, listing.PrinterOptions{})
		if blank := strings.NewReplacer(" ", ""); blank.Replace(got) != blank.Replace(want) {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if got := warnings(t, name); got != "" {
			t.Errorf("warnings %s", got)
		}
	}
}

// TestRecursion: a function that calls itself is there twice, in calls and in stacks.
func TestRecursion(t *testing.T) {
	for text, want := range map[string]string{
		" 0)               |  a() {\n 0)               |    f() {\n 0)   4.000 us    |      f();\n 0)   9.000 us    |    }\n 0)   19.000 us   |  }\n": "[a 10000 a;f 5000 a;f;f 4000]",
		"  ui-17  [001] 1.000001: tracing_mark_write: B|17|f\n  ui-17  [001] 1.000004: tracing_mark_write: B|17|f\n" +
			"  ui-17  [001] 1.000014: tracing_mark_write: E\n  ui-17  [001] 1.000017: tracing_mark_write: E\n": "[f 6000 f;f 10000]",
	} {
		name := written(t, "# tracer: nop\n"+text)
		event := "atrace:slice"
		if strings.Contains(text, "|  a()") {
			event = "ftrace:function_graph"
		}
		if got := fmt.Sprint(folded(t, name, event, 1, convert.Options{})); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	name := written(t, "# tracer: nop\n  ui-17  [001]    12.000001: tick: count=1\n  ui-17  [001]    12.000001: <stack trace>\n => f\n => f\n => a\n")
	if got := fmt.Sprint(folded(t, name, "trace:tick", 0, convert.Options{})); got != "[a;f;f 1]" {
		t.Errorf("%s", got)
	}
}

// TestLeafTime: a call is a sample at its end, of which the line of one that calls nothing has the begin; as lines
// have whole µs it is not behind the end of the call that it is in.
func TestLeafTime(t *testing.T) {
	name := written(t, `# tracer: function_graph
   10.000001 |   0)               |  a() {
   10.000003 |   0)   5.900 us    |    f();
   10.000008 |   0)   7.100 us    |  }
   10.000100 |   0)   2.000 us    |  f();
`)
	p, err := convert.Open(t.Context(), name, convert.Options{Selection: convert.Selection{Times: true}})
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, m := range p.Set.TimedSamples {
		got = append(got, m.Time%1e9/1000)
	}
	if want := []uint64{8, 8, 102}; !slices.Equal(got, want) {
		t.Errorf("%v µs, want %v", got, want)
	}
}

// TestByteOrderMark: what editors and shells of Windows put before a text is no part of its first line.
func TestByteOrderMark(t *testing.T) {
	name := written(t, "\ufeff  ui-17  [001]    12.000001: tick: count=1\n  ui-17  [001]    12.000003: tick: count=2\n")
	if got := fmt.Sprint(folded(t, name, "trace:tick", 0, convert.Options{})); got != "[ 2]" {
		t.Errorf("%s", got)
	}
	if got := list(t, name, listing.Options{}, listing.PrinterOptions{}); !strings.HasPrefix(strings.TrimSpace(got), "ui ") {
		t.Errorf("%q", got)
	}
}
