package expr_test

import (
	"errors"
	"fmt"
	"testing"

	"kprof/perfevent/format/expr"
	"kprof/perfevent/memtest"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`field.comm ~ "ba*" && name in {"a", "/etc/[x]"} || !(ret * 2 < 0)`, "args[1] == 20 ? mask[5] : -1.5ms",
		"event == 'x' && other.pid >> 3 != 0x1f", "1K | 2 ^ ~3 & 4 << 5 % 6 / 7", `kind == 'r'`,
	} {
		f.Add(s, payload())
	}
	fm := parseFormat(f)
	f.Fuzz(func(t *testing.T, src string, raw []byte) {
		defer memtest.Within(t, 1<<20+3000*len(src))()
		e, err := expr.Parse(src)
		if err == nil {
			var p *expr.Program
			if p, err = e.Compile("sched:sched_wakeup", fm); err == nil {
				s := &expr.Sample{Comm: "x", Raw: raw}
				r := p.Match(s)
				v, ok := p.Value(s)
				if ok != (r != expr.Unknown) || ok && (v.Bits != 0) != (r == expr.Yes) {
					t.Errorf("%q: %v and %v %v", src, r, v, ok)
				}
				bare, err := e.Compile("cycles", nil)
				if err == nil {
					bare.Match(s)
				}
				return
			}
		}
		var ee *expr.Error
		if !errors.As(err, &ee) || ee.Offset < 0 || ee.Offset > len(src) {
			t.Errorf("%q: %v", src, err)
		}
		_ = ee.Error()
	})
}

func BenchmarkProgram(b *testing.B) {
	f := parseFormat(b)
	for _, bb := range []struct{ name, src string }{
		{"value", "big"},
		{"product", "args[1] * 512"},
		{"filter", `ret < 0 && field.comm == "bash"`},
		{"glob", `name ~ "*[[]x]" && pid in {0, 1, 2}`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			_, p := compile(b, bb.src, f)
			s := sample()
			b.ReportAllocs()
			for b.Loop() {
				p.Value(s)
			}
		})
	}
}

func ExampleParse() {
	e, err := expr.Parse(`pid > 1 && comm ~ "kworker/*" && time < 5ms`)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := e.Compile("cycles", nil) // once per event
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Match(&expr.Sample{Comm: "kworker/0:1", PID: 12, Time: 1_000_000}) == expr.Yes)

	_, err = expr.Parse("pid = 5")
	fmt.Println(err)
	// Output:
	// true
	// "=" is not an operator; equality is "=="
	//   pid = 5
	//       ^
}
