package replay

import (
	"testing"

	"kprof/perfevent/perfdata/perftext"
)

// TestHardwareTrace: a trace is noticed, and the ordinary samples before and behind it
// are converted.
func TestHardwareTrace(t *testing.T) {
	const auxtrace = "record type=71 data=" // size, offset, reference, idx and tid, cpu
	for _, c := range []struct {
		records string
		want    HardwareTrace
	}{
		{"record type=70 data=0100000000000000\n" + auxtrace + words(8, 0, 0, 0, 0) + "\nraw 0102030405060708\n" + auxtrace + words(3, 8, 0, 0, 0) + "\nraw 010203",
			HardwareTrace{Kind: "Intel PT", Bytes: 11}},
		{"record type=70 data=0300000000000000", HardwareTrace{Kind: "CoreSight", Bytes: 0}},
		{"record type=70 data=0400000000000000", HardwareTrace{Kind: "Arm SPE", Bytes: 0}},
		{"record type=70 data=6300000000000000", HardwareTrace{Kind: "of an unknown kind", Bytes: 0}},
		{auxtrace + words(1, 0, 0, 0, 0) + "\nraw 01", HardwareTrace{Kind: "", Bytes: 1}},
		{"record type=70 data=01", HardwareTrace{}},
		{"record type=11 data=00", HardwareTrace{}},
	} {
		rec := perftext.MustParse("event cycles type=hardware\nsample t=1 pid=7 user 0x1000\n" + c.records + "\nsample t=2 pid=7 user 0x1000\n")
		for _, f := range []form{{}, {Form: perftext.Form{Pipe: true}}, {Form: perftext.Form{Pipe: true}, stream: true}} {
			set, st, err := f.convert(rec, Options{})
			if err != nil || set.NumSamples() != 1 || st.Samples[0].Taken != 2 {
				t.Fatalf("%v, %q: %v, samples %+v", f, c.records, err, st.Samples)
			}
			if st.Trace != c.want {
				t.Errorf("%v, %q: %+v, want %+v", f, c.records, st.Trace, c.want)
			}
		}
	}
}
