package expr

import (
	"testing"

	"kprof/perfevent/format"
)

func TestUnit(t *testing.T) {
	of := &format.Format{Fields: []format.Field{
		{Name: "a", Size: 8, Elem: 8, Count: 1}, {Name: "b", Size: 8, Elem: 8, Count: 1},
		{Name: "s", Size: 4, Elem: 4, Count: 1}, {Name: "t", Size: 8, Elem: 8, Count: 1},
		{Name: "list", Size: 16, Elem: 8, Count: 2, Array: true},
	}}
	units := map[string]string{"a": format.Bytes, "b": format.Bytes, "s": format.Sectors, "list": format.Pages}
	for src, want := range map[string]string{
		"a": format.Bytes, "field.a": format.Bytes, "t": "", "time": format.Nanoseconds, "cpu": "",
		"a - b": format.Bytes, "a + 8": format.Bytes, "8 - a": format.Bytes, "-a": format.Bytes,
		"a + s": "", "a * 2": "", "a / 2": "", "a * b": "", "a > b": "", "a + t": "",
		"s * 512": format.Bytes, "512 * s": format.Bytes, "s * 511": "", "list[1]": format.Pages, "list[0] * 4K": format.Bytes,
		"a > 0 ? a : 0": format.Bytes, "a > 0 ? a : s": "", "s * 512 + a": format.Bytes,
	} {
		x, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := x.Compile("e:e", of)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Unit(func(f *format.Field) string { return units[f.Name] }); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}
