package perfdata_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// oldHeaderPipe is a pipe of ChromeOS's perf of 2012, whose features are records of
// numbers that Linux 3.16 gave to others.
func oldHeaderPipe(t testing.TB, o abi.Order) []byte {
	f := perfdata.Features{
		Host:    perfdata.Host{Hostname: "h", OSRelease: "3.3.8", Arch: "ppc64", NUMA: []perfdata.NUMANode{{MemTotal: 7, CPUs: "0"}}},
		Version: "3.3.0",
		Cmdline: []string{"perf", "record"},
		Events:  []abi.Event{{Name: "named", Attr: abi.Attr{Type: abi.TypeHardware}}},
	}
	whole, err := perftext.MustParse("event e type=hardware\nsample t=1 pid=7 user 0x1000\n").Assemble(perftext.Form{Order: o, Pipe: true, Nameless: true})
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(whole[:16])
	set := f.Set()
	for id := range set.All() {
		body := f.Append(nil, id, o)
		b = abi.Header{Type: 69 + abi.RecordType(id-perfdata.FeatureHostname), Size: uint16(abi.HeaderSize + len(body))}.AppendTo(b, o)
		b = append(b, body...)
	}
	return append(b, whole[16:]...)
}

// TestOldHeaders: such headers are decoded, and the samples behind them found.
func TestOldHeaders(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		b := oldHeaderPipe(t, o)
		r, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for walk := range 2 {
			types := map[abi.RecordType]int{}
			for rec, err := range r.Records() {
				if err != nil {
					t.Fatal(err)
				}
				types[rec.Type]++
			}
			if d := cmp.Diff(map[abi.RecordType]int{abi.RecordHeaderFeature: 7, abi.RecordHeaderAttr: 1, abi.RecordSample: 1}, types); d != "" {
				t.Errorf("%v, walk %d: -want +got\n%s", o, walk, d)
			}
		}
		got := &r.Features
		if got.Hostname != "h" || got.OSRelease != "3.3.8" || got.Arch != "ppc64" || got.Version != "3.3.0" ||
			len(got.Cmdline) != 2 || len(got.NUMA) != 1 || r.Events.Events[0].Name != "named" || len(r.BadFeatures) > 0 {
			t.Errorf("%v: event %q, features %+v, bad %v", o, r.Events.Events[0].Name, got, r.BadFeatures)
		}
	}
}
