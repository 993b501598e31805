package stacktext

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"kprof/convert/stacks"
)

// fold writes the rows of a Set as text: event, labels, frames from the outermost
// on, with file and line, and values.
func fold(s *stacks.Set) []string {
	sums := map[string][]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		var b strings.Builder
		if len(s.Events) > 1 {
			fmt.Fprintf(&b, "<%s> ", s.Events[x.Event].Name)
		}
		for _, l := range s.Labels(x.Labels) {
			if l.Key == "comm" {
				b.WriteString(l.Str)
				continue
			}
			fmt.Fprintf(&b, "{%s=%d}", l.Key, l.Num)
		}
		stack := s.Stack(x.Stack)
		for j := len(stack) - 1; j >= 0; j-- {
			b.WriteString(";" + frameText(s, stack[j]))
		}
		line := b.String()
		if sums[line] == nil {
			sums[line] = make([]int64, len(x.Values))
		}
		for c, v := range x.Values {
			sums[line][c] += v
		}
	}
	var lines []string
	for line, v := range sums {
		lines = append(lines, line+" "+strings.Trim(fmt.Sprint(v), "[]"))
	}
	slices.Sort(lines)
	return lines
}

func frameText(s *stacks.Set, loc uint32) string {
	name, file := "[unknown]", ""
	if m := s.Locations[loc].Mapping; m >= 0 {
		file = "(" + s.Mappings[m].File + ")"
	}
	for _, l := range s.Lines(loc) {
		fn := s.Functions[l.Function]
		if name = fn.Name; fn.File != "" {
			name += fmt.Sprintf("@%s:%d", fn.File, l.Line)
		}
	}
	return name + file
}

var dialectNames = map[string]Dialect{"perf": PerfScript, "bpftrace": BPFTrace, "dtrace": DTrace, "hist": Histogram}

// TestGolden reads the text of each testdata/DIALECT-*.txtar and compares with
// what it should come to, and what should be told. The expectations are written by
// hand: of perf's text, they are what the recording has.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dialect, _, _ := strings.Cut(filepath.Base(name), "-")
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			// A "|" ends a line whose last blanks count, "\t" is a tab.
			in := strings.NewReplacer("|\n", "\n", `\t`, "\t", `\r`, "\r").Replace(files["in"])
			var o Options
			for flag := range strings.FieldsSeq(files["options"]) {
				switch flag {
				case "tid":
					o.TID = true
				case "cpu":
					o.CPU = true
				default:
					t.Fatalf("option %q", flag)
				}
			}
			check := func(in string, how string) {
				set, st, err := Read(strings.NewReader(in), dialectNames[dialect], o)
				if err != nil {
					t.Fatal(err)
				}
				got := strings.Join(slices.Concat(fold(set), losses(st), set.Comments), "\n") + "\n"
				if diff := cmp.Diff(files["want"], got); diff != "" {
					t.Errorf("%s: -want +got:\n%s", how, diff)
				}
			}
			check(in, "as it is")
			check(strings.ReplaceAll(in, "\n", "\r\n"), "with CR LF")
			check(strings.TrimRight(in, "\n"), "without its last line end")
			if dialect == "perf" {
				if lines := firstLines(in); !IsPerfScript(lines) {
					t.Error("not recognised as perf script's")
				}
			}
		})
	}
}

func firstLines(text string) (lines [][]byte) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && len(lines) < 200 {
			lines = append(lines, []byte(line))
		}
	}
	return lines
}

// repeated is text of n samples with equal stacks.
func repeated(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "my prog %5d/%-5d [%03d] %6d.%06d:     250000 cpu-clock:u: \n", 7, 7+i%3, i%4, 100+i/1000, i%1000)
		fmt.Fprintf(&b, "\t%16x vfs_read+0x%x ([kernel.kallsyms])\n\t%16x main+0x%x (/usr/bin/my prog)\n\n", uint64(0xffffffff81000000)+uint64(i), i, 0x400000+i, i)
	}
	return b.Bytes()
}

// TestMemory reads text of very many samples that are the same: what is allocated
// must not grow with their number.
func TestMemory(t *testing.T) {
	few, many := repeated(1000), repeated(20000)
	allocs := func(b []byte) float64 {
		return testing.AllocsPerRun(2, func() {
			set, st, err := Read(bytes.NewReader(b), PerfScript, Options{})
			if err != nil || st.Samples == 0 || set.NumStacks() != 1 {
				t.Fatal(err, st, set.NumStacks())
			}
		})
	}
	if a, b := allocs(few), allocs(many); b > a+20 {
		t.Errorf("%.0f allocations for 1000 samples, %.0f for 20000", a, b)
	}
}

func TestReadTimes(t *testing.T) {
	set, st, err := Read(bytes.NewReader(repeated(10)), PerfScript, Options{Times: true, From: 100e9 + 2000, To: 100e9 + 7000, TIDs: []int32{7, 8}, TID: true})
	if err != nil {
		t.Fatal(err)
	}
	var times []uint64
	for _, m := range set.TimedSamples {
		if m.Value != 250000 || set.Sample(int(m.Sample)).Event != 0 {
			t.Errorf("moment %+v", m)
		}
		times = append(times, m.Time-100e9)
	}
	// Threads are 7, 8 and 9 in turn.
	if want := []uint64{3000, 4000, 6000, 7000}; !slices.Equal(times, want) {
		t.Errorf("times %v, want %v", times, want)
	}
	if st.Samples != 10 || st.Taken != 4 || st.FirstTime != 100e9 || st.LastTime != 100e9+9000 || set.DurationNanos != 4000 {
		t.Errorf("%+v, %d ns", st, set.DurationNanos)
	}
	if want := []string{"my prog{pid=7}{tid=7};main(/usr/bin/my prog);vfs_read([kernel.kallsyms]) 2 500000", "my prog{pid=7}{tid=8};main(/usr/bin/my prog);vfs_read([kernel.kallsyms]) 2 500000"}; !slices.Equal(fold(set), want) {
		t.Errorf("%q", fold(set))
	}
}

func TestReadErrors(t *testing.T) {
	var events strings.Builder
	for i := range maxEvents + 1 {
		fmt.Fprintf(&events, "a 1 1.0: e%d: \n\n", i)
	}
	big := "a 1 1.0: 9223372036854775807 cycles: \n\n"
	for _, x := range []struct {
		text string
		d    Dialect
		want string
	}{
		{"", PerfScript, "no sample"},
		{"nothing\nof the sort\n", PerfScript, "no sample"},
		{strings.Repeat("x", maxLine+1), PerfScript, "line 1 is longer than 1024 KiB"},
		{"a 1 1.0: e:\n\n" + strings.Repeat("x", maxLine+1), PerfScript, "line 3 is longer"},
		{events.String(), PerfScript, "more than 1024 different events"},
		{big + big, PerfScript, "line 3: the periods of event \"cycles\" add up to more"},
		{"@[\n a\n]: 9223372036854775807\n@[\n a\n]: 1\n", BPFTrace, "add up to more"},
		{"Attaching 1 probe...\n", BPFTrace, "no sample"},
		{"  a`b\n  9223372036854775808\n", DTrace, "add up to more"},
		{"a", Unknown, "no dialect"},
	} {
		_, _, err := Read(strings.NewReader(x.text), x.d, Options{})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%.40q: %v, want %q", x.text, err, x.want)
		}
	}
	if _, _, err := Read(iotest.ErrReader(os.ErrClosed), PerfScript, Options{}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a reader that fails: %v", err)
	}
}

func TestDeepStack(t *testing.T) {
	text := "a 1 1.0: e: \n" + strings.Repeat("\t 400000 f (x)\n", stacks.MaxDepth+10)
	set, st, err := Read(strings.NewReader(text), PerfScript, Options{})
	if err != nil || st.ShortenedStacks != 1 || len(set.Stack(0)) != stacks.MaxDepth {
		t.Errorf("%v, %+v", err, st)
	}
	if l := losses(st); len(l) != 1 || l[0] != "shortened stacks 1" {
		t.Errorf("%q", l)
	}
}

func TestManyTasks(t *testing.T) {
	var b bytes.Buffer
	const n = 3 * maxLabels
	for i := range n {
		fmt.Fprintf(&b, "c%d %d/%d 1.0: e: \n\n", i, i, i)
	}
	set, st, err := Read(&b, PerfScript, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if st.OverflowTasks == 0 || set.NumLabels() > maxLabels+n/8+2 {
		t.Errorf("%d lists of labels, %d samples of others", set.NumLabels(), st.OverflowTasks)
	}
	if got := set.Totals(0)[0]; got != n {
		t.Errorf("%d samples of %d", got, n)
	}
}

// TestOffCPUTime: the periods of perf record --off-cpu are times, and those of its samples, which are sums, none.
func TestOffCPUTime(t *testing.T) {
	const sums = "a 1 18446744069.414584: 1500 offcpu-time: \n\t 400000 f (x)\n\n"
	for _, c := range []struct {
		text        string
		event       int
		first, last uint64
	}{
		{sums, 0, 0, 0},
		{strings.Replace(sums, "584", "584320", 1), 0, 0, 0},
		{"a 1 1.0: 5 cycles: \n\t 400000 f (x)\n\na 1 2.5: 5 cycles: \n\t 400000 f (x)\n\n" + sums, 1, 1e9, 25e8},
	} {
		set, st, err := Read(strings.NewReader(c.text), PerfScript, Options{Times: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Events) != c.event+1 || set.Events[c.event].Name != "offcpu-time" || st.FirstTime != c.first || st.LastTime != c.last || len(set.TimedSamples) != 2*c.event {
			t.Errorf("%q: %+v, from %d to %d", c.text, set.Events, st.FirstTime, st.LastTime)
			continue
		}
		if got := set.Events[c.event].Values[1]; got != (stacks.ValueType{Type: "offcpu-time", Unit: "nanoseconds"}) {
			t.Errorf("%q: %+v", c.text, got)
		}
	}
}

// losses are the counts of what the text does not hold, or what of it was not used.
func losses(st *Stats) (l []string) {
	for _, c := range []struct {
		what string
		n    uint64
	}{{"lost", st.Lost}, {"errors", st.Errors}, {"branches", st.Branches}, {"unread from line " + fmt.Sprint(st.FirstUnread), st.Unread}, {"shortened stacks", st.ShortenedStacks}, {"other tasks", st.OverflowTasks}, {"missing deferred chains", st.MissingDeferredChains}} {
		if c.n > 0 {
			l = append(l, fmt.Sprint(c.what, " ", c.n))
		}
	}
	return l
}

// TestManyThreads bounds where in a line a thread is looked for: from each number the line is read
// to its end.
func TestManyThreads(t *testing.T) {
	for decoy, header := range map[string]string{
		"x 5 a ":     "   12345 cycles: ",
		"x [1] 5 a ": "   12345 [001] cycles: ",
	} {
		if h := parseHeader([]byte(strings.Repeat(decoy, 3) + header)); !h.hasTID || h.tid != 12345 {
			t.Errorf("behind three of %q: %+v", decoy, h)
		}
		if h := parseHeader([]byte(strings.Repeat(decoy, 1000) + header)); h.tid == 12345 {
			t.Errorf("behind a thousand of %q: found", decoy)
		}
	}
}
