package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
)

// TestScriptOfRecordings compares recordings of machines and kernels that are not
// here with perf script: with what it printed there where that is kept, because the
// perf of here swaps pid and tid in pipes of the other byte order, or knows no
// deferred callchains; else with this machine's, which reads those in testdata and
// most others.
func TestScriptOfRecordings(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	own, unread := recordings(t), 0
	all := livetest.Recordings(t)
	for i, f := range all {
		t.Run(filepath.Base(f), func(t *testing.T) {
			printed, err := os.ReadFile(strings.TrimSuffix(f, ".data") + ".script")
			if err == nil {
				inFiles := !strings.HasSuffix(f, "-7.3.data")
				compareSamples(t, f, ownSamples(t, f, inFiles), readScript(t, f, printed))
			} else if !compareScript(t, f) {
				t.Log("perf cannot read it")
				if unread++; i < len(own) {
					t.Fail()
				}
			}
		})
	}
	if unread > len(all)/3 { // perf 6.1 does not read 10 of 37
		t.Errorf("perf does not read %d of %d recordings", unread, len(all))
	}
}

// TestStatsOfRecordings: nothing in them is unknown, bad or left over.
func TestStatsOfRecordings(t *testing.T) {
	for _, f := range recordings(t) {
		r, err := perfdata.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		_, st, err := File(t.Context(), r, Options{})
		if err != nil || st.Truncated != nil || st.BadSamples+st.BadRecords+st.UnknownEvent+st.MissingDeferredChains != 0 {
			t.Errorf("%s: %v: %+v", f, err, st)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func recordings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/recordings/*.data")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings in testdata: ", err)
	}
	return files
}
