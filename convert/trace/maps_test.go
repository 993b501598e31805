package trace_test

import (
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/tracetest"
)

// TestMapOffsets: the offsets in the files, which a trace.dat does not have of what was mapped, are
// those that the lines of one loaded file have to each other.
func TestMapOffsets(t *testing.T) {
	for _, tt := range []struct{ what, maps, want string }{
		{"of one segment", "400000 500000 /bin/other", "0"},
		{"of separate code", "400000 401000 /bin/a\n401000 40a000 /bin/a\n40a000 40c000 /bin/a\n40c000 40d000 /bin/a\n900000 921000 [heap]\n" +
			"7f000000 7f026000 /lib/libc.so\n7f026000 7f17b000 /lib/libc.so\n7f17b000 7f1d0000 /lib/libc.so", "0 1000 a000 c000 0 0 26000 17b000"},
		{"with gaps", "400000 401000 /bin/a\n600000 601000 /bin/a\n7f000000 7f010000 /lib/l.so\n7f010000 7f210000 /lib/l.so\n7f210000 7f211000 /lib/l.so",
			"0 200000 0 10000 210000"},
		{"a library twice, with its data without a file between", "7f000000 7f001000 /l\n7f001000 7f003000 /l\n7f003000 7f004000 /l\n" +
			"7f006000 7f007000 /l\n7f007000 7f009000 /l\n7f009000 7f00a000 /l", "0 1000 3000 0 1000 3000"},
		{"a library twice, with another between", "7f000000 7f001000 /l\n7f001000 7f003000 /l\n7f003000 7f004000 /m\n7f004000 7f005000 /l\n7f005000 7f007000 /l",
			"0 1000 0 0 1000"},
		{"segments of equal size", "400000 401000 /a\n401000 402000 /a\n402000 403000 /a\n403000 404000 /a\n404000 405000 /a", "0 1000 2000 3000 4000"},
		{"out of order", "500000 501000 /a\n400000 401000 /a\n401000 402000 /a", "0 0 1000"},
	} {
		m := tracetest.Machine{Long: 8, Page: 4096}
		d := file(m, 6, "none")
		d.Options = []tracetest.Option{
			{ID: 8, Data: m.Order.AppendUint32(nil, 2)},
			{ID: 10, Data: fmt.Appendf(nil, "8 %x other\n%s\n\x00", strings.Count(tt.maps, "\n")+1, tt.maps)},
		}
		var got []string
		for rec, err := range open(t, d.Bytes()).Records() {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type == abi.RecordMmap && m.Order.Uint32(rec.Payload) == 8 {
				got = append(got, fmt.Sprintf("%x", m.Order.Uint64(rec.Payload[24:])))
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, s, tt.want)
		}
	}
}
