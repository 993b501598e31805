package stacks

import (
	"slices"
	"testing"
)

// TestMergerMappings: which mappings of two Sets are one, whatever their place is, and what is known of
// the functions in it is known by either.
func TestMergerMappings(t *testing.T) {
	m := func(start, limit, offset uint64, file, id string, kind Kind) Mapping {
		return Mapping{Start: start, Limit: limit, Offset: offset, File: file, BuildID: id, Kind: kind}
	}
	for _, x := range []struct {
		name string
		a, b Mapping
		one  bool
		size uint64 // of the one
	}{
		{"elsewhere", m(0x1000, 0x3000, 0, "/lib/x", "", KindUser), m(0x9000, 0xb000, 0, "/lib/x", "", KindUser), true, 0x2000},
		{"not rounded", m(0x1000, 0x3000, 0, "/lib/x", "", KindUser), m(0x9000, 0xa234, 0, "/lib/x", "", KindUser), true, 0x2000},
		{"rounded afterwards", m(0x1000, 0x2234, 0, "/lib/x", "", KindUser), m(0x9000, 0xb000, 0, "/lib/x", "", KindUser), true, 0x2000},
		{"larger", m(0x1000, 0x3000, 0, "/lib/x", "", KindUser), m(0x9000, 0xb001, 0, "/lib/x", "", KindUser), false, 0},
		{"smaller", m(0x1000, 0x3000, 0, "/lib/x", "", KindUser), m(0x9000, 0xa000, 0, "/lib/x", "", KindUser), false, 0},
		{"another part", m(0x1000, 0x3000, 0, "/lib/x", "", KindUser), m(0x9000, 0xb000, 0x2000, "/lib/x", "", KindUser), false, 0},
		{"another build", m(0x1000, 0x3000, 0, "/lib/x", "aa", KindUser), m(0x1000, 0x3000, 0, "/lib/x", "bb", KindUser), false, 0},
		{"another file", m(0x1000, 0x3000, 0, "/lib/x", "", KindUser), m(0x1000, 0x3000, 0, "/lib/y", "", KindUser), false, 0},
		{"no file", m(0x1000, 0x3000, 0, "", "", KindUser), m(0x9000, 0xb000, 0, "", "", KindUser), false, 0},
		{"no file, at one place", m(0x1000, 0x3000, 0, "", "", KindUser), m(0x1000, 0x3000, 0, "", "", KindUser), true, 0x2000},
		{"no file, of another size", m(0x1000, 0x3000, 0, "", "", KindUser), m(0x1000, 0x3001, 0, "", "", KindUser), false, 0},
		{"the kernel", m(0x1000, 0x3000, 0, "[kernel.kallsyms]", "aa", KindKernel), m(0x9000, 0xf000, 7, "[kernel.kallsyms]", "aa", KindKernel), true, 0x6000},
		{"a kernel without a build id", m(0x1000, 0x3000, 0, "[kernel.kallsyms]", "", KindKernel), m(0x9000, 0xb000, 0, "[kernel.kallsyms]", "", KindKernel), false, 0},
	} {
		x.a.HasFunctions, x.b.HasFilenames, x.b.HasLineNumbers, x.a.HasInlineFrames = true, true, true, true
		merger := NewMerger(MergeOptions{})
		for _, mapping := range []Mapping{x.a, x.b} {
			s := New(Event{Name: "e", Values: []ValueType{{"samples", "count"}}})
			loc := s.AddLocation(s.AddMapping(mapping), mapping.Start+0x10, mapping.Kind)
			s.Add(0, s.Intern([]uint32{loc}), 0, 1)
			if err := merger.Add(s, Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		got := merger.Set().Mappings
		if (len(got) == 1) != x.one {
			t.Errorf("%s: %+v", x.name, got)
			continue
		}
		if d := got[0]; x.one && (d.Start != x.a.Start || d.Limit-d.Start != x.size || !d.HasFunctions || !d.HasFilenames || !d.HasLineNumbers || !d.HasInlineFrames) {
			t.Errorf("%s: %+v", x.name, d)
		}
	}
}

// TestCopyLocations: a new Set has the same mappings and locations, under the same numbers.
func TestCopyLocations(t *testing.T) {
	s := New(Event{Name: "e", Values: []ValueType{{"samples", "count"}}})
	m := s.AddMapping(Mapping{File: "/bin/x"})
	s.AddFunction(Function{Name: "not in any location"})
	f, g := s.AddFunction(Function{Name: "f", File: "/src/a.c"}), s.AddFunction(Function{Name: "g", File: "b.c"})
	s.SetLines(s.AddLocation(m, 0x10, KindUser), Line{Function: f, Line: 3, Column: 4}, Line{Function: g})
	s.AddLocation(NoMapping, 0x20, KindKernel)
	s.SetLines(s.AddLocation(m, 0x30, KindUser), Line{Function: g, Line: 5})
	to := New(s.Events...)
	to.CopyLocations(s)
	if !slices.Equal(to.Mappings, s.Mappings) || len(to.Locations) != 3 {
		t.Fatalf("%+v, %+v", to.Mappings, to.Locations)
	}
	for loc := range uint32(3) {
		a, b := s.Locations[loc], to.Locations[loc]
		if a.Mapping != b.Mapping || a.Addr != b.Addr || a.Kind != b.Kind || !slices.EqualFunc(s.Lines(loc), to.Lines(loc), func(x, y Line) bool {
			return s.Functions[x.Function] == to.Functions[y.Function] && x.Line == y.Line && x.Column == y.Column
		}) {
			t.Errorf("%d: %+v, want %+v", loc, b, a)
		}
	}
	if n := to.NamesWithLines(); !slices.Equal(n.Names, []string{"f a.c:3", "g", "[unknown]", "g b.c:5"}) {
		t.Errorf("%q", n.Names)
	}
	to.DropAddresses()
	for loc, l := range to.Locations {
		if l.Addr != 0 || l.Mapping != NoMapping {
			t.Errorf("%d: %+v", loc, l)
		}
	}
	if len(to.Mappings) != 0 || !slices.Equal(to.Names().Names, []string{"f", "g", "[unknown]"}) {
		t.Errorf("%+v, %q", to.Mappings, to.Names().Names)
	}
}

// TestIsLabel tells frames that are values of labels.
func TestIsLabel(t *testing.T) {
	label := Function{Name: "bash", File: "comm"}
	for _, x := range []struct {
		mapping bool
		addr    uint64
		f       []Function
		want    bool
	}{
		{false, 0, []Function{label}, true},
		{true, 0, []Function{label}, false},
		{false, 1, []Function{label}, false},
		{false, 0, []Function{label, label}, false},
		{false, 0, nil, false},
		{false, 0, []Function{{Name: "bash", File: "comm", SystemName: "bash"}}, false},
		{false, 0, []Function{{Name: "bash"}}, false},
		{false, 0, []Function{{File: "comm"}}, false},
		{false, 0, []Function{{Name: "bash", File: "comm", StartLine: 1}}, false},
	} {
		s := New()
		mapping := int32(NoMapping)
		if x.mapping {
			mapping = s.AddMapping(Mapping{})
		}
		loc := s.AddLocation(mapping, x.addr, KindUser)
		var lines []Line
		for _, f := range x.f {
			lines = append(lines, Line{Function: s.AddFunction(f)})
		}
		if s.SetLines(loc, lines...); s.IsLabel(loc) != x.want {
			t.Errorf("%+v: %v", x, !x.want)
		}
	}
}

// TestRowsOf counts rows below zero, and lists keys.
func TestRowsOf(t *testing.T) {
	s := New(Event{Name: "a", Values: []ValueType{{"x", "count"}, {"y", "count"}}}, Event{Name: "b", Values: []ValueType{{"x", "count"}}})
	one, two := s.InternLabels([]Label{{Key: "pid", Num: 1}, {Key: "comm", Str: "x"}}), s.InternLabels([]Label{{Key: "cpu", Num: 2}, {Key: "comm", Str: "y"}})
	for _, v := range [][2]int64{{-1, 1}, {0, -1}, {1, -2}} {
		id := s.Intern([]uint32{s.AddLocation(NoMapping, 0, KindUser)})
		s.Add(0, id, one, v[0], v[1])
		s.Add(1, id, two, -v[0])
	}
	if a, b, c := s.BelowZero(0, 0), s.BelowZero(0, 1), s.BelowZero(1, 0); a != 1 || b != 2 || c != 1 {
		t.Errorf("%d, %d and %d rows below zero", a, b, c)
	}
	if keys := s.LabelKeys(); !slices.Equal(keys, []string{"comm", "cpu", "pid"}) {
		t.Errorf("%q", keys)
	}
}

// TestIsCalls tells events of calls by their names and their times.
func TestIsCalls(t *testing.T) {
	times := []ValueType{{"samples", "count"}, {"x", "nanoseconds"}}
	for _, x := range []struct {
		name   string
		values []ValueType
		want   bool
	}{
		{"ftrace:function_graph", times, true}, {"ftrace:function_graph@a", times, true}, {"atrace:slice", times, true},
		{"ftrace:function", times, false}, {"atrace:slices", times, false}, {"atrace:slice", times[:1], false}, {"atrace:slice", nil, false},
	} {
		if e := (&Event{Name: x.name, Values: x.values}); e.IsCalls() != x.want {
			t.Errorf("%s %v: %v", x.name, x.values, !x.want)
		}
	}
}

// TestIsSpans tells events of times between two events by their columns.
func TestIsSpans(t *testing.T) {
	const count, ns = "count", "nanoseconds"
	spans := []ValueType{{"spans", count}, {"open", count}, {"unended", ns}, {"span:x", ns}}
	change := func(i int, v ValueType) []ValueType {
		c := slices.Clone(spans)
		c[i] = v
		return c
	}
	for _, x := range []struct {
		name   string
		values []ValueType
		want   bool
	}{
		{"span:x", spans, true},
		{"span:x", []ValueType{{"span:x.spans", count}, {"span:x.open", count}, {"span:x.unended", ns}, {"span:x", ns}}, true},
		{"off-cpu", []ValueType{{"samples", count}, {"blocked", ns}, {"runnable", ns}, {"off-cpu", ns}}, true},
		{"wall-clock", []ValueType{{"samples", count}, {"blocked", ns}, {"runnable", ns}, {"wall-clock", ns}}, false},
		{"off-cpu", []ValueType{{"samples", count}, {"running", ns}, {"runnable", ns}, {"off-cpu", ns}}, false},
		{"span:x", spans[:3], false},
		{"span:x", change(3, ValueType{"span:x", count}), false},
		{"span:x", change(0, ValueType{"spans", ns}), false},
		{"span:x", change(0, ValueType{"calls", count}), false},
		{"span:x", change(1, ValueType{"closed", count}), false},
		{"span:x", change(1, ValueType{"y.open", count}), false},
	} {
		if e := (&Event{Name: x.name, Values: x.values}); e.IsSpans() != x.want {
			t.Errorf("%s %v: %v", x.name, x.values, !x.want)
		}
	}
}
