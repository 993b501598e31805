package tracedat_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"kprof/convert/trace/tracedat"
	"kprof/perfevent/abi"
	"kprof/perfevent/tracetest"
)

// TestTimeShift: times of a guest are those of its host. What is wanted is what trace-cmd report 3.1.6
// showed of events at these times, in files with these options.
func TestTimeShift(t *testing.T) {
	times := [][]uint64{{1000, 1020, 1021, 1030, 1042}, {1010, 1025, 1040}}
	for _, tt := range []struct {
		flags    uint32
		cpus     [][]uint64 // times, offsets, scales
		fraction int        // of those that are behind all
		want     string
	}{
		{0, [][]uint64{{1000, 1020, 1045, 100, 300, 200, 1, 1, 1}, {1030, 1000, negative(500), 40, 1, 1}}, 0,
			"[[1100 1320 1321 1330 1342] [1050 1065 1080]]"},
		{1, [][]uint64{{1000, 1020, 1045, 100, 300, 200, 1, 1, 1}, {1030, 1000, negative(500), 40, 1, 1}}, 0,
			"[[1100 1320 1318 1291 1255] [871 616 361]]"},
		{0, [][]uint64{{1020, 1000, 100, 300, 3, 5}, {1030, 77, 1}}, 3, "[[2800 2850 2852 2875 2905] [1087 1102 1117]]"},
		{1, [][]uint64{{1020, 1000, 100, 300, 3, 5}, {1030, 77, 1}}, 3, "[[2800 2651 2643 2576 2486] [1087 1102 1117]]"},
		{1, [][]uint64{{}, {1030, 77, 1}}, 0, "[[1000 1020 1021 1030 1042] [1087 1102 1117]]"},
	} {
		for _, order := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
			b := order.AppendUint32(order.AppendUint32(order.AppendUint64(nil, 1), tt.flags), uint32(len(tt.cpus)))
			for _, c := range tt.cpus {
				b = order.AppendUint32(b, uint32(len(c)/3))
				for _, v := range c {
					b = order.AppendUint64(b, v)
				}
			}
			for range tt.fraction {
				b = order.AppendUint64(b, 1)
			}
			f := withTimeShift(t, order, b)
			if f.Truncated != nil {
				t.Errorf("%v", f.Truncated)
			}
			got := make([][]uint64, len(times))
			for cpu := range times {
				at := f.Options.Nanoseconds(int32(cpu))
				for _, x := range times[cpu] {
					got[cpu] = append(got[cpu], at(x))
				}
			}
			if s := fmt.Sprint(got); s != tt.want {
				t.Errorf("%+v: %s", tt, s)
			}
		}
	}
}

// TestTimeShiftDamaged: an option that is damaged takes no memory, leaves times as they are, and is told.
func TestTimeShiftDamaged(t *testing.T) {
	const o = abi.LittleEndian
	head := o.AppendUint32(o.AppendUint64(nil, 1), 1)
	one := o.AppendUint64(o.AppendUint64(o.AppendUint64(o.AppendUint32(o.AppendUint32(head, 1), 1), 5), 6), 7)
	for _, b := range [][]byte{nil, head, o.AppendUint32(head, 1<<31), o.AppendUint32(o.AppendUint32(head, 1), 1<<31), one[:len(one)-1], o.AppendUint64(one, 64)} {
		f := withTimeShift(t, o, b)
		if at := f.Options.Nanoseconds(0); at != nil || f.Truncated == nil || !strings.Contains(f.Truncated.Error(), "times of the guest: ") {
			t.Errorf("%x: %v", b, f.Truncated)
		}
	}
}

func negative(n int64) uint64 { return uint64(-n) }

// withTimeShift opens a file with the option.
func withTimeShift(t *testing.T, order abi.Order, option []byte) *tracedat.File {
	t.Helper()
	m := tracetest.Machine{Order: order, Long: 8, Page: 4096}
	b := (&tracetest.Dat{
		Machine: m, Version: 7, Compression: "none", Options: []tracetest.Option{{ID: 12, Data: option}},
		Buffers: []tracetest.Instance{{CPUs: [][][]byte{{m.Sub(1000, 0)}}}},
	}).Bytes()
	f, err := tracedat.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
