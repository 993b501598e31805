//go:build amd64 || arm64

package annotate

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
	"kprof/symbolize"
)

// The function tables of Go programs, whose symbols go test strips, are read of 64 bits.

// called returns where it was called, as return addresses, the innermost first.
//
//go:noinline
func called() []uintptr {
	pcs := make([]uintptr, 8)
	return pcs[:runtime.Callers(1, pcs)]
}

//go:noinline
func caller() []uintptr {
	pcs := called()
	pcs[0]++ // it is no tail call
	pcs[0]--
	return pcs
}

// ownMapping is that of the code of this program which has an address.
func ownMapping(t *testing.T, addr uint64) stacks.Mapping {
	maps := livetest.Open(t, os.Open, "/proc/self/maps")
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		m := stacks.Mapping{Kind: stacks.KindUser}
		var perm, dev string
		var inode uint64
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s %x %s %d %s", &m.Start, &m.Limit, &perm, &m.Offset, &dev, &inode, &m.File); err == nil && addr >= m.Start && addr < m.Limit {
			return m
		}
	}
	t.Fatalf("no mapping has %#x", addr)
	panic("unreachable")
}

// ownSet has samples of caller: 5 in what it calls, twice of them below itself, 3 at its first
// instruction, and 100 elsewhere.
func ownSet(t *testing.T) (s *stacks.Set, entry, call uint64) {
	pcs := caller()
	entry, call = uint64(runtime.FuncForPC(pcs[1]).Entry()), uint64(pcs[1])-1
	s = stacks.New(stacks.Event{Name: "other", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}},
		stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}})
	m := s.AddMapping(ownMapping(t, entry))
	add := func(addr uint64) uint32 {
		loc := s.AddLocation(m, addr, stacks.KindUser)
		name := runtime.FuncForPC(uintptr(addr)).Name()
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name[strings.LastIndex(name, "/")+1:], SystemName: name})})
		return loc
	}
	leaf, site, first := add(uint64(pcs[0])-1), add(call), add(entry)
	none := s.InternLabels(nil)
	s.Add(1, s.Intern([]uint32{leaf, site}), none, 1, 3000)
	s.Add(1, s.Intern([]uint32{leaf, site, site}), none, 1, 2000)
	s.Add(1, s.Intern([]uint32{first}), none, 1, 3000)
	s.Add(1, s.Intern([]uint32{leaf}), none, 1, 100_000)
	s.Add(0, s.Intern([]uint32{first}), none, 7)
	return s, entry, call
}

// TestFunction: what a function of this program cost is at the instructions that the runtime
// names too, with the lines that it knows.
func TestFunction(t *testing.T) {
	s, entry, call := ownSet(t)
	files := symbolize.New(symbolize.Options{})
	defer files.Close()
	for _, name := range []string{"annotate.caller", "kprof/convert/annotate.caller"} {
		a, err := Function(s, name, files, Options{Event: 1, Column: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Listings) != 1 || len(a.Missing) != 0 || a.Total != 108_000 {
			t.Fatalf("%s: %+v", name, a)
		}
		l := a.Listings[0]
		if l.Self != 3000 || l.Cum != 8000 || l.Function != "kprof/convert/annotate.caller" {
			t.Errorf("%s: self %d, cum %d", l.Function, l.Self, l.Cum)
		}
		var self, cum int64
		for _, r := range l.Rows {
			self, cum = self+r.Self, cum+r.Cum
			file, line := runtime.FuncForPC(uintptr(entry + r.Off)).FileLine(uintptr(entry + r.Off))
			if r.Source.Line != line || r.Source.File != file {
				t.Errorf("+%#x: %+v, want %s:%d", r.Off, r.Source, file, line)
			}
		}
		at := slices.IndexFunc(l.Rows, func(r Row) bool { return r.Cum > 0 && r.Off > 0 })
		if at < 0 || !strings.HasPrefix(l.Rows[at].Text, "call") && !strings.HasPrefix(l.Rows[at].Text, "bl ") || l.Rows[at].Off > call-entry || l.Rows[at+1].Off <= call-entry || l.Rows[at].Cum != 5000 || l.Rows[at].Self != 0 {
			t.Errorf("the call at +%#x: row %d of %+v", call-entry, at, l.Rows)
		}
		if l.Rows[0].Self != 3000 || l.Rows[0].Cum != 3000 || self != 3000 || cum != 8000 {
			t.Errorf("first %+v; self %d, cum %d", l.Rows[0], self, cum)
		}
	}
	// Other tools have a mapping for each piece of a file.
	m := s.AddMapping(s.Mappings[0])
	again := s.AddLocation(m, entry, stacks.KindUser)
	s.SetLines(again, s.Lines(s.Stack(s.Sample(2).Stack)[0])...)
	s.Add(1, s.Intern([]uint32{again}), s.InternLabels(nil), 1, 500)
	if a, err := Function(s, "annotate.caller", files, Options{Event: 1, Column: 1}); err != nil || len(a.Listings) != 1 || a.Listings[0].Rows[0].Self != 3500 || a.Listings[0].Cum != 8500 {
		t.Errorf("of two mappings: %v, %v", a, err)
	}
	if a, err := Function(s, "annotate.caller", files, Options{}); err != nil || a.Total != 7 || len(a.Listings) != 1 || a.Listings[0].Self != 7 {
		t.Errorf("of the other event: %v, %v", a, err)
	}
}

// TestMissing: code that is not to be had is told, with what it cost.
func TestMissing(t *testing.T) {
	own, entry, _ := ownSet(t)
	s := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
	mappings := []int32{
		s.AddMapping(stacks.Mapping{File: "/nowhere/prog", Kind: stacks.KindUser, Start: 0x1000, Limit: 0x2000}),
		s.AddMapping(stacks.Mapping{File: "bpf_prog_1", Kind: stacks.KindBPF}),
		s.AddMapping(own.Mappings[0]),
		stacks.NoMapping,
	}
	f := s.AddFunction(stacks.Function{Name: "f"})
	for i, m := range mappings {
		addr := uint64(0x1010)
		if i == 2 {
			addr = own.Mappings[0].Start - own.Mappings[0].Offset // the file's header
		}
		loc := s.AddLocation(m, addr, stacks.KindUser)
		s.SetLines(loc, stacks.Line{Function: f})
		s.Add(0, s.Intern([]uint32{loc}), s.InternLabels(nil), int64(10-i))
	}
	files := symbolize.New(symbolize.Options{})
	defer files.Close()
	a, err := Function(s, "f", files, Options{})
	if err != nil || len(a.Listings) > 0 || len(a.Missing) != len(mappings) {
		t.Fatalf("%+v, %v", a, err)
	}
	for i, want := range []error{os.ErrNotExist, symbolize.ErrNoCodeFile, errOutside, errNoMapping} {
		if m := a.Missing[i]; !errors.Is(m.Err, want) || m.Cum != int64(10-i) || m.Self != m.Cum {
			t.Errorf("%+v; want %v", m, want)
		}
	}
	// A file that is another build has other code.
	other := stacks.New(s.Events...)
	m := own.Mappings[0]
	m.BuildID = strings.Repeat("ab", 20)
	loc := other.AddLocation(other.AddMapping(m), entry, stacks.KindUser)
	other.SetLines(loc, stacks.Line{Function: other.AddFunction(stacks.Function{Name: "f"})})
	other.Add(0, other.Intern([]uint32{loc}), other.InternLabels(nil), 1)
	var wrong *symbolize.BuildIDError
	if a, err := Function(other, "f", files, Options{}); err != nil || len(a.Listings) > 0 || len(a.Missing) != 1 || !errors.As(a.Missing[0].Err, &wrong) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAlsoInlined: what a function with code of its own costs where it was inlined is told too, of
// the event; where all samples are there, it is an error.
func TestAlsoInlined(t *testing.T) {
	s, entry, _ := ownSet(t)
	called := s.Lines(s.Stack(s.Sample(2).Stack)[0])[0].Function // annotate.caller
	into := func(name string, inner ...uint32) uint32 {
		loc := s.AddLocation(0, entry+uint64(len(s.Locations)), stacks.KindUser)
		lines := []stacks.Line{}
		for _, f := range append(inner, s.AddFunction(stacks.Function{Name: name})) {
			lines = append(lines, stacks.Line{Function: f})
		}
		s.SetLines(loc, lines...)
		return loc
	}
	leaf := s.AddFunction(stacks.Function{Name: "leaf"})
	first, second, below := into("first", called), into("second", called), into("second", leaf, called)
	add := func(event int, stack []uint32, values ...int64) {
		s.Add(event, s.Intern(stack), s.InternLabels(nil), values...)
	}
	add(1, []uint32{first}, 1, 10)
	add(1, []uint32{below, second, first}, 1, 20)
	add(1, []uint32{second}, 1, 5)
	add(1, []uint32{second}, 0, 0)
	add(0, []uint32{below}, 3)
	files := symbolize.New(symbolize.Options{})
	defer files.Close()
	a, err := Function(s, "annotate.caller", files, Options{Event: 1, Column: 1})
	if want := []Inlined{{"first", 10, 30}, {"second", 5, 25}}; err != nil || len(a.Listings) != 1 || a.Listings[0].Cum != 8000 || !slices.Equal(a.Inlined, want) {
		t.Errorf("%+v, %v; want %v", a, err, want)
	}
	s.Events = append(s.Events, stacks.Event{Name: "third", Values: s.Events[0].Values})
	add(2, []uint32{below}, 3)
	var inlined *InlinedError
	if a, err := Function(s, "annotate.caller", files, Options{Event: 2}); !errors.As(err, &inlined) || !slices.Equal(inlined.Into, []string{"second"}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestUnknown: a name that no code has, and what was inlined.
func TestUnknown(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
	inner, outer := s.AddFunction(stacks.Function{Name: "inner"}), s.AddFunction(stacks.Function{Name: "outer"})
	s.AddFunction(stacks.Function{Name: "nowhere"})
	loc := s.AddLocation(stacks.NoMapping, 1, stacks.KindUser)
	s.SetLines(loc, stacks.Line{Function: inner}, stacks.Line{Function: outer})
	s.AddLocation(stacks.NoMapping, 2, stacks.KindUser)
	_, err := Function(s, "inner", nil, Options{})
	var inlined *InlinedError
	if !errors.As(err, &inlined) || !reflect.DeepEqual(inlined.Into, []string{"outer"}) {
		t.Errorf("%v", err)
	}
	var unknown *UnknownFunctionError
	if _, err := Function(s, "outre", nil, Options{}); !errors.As(err, &unknown) || !reflect.DeepEqual(unknown.Near, []string{"outer"}) {
		t.Errorf("%v", err)
	}
	if _, err := Function(s, "nowhere", nil, Options{}); !errors.As(err, &unknown) || len(unknown.Near) > 0 {
		t.Errorf("%v", err)
	}
	if _, err := Function(s, "outer", nil, Options{Column: 1}); err == nil {
		t.Error("a column that is not there")
	}
}
