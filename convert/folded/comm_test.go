package folded

import (
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// TestComm reads lines as tools write them that put a comm first, or do not: that no name is lost,
// folding them again shows.
func TestComm(t *testing.T) {
	for name, x := range map[string]struct {
		text string
		comm bool
	}{
		"stackcollapse-perf.pl":        {"V8_WorkerThread;main;f 3\nkworker/u8:2-events_unbound;f 1\nsh 2\n", true},
		"stackcollapse-perf.pl --pid":  {"tokio-runtime-w-?;main 3\nmigration/11-12345;f 2\n", true},
		"stackcollapse-perf.pl --tid":  {"(sd-pam)-12345/12346;main 3\ntokio-runtime-w-?/31912;f 2\n", true},
		"py-spy":                       {"<module> (a.py:3);f (a.py:1) 3\n", false},
		"py-spy --threads":             {"MainThread;<module> (example.py:3);f 3\nthread (0x7F0123456789);run (threading.py:890) 2\n", false},
		"py-spy, of a short name":      {"a;b 1\na;c 2\nm (a.py:9);f (a.py:1) 3\na;b 4\nc 5\n", false},
		"async-profiler":               {"[unknown_Java];f 1\njava/lang/Thread.run;f_[j] 2\n", false},
		"async-profiler -t":            {"[main tid=12];Main.main;f_[j] 2\n", false},
		"stackcollapse.pl of DTrace's": {"unix`idle;f 2\nunix`x 1\n", false},
		"stackcollapse-xdebug.php":     {"{main};A->b 2\nmain();f 2\n", false},
		"perl, of Devel::NYTProf":      {"main::RUN;A::b 12\n", false},
	} {
		for _, end := range []string{"\n", "\r\n"} {
			s, err := Read(strings.NewReader(strings.ReplaceAll(x.text, "\n", end)), ReadOptions{Comm: true})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for i := range s.NumSamples() {
				if _, ok := s.Label(s.Sample(i).Labels, "comm"); ok != x.comm {
					t.Errorf("%s: row %d has a comm: %t", name, i, ok)
				}
			}
			if got, want := folded(t, s, Options{PlainNames: true}), sorted(x.text); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

// sorted returns text with its lines sorted by byte, of which "a;b" has two.
func sorted(text string) string {
	lines := slices.Sorted(strings.Lines(strings.Replace(text, "a;b 1\n", "", 1)))
	return strings.Replace(strings.Join(lines, ""), "a;b 4\n", "a;b 5\n", 1)
}

// TestNoComm: of a line that cannot have a frame more it is said.
func TestNoComm(t *testing.T) {
	long := strings.Repeat("f;", stacks.MaxDepth) + "f"
	for _, text := range []string{long + " 1\n" + "longer than a comm;f 1\n", long + ";f 1\n"} {
		if _, err := Read(strings.NewReader(text), ReadOptions{Comm: true}); err == nil {
			t.Error("no error")
		}
	}
}
