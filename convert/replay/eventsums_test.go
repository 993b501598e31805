package replay

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// eventSum is what an event has in all.
type eventSum struct{ Samples, Period uint64 }

// TestEventSums: events have the names, numbers of samples and sums of periods that
// perf gives them, in the corpus, in what is in testdata and in what is written here.
func TestEventSums(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	files := livetest.Recordings(t)
	compared := 0
	for _, f := range append(files, writtenRecordings(t)...) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			want, ok := perfSums(t, f)
			if !ok {
				t.Log("perf cannot read it")
				return
			}
			compared++
			if diff := cmp.Diff(want, ownSums(t, f)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Logf("%d of %d files compared", compared, len(files))
	if compared < 3 {
		t.Errorf("only %d files compared", compared)
	}
}

// writtenRecordings are a hybrid machine's, and one with two events of one name.
func writtenRecordings(t *testing.T) (files []string) {
	const samples = `comm t=0 pid=7 comm=x
sample t=1 pid=7 id=1 period=250 user 0x1000
sample t=2 pid=7 id=2 period=100 user 0x1000
sample t=3 pid=7 id=2 period=30 user 0x1000
`
	for name, text := range map[string]string{
		"hybrid":    "event cpu_atom/cycles/P type=10 config=0x3c ids=1\nevent cpu_core/cycles/P type=4 config=0x3c ids=2\n" + samples,
		"same-name": "event cpu-clock ids=1\nevent cpu-clock ids=2\n" + samples,
	} {
		rec, err := perftext.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := rec.Assemble(perftext.Form{Order: abi.LittleEndian, AttrSize: abi.AttrSizeVer7})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name)
		livetest.WriteFile(t, file, b)
		files = append(files, file)
	}
	return files
}

// perfSums are the sums by name of what perf script prints; of events of one name,
// together.
func perfSums(t *testing.T, file string) (map[string]eventSum, bool) {
	cmd := livetest.PerfOnFile(t, "script", "-i", file, "--no-itrace", "-G", "-F", "period,event")
	out, err := cmd.Output()
	if err != nil && len(out) == 0 || bytes.HasPrefix(out, []byte("Samples for")) {
		return nil, false
	}
	sums := map[string]eventSum{}
	for line := range strings.Lines(string(out)) {
		period, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(period, 10, 64)
		if !ok || err != nil {
			t.Fatalf("perf script prints %q", line)
		}
		name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(name), ":"), ":HG")
		s := sums[name]
		sums[name] = eventSum{s.Samples + 1, s.Period + n}
	}
	return sums, len(sums) > 0
}

func ownSums(t *testing.T, file string) map[string]eventSum {
	r := perftext.Open(t, file)
	set, st, err := File(t.Context(), r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]eventSum{}
	shown, samples := map[string]bool{}, uint64(0)
	for i, e := range st.Samples {
		if e.Samples == 0 {
			continue
		}
		name := r.Events.Events[i].Name // e.Name may tell it from another
		if !strings.HasPrefix(e.Name, name) {
			t.Errorf("event %q is called %q", name, e.Name)
		}
		s := sums[name]
		sums[name] = eventSum{s.Samples + e.Taken, s.Period + e.Period}
		shown[e.Shown] = true
		samples += e.Taken
	}
	// The Set has the same in all, under names of their own.
	if len(shown) != len(set.Events) {
		t.Errorf("%d events, %d in the Set", len(shown), len(set.Events))
	}
	for i, n := range set.SampleCounts() {
		if !shown[set.Events[i].Name] {
			t.Errorf("event %q of the Set is nobody's", set.Events[i].Name)
		}
		delete(shown, set.Events[i].Name)
		samples -= uint64(n)
	}
	if samples != 0 {
		t.Errorf("%d samples are not in the Set", int64(samples))
	}
	return sums
}
