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

// TestBPrintPointers: of %p… the kernel has saved the pointer, or the text of what it points to;
// which of it depends on its version, and what follows is found in any case.
func TestBPrintPointers(t *testing.T) {
	const addr = 0xffffffff81001010
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		m := tracetest.Machine{Order: o, Long: 8}
		f, err := format.Parse(tracetest.BPrint, format.Machine{Order: o})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			format string
			args   []any // int32, uint64, and string for a text
			want   string
		}{
			{"at %pB n=%d", []any{"vfs_read+0x10/0x20", int32(7)}, "at vfs_read+0x10/0x20 n=7"}, // since 4.16
			{"at %pB n=%d", []any{uint64(addr), int32(7)}, "at code+0x10 n=7"},                  // before
			{"at %pB n=%d", []any{uint64(addr &^ 0xff), int32(7)}, "at code+0x0 n=7"},
			{"%pS|%10ps|%p|%d", []any{uint64(addr), uint64(addr), uint64(0x55), int32(7)}, "code+0x10|      code|0x55|7"},

			{"cpus=%*pbl %d", []any{int32(64), "0-3", int32(7)}, "cpus=0-3 7"},
			{"cpus=%*pbl %d", []any{int32(64), "", int32(-1)}, "cpus= -1"},
			{"cpus=%*pbl %d", []any{int32(64), uint64(0xffff888000001010), int32(7)}, "cpus=0xffff888000001010 7"},
			{"%*ph %-6d|", []any{int32(3), "00 01 02", int32(7)}, "00 01 02 7     |"},
			{"%-8pd|%.2pd|%d", []any{"etc     ", "passwd", int32(7)}, "etc     |passwd|7"},
			{"%pd %d", []any{"t\xe9", int32(7)}, "t\xe9 7"},
			{"%pI4 %d", []any{uint64(0), int32(7)}, "(nil) 7"},

			{"%px %d", []any{uint64(addr), int32(7)}, "0xffffffff81001010 7"}, // but for 4.16 to 5.0
			{"%px %d", []any{"ffffffff81001010", int32(7)}, "ffffffff81001010 7"},
			{"%pK %d", []any{"pK-error", int32(7)}, "pK-error 7"},
			{"%px %d", []any{uint64(0x4142), int32(7)}, "0x4142 7"},
			{"%pf %pF %d", []any{uint64(addr), uint64(addr), int32(7)}, "code code+0x10 7"}, // up to 5.4
			{"%pfwP %d", []any{"port@0", int32(7)}, "port@0 7"},                             // since then
			{"%pe %d", []any{uint64(1<<64 - 2), int32(7)}, "-ENOENT 7"},
		} {
			p := printfmt.Compile(f, printfmt.Options{
				Symbol: func(a uint64) (string, uint64, bool) {
					return "code", a &^ 0xffffffff81001000, a>>12 == addr>>12
				},
				KernelString: func(uint64) (string, bool) { return tt.format, true },
			})
			b := o.AppendUint64(o.AppendUint64(m.Common(6, 1), 0x1010), 1)
			for _, a := range tt.args {
				if s, ok := a.(string); ok {
					b = append(b, s+"\x00"...)
					continue
				}
				for len(b)%4 != 0 {
					b = append(b, 0xcc) // whatever was there
				}
				switch v := a.(type) {
				case int32:
					b = o.AppendUint32(b, uint32(v))
				case uint64:
					b = o.AppendUint64(b, v)
				}
			}
			if got, want := string(p.AppendTo(nil, b)), "0x1010: "+tt.want; got != want {
				t.Errorf("%v %s:\n%s\nwant\n%s", o, tt.format, got, want)
			}
		}
	}
}
