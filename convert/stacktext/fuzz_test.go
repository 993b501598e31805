package stacktext

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// addGolden adds the text of testdata/DIALECT-*.txtar as seeds.
func addGolden(f *testing.F, dialect string) {
	archives := livetest.Archives(f, "testdata", dialect+"-*")
	for _, name := range slices.Sorted(maps.Keys(archives)) {
		for _, file := range archives[name].Files {
			if file.Name == "in" {
				f.Add([]byte(strings.NewReplacer("|\n", "\n", `\t`, "\t").Replace(string(file.Data))))
			}
		}
	}
}

// fuzz reads text whole and in small pieces: both must come to the same, and every
// sample must be in the Set.
func fuzz(f *testing.F, dialect string, check func(*testing.T, *stacks.Set, *Stats)) {
	addGolden(f, dialect)
	f.Fuzz(func(t *testing.T, text []byte) {
		o := Options{TID: true, CPU: true, Times: true}
		set, st, err := Read(bytes.NewReader(text), dialectNames[dialect], o)
		again, st2, err2 := Read(iotest.OneByteReader(bytes.NewReader(text)), dialectNames[dialect], o)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%v, in small pieces %v", err, err2)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(fold(set), fold(again)) + cmp.Diff(st, st2); diff != "" {
			t.Fatalf("in small pieces:\n%s", diff)
		}
		if len(fold(set)) > len(text) || set.NumStacks() > len(text) {
			t.Fatalf("%d stacks of %d bytes", set.NumStacks(), len(text))
		}
		check(t, set, st)
	})
}

func FuzzPerfScript(f *testing.F) {
	fuzz(f, "perf", func(t *testing.T, set *stacks.Set, st *Stats) {
		var n int64
		for e := range set.Events {
			n += set.Totals(e)[0]
		}
		if uint64(n) != st.Taken || st.Taken != st.Samples || len(set.TimedSamples) > int(n) {
			t.Fatalf("%d samples in rows, %+v", n, st)
		}
	})
}

func FuzzBPFTrace(f *testing.F) {
	fuzz(f, "bpftrace", func(t *testing.T, set *stacks.Set, st *Stats) {
		if uint64(set.NumSamples()) > st.Samples {
			t.Fatalf("%d rows, %+v", set.NumSamples(), st)
		}
	})
}

func FuzzDTrace(f *testing.F) {
	fuzz(f, "dtrace", func(t *testing.T, set *stacks.Set, st *Stats) {
		if uint64(set.NumSamples()) > st.Samples {
			t.Fatalf("%d rows, %+v", set.NumSamples(), st)
		}
	})
}

func FuzzHistogram(f *testing.F) {
	fuzz(f, "hist", func(t *testing.T, set *stacks.Set, st *Stats) {
		if uint64(set.NumSamples()) > st.Samples {
			t.Fatalf("%d rows, %+v", set.NumSamples(), st)
		}
	})
}
