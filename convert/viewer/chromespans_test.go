package viewer

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"kprof/convert/stacks"
)

// spanSet has system calls of two threads; one ends behind the call in which it begins.
func spanSet() *stacks.Set {
	s := stacks.New(stacks.Event{Name: "span:syscalls", Values: []stacks.ValueType{
		{Type: "spans", Unit: "count"}, {Type: "open", Unit: "count"}, {Type: "unended", Unit: "nanoseconds"}, {Type: "span:syscalls", Unit: "nanoseconds"},
	}})
	loc := s.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
	s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "ma\"in"})})
	add := func(at, length, tid int64, call string) {
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: "test"}, {Key: "pid", Num: 7}, {Key: "tid", Num: tid}, {Key: "syscall", Str: call}})
		row := s.Add(0, s.Intern([]uint32{loc}), labels, 1, 0, 0, length)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(at), Sample: uint32(row), Value: length})
	}
	add(1000, 100, 7, "inner")
	add(1000, 5000, 7, "read")
	add(3000, 500, 8, "write")
	add(5500, 2000, 7, "late")
	add(6000, 1000, 7, "read")
	s.SortTimedSamples()
	return s
}

// TestChromeSpans: each span is a slice as long as it took, by the thread that it began in;
// what is not within another but overlaps it is asynchronous.
func TestChromeSpans(t *testing.T) {
	s := spanSet()
	var trace struct {
		TraceEvents []struct {
			Ph, Name, Cat string
			Tid           int
			ID            int
			Ts, Dur       float64
			Args          map[string]string
		}
	}
	if err := json.Unmarshal(export(t, Chrome, s, Options{Column: 3}), &trace); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range trace.TraceEvents {
		if e.Ph == "M" {
			continue
		}
		if e.Ph != "e" && (e.Args["syscall"] != e.Name || e.Args["stack"] != "ma\"in" || e.Cat != "span:syscalls") {
			t.Errorf("%+v", e)
		}
		got = append(got, fmt.Sprintf("%s %d %s %g %g %d", e.Ph, e.Tid, e.Name, e.Ts, e.Dur, e.ID))
	}
	want := []string{"X 7 read 0 5 0", "X 7 inner 0 0.1 0", "b 7 late 4.5 0 1", "e 7 late 6.5 0 1", "X 7 read 5 1 0", "X 8 write 2 0.5 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestFirefoxSpans: each span is a marker from its begin to its end, with its labels as
// fields that the schema names, and its stack.
func TestFirefoxSpans(t *testing.T) {
	var f struct {
		Meta struct {
			MarkerSchema []struct {
				Name   string
				Fields []struct{ Key, Format string }
			}
		}
		Threads []struct {
			Markers struct {
				StartTime, EndTime []float64
				Phase              []int
				Data               []struct{ Type, Syscall string }
			}
		}
	}
	if err := json.Unmarshal(export(t, Firefox, spanSet(), Options{Column: 3}), &f); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, k := range f.Threads {
		m := k.Markers
		for i := range m.Data {
			found = append(found, fmt.Sprintf("%s %s %g %g %d", m.Data[i].Type, m.Data[i].Syscall, m.StartTime[i], m.EndTime[i], m.Phase[i]))
		}
	}
	want := []string{
		"kprof-span inner 0 0.0001 1", "kprof-span read 0 0.005 1", "kprof-span late 0.0045 0.0065 1", "kprof-span read 0.005 0.006 1",
		"kprof-span write 0.002 0.0025 1",
	}
	if !slices.Equal(found, want) || fmt.Sprint(f.Meta.MarkerSchema) != "[{kprof-span [{syscall string}]}]" {
		t.Errorf("%q, want %q; schema %v", found, want, f.Meta.MarkerSchema)
	}
}

// TestChromeWakes: flows go from a slice of who woke, which may not have been off the CPU
// itself, to the time off the CPU of who was woken; an interrupt is nobody. A task that only
// woke who is not shown, or before the first sample, is not shown either.
func TestChromeWakes(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "off-cpu", Values: []stacks.ValueType{
		{Type: "samples", Unit: "count"}, {Type: "blocked", Unit: "nanoseconds"}, {Type: "runnable", Unit: "nanoseconds"}, {Type: "unended", Unit: "nanoseconds"}, {Type: "off-cpu", Unit: "nanoseconds"},
	}})
	task := func(comm string, id int64, more ...stacks.Label) stacks.LabelsID {
		return s.InternLabels(append([]stacks.Label{{Key: "comm", Str: comm}, {Key: "pid", Num: id}, {Key: "tid", Num: id}}, more...))
	}
	off := task("sleeper", 7, stacks.Label{Key: "state", Str: "interruptible"})
	row := s.Add(0, s.Intern(nil), off, 1, 4000, 1000, 0, 5000)
	s.AddTimedSample(stacks.TimedSample{Time: 1000, Sample: uint32(row), Value: 5000})
	s.Wakes = []stacks.Wake{{Time: 5000, By: task("waker", 9), Woken: off}, {Time: 5500, By: task("swapper", 0), Woken: off},
		{Time: 500, By: task("early", 10), Woken: off}, {Time: 5600, By: task("idler", 11), Woken: task("waker", 9)}}
	var trace struct {
		TraceEvents []struct {
			Ph, Name, Bp string
			Tid, ID      int
			Ts, Dur      float64
		}
	}
	if err := json.Unmarshal(export(t, Chrome, s, Options{Column: 4}), &trace); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range trace.TraceEvents {
		if e.Ph != "M" || e.Tid > 9 {
			got = append(got, fmt.Sprintf("%s %d %s %g %g %d%s", e.Ph, e.Tid, e.Name, e.Ts, e.Dur, e.ID, e.Bp))
		}
	}
	want := []string{"X 7 interruptible 0 5 0", "X 9 wakes sleeper 7/7 4 0.001 0", "s 9 wakes 4 0 1", "f 7 wakes 4 0 1e"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
