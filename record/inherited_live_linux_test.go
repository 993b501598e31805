package record

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// siblings compiles a program that calls its function hit 1000 times in every other of its
// children.
func siblings(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "siblings")
	livetest.Run(t, "gcc", "-O1", "-o", program, "../perfevent/event/testdata/siblings.c")
	return program
}

// TestLiveUprobeOfSiblings: a process that ends does not take the probe out of others. Where
// processes of processes that were started are started, it may, which is told.
func TestLiveUprobeOfSiblings(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"), livetest.Program("gcc"), livetest.Program("sh"))
	program := siblings(t)
	for _, tt := range []struct {
		command []string
		told    bool
	}{
		{[]string{program, "40"}, false},
		{[]string{"sh", "-c", program + " 4; :"}, true},
	} {
		c, err := Launch(tt.command, LaunchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := open(t, Options{
			Specs:  specs(t, "uprobe:"+program+":hit"),
			Target: Target{PIDs: []int{c.PID()}, EnableOnExec: true},
			Start:  c.Start,
		})
		st, err := s.Run(t.Context(), newSink(t))
		if err != nil {
			t.Fatal(err)
		}
		if code, err := c.Wait(); code != 0 || err != nil {
			t.Fatal(code, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		told := slices.ContainsFunc(st.Notes, func(n string) bool { return strings.Contains(n, "takes the probe out of others") })
		if told != tt.told {
			t.Errorf("%q: %q", tt.command, st.Notes)
		}
		if n := st.Events[0].Hits; !tt.told && n != 20_000 {
			t.Errorf("%q: %d hits", tt.command, n)
		}
	}
}
