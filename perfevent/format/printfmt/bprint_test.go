package printfmt_test

import (
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/printfmt"
	"kprof/perfevent/tracetest"
)

// TestBPrint: trace_printk's arguments lie one behind the other, as vbin_printf puts them.
func TestBPrint(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		m := tracetest.Machine{Order: o, Long: 8}
		f, err := format.Parse(tracetest.BPrint, format.Machine{Order: o})
		if err != nil {
			t.Fatal(err)
		}
		strings := map[uint64]string{
			1: `n=%d "%s" c=%c w=%*d|%-6s| l=%lx h=%hd q=%llu p=%p f=%ps ip=%pI4 100%%` + "\n",
			2: "%d %d",
		}
		p := printfmt.Compile(f, printfmt.Options{
			Symbol: func(addr uint64) (string, uint64, bool) {
				return "code", addr - 0x1000, addr >= 0x1000 && addr < 0x2000
			},
			KernelString: func(addr uint64) (string, bool) { s, ok := strings[addr]; return s, ok },
		})
		record := func(format uint64, args ...[]byte) string {
			b := o.AppendUint64(o.AppendUint64(m.Common(6, 1), 0x1010), format)
			for _, a := range args {
				b = append(b, a...)
			}
			return string(p.AppendTo(nil, b))
		}
		u32 := func(v uint32) []byte { return o.AppendUint32(nil, v) }
		u64 := func(v uint64) []byte { return o.AppendUint64(nil, v) }
		half := []byte{0xfe, 0xff}
		if o == abi.BigEndian {
			half = []byte{0xff, 0xfe}
		}
		got := record(1, u32(^uint32(4)), []byte("two words\x00"), []byte("x"), []byte{0}, // aligned to 4: 4+10+1+1
			u32(4), u32(7), []byte("abc\x00"), u64(0xbeef), half, []byte{0, 0}, u64(1<<40), u64(0x55), u64(0x1234), []byte("10.0.0.1\x00"))
		if want := `code: n=-5 "two words" c=x w=   7|abc   | l=beef h=-2 q=1099511627776 p=0x55 f=code ip=10.0.0.1 100%`; got != want {
			t.Errorf("%v\n%s\nwant\n%s", o, got, want)
		}
		if got := record(2, u32(1)); got != "code: 1 ?" {
			t.Errorf("an argument that is missing: %q", got)
		}
		if got := record(3, u32(1)); got == "" {
			t.Error("nothing of a format that is not known")
		}
	}
}
