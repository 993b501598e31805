package perfdata

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// TestFeaturesOfPerf writes the features of perf's recordings again.
func TestFeaturesOfPerf(t *testing.T) {
	requirePerf(t)
	for _, name := range []string{"three", "group"} {
		t.Run(name, func(t *testing.T) {
			writesFeaturesAgain(t, perfRecord(t, liveRecordings[name]...))
		})
	}
}

// writesFeaturesAgain encodes the features that perf wrote, which become the same bytes; of build
// ids, whose entries perf leaves without a record type, the same build ids. Features that say
// nothing are not written.
func writesFeaturesAgain(t *testing.T, file []byte) {
	t.Helper()
	f := parseHead(t, file).features
	bodies := fileFeatures(file)
	if len(bodies) < 15 {
		t.Errorf("only %d features", len(bodies))
	}
	for id, body := range bodies {
		got := f.Append(nil, id, abi.LittleEndian)
		if id == FeatureBuildID {
			var again Features
			if err := again.Decode(id, got, abi.LittleEndian); err != nil || !cmp.Equal(again.BuildIDs, f.BuildIDs) || len(got) != len(body) {
				t.Errorf("build ids changed: %v", err)
			}
			continue
		}
		if empty := bytes.Trim(body, "\x00"); !bytes.Equal(got, body) && len(got)+len(empty) > 0 {
			t.Errorf("feature %v\n-perf +ours\n%s", id, cmp.Diff(body, got))
		}
	}
}

// Tracing data read from tracefs are what perf writes.
func TestTracingDataOfPerf(t *testing.T) {
	requirePerf(t)
	f := parseHead(t, perfRecord(t, liveRecordings["three"]...)).features
	want, err := DecodeTracingData(f.TracingData)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadTracingData(os.DirFS(filepath.Dir(tracefsRoot)), f.Events, abi.LittleEndian, 8, os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	got.Cmdlines, want.Cmdlines = "", "" // change as tasks come and go
	byID := cmpopts.SortSlices(func(a, b Tracepoint) bool { return a.ID < b.ID })
	if d := cmp.Diff(want, got, byID); d != "" {
		t.Errorf("-perf +ours\n%s", d)
	}
}

// The features in the recordings of others survive a second encoding.
func TestFeaturesOfCorpus(t *testing.T) {
	files := livetest.Recordings(t)
	bodies := 0
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(file, []byte("PERFILE2")) {
			continue // of the other byte order
		}
		var f, g Features
		for id := range features {
			body, ok := fileFeatures(file)[Feature(id)]
			if !ok {
				continue
			}
			if err := f.Decode(Feature(id), body, abi.LittleEndian); err != nil {
				t.Logf("%s: %v", filepath.Base(name), err)
				continue
			}
			bodies++
			if again := f.Append(nil, Feature(id), abi.LittleEndian); len(again) > 0 {
				g.CPUs = f.CPUs
				if err := g.Decode(Feature(id), again, abi.LittleEndian); err != nil {
					t.Errorf("%s: encoded again: %v", filepath.Base(name), err)
				}
			}
		}
	}
	t.Logf("%d features in %d files", bodies, len(files))
}
