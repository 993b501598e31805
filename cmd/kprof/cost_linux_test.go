//go:build linux

package main

import (
	"regexp"
	"testing"
	"time"

	"kprof/convert/export"
	"kprof/perfevent/abi"
	"kprof/record"
)

// TestCost: what is told of the recorder is of the time since its start, and what the kernel
// says.
func TestCost(t *testing.T) {
	if got, want := costText(3*time.Millisecond, time.Second, 24<<20), "the recorder took 0.3% of one CPU, and at most 24.0 MiB of memory"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c := startCost()
	before, _ := used()
	for cpu := before; cpu-before < 20*time.Millisecond; cpu, _ = used() {
	}
	time.Sleep(20 * time.Millisecond)
	m := regexp.MustCompile(`took ([0-9.]+)% .* ([0-9.]+) [KMG]iB`).FindStringSubmatch(c.String())
	if m == nil || m[1] == "0.0" {
		t.Errorf("%v", c)
	}
}

// TestDrainInterval: where nobody waits for what is recorded rings are looked into seldom, whatever
// becomes of it.
func TestDrainInterval(t *testing.T) {
	for _, x := range []struct {
		f      recordFlags
		seldom bool
	}{
		{recordFlags{}, false},
		{recordFlags{parts: partFlags{every: time.Second}}, false},
		{recordFlags{parts: partFlags{every: 10 * time.Second}}, true},
		{recordFlags{push: recordPush{every: 10 * time.Second}}, true},
		{recordFlags{parts: partFlags{every: 10 * time.Second, on: []string{"page-faults"}}}, false},
		{recordFlags{parts: partFlags{every: 10 * time.Second}, when: controlFlags{on: []string{"page-faults"}}}, false},
	} {
		for _, out := range []output{{format: export.Data}, {format: "pprof"}} {
			var o record.Options
			x.f.forOutput(&o, out)
			if got := o.DrainInterval > 100*time.Millisecond; got != x.seldom {
				t.Errorf("%+v as %s: every %v", x.f.parts, out.format, o.DrainInterval)
			}
		}
	}
}

// TestShortStacksText: it is said what whole stacks would cost where more than a few are short.
func TestShortStacksText(t *testing.T) {
	for _, x := range []struct {
		s    record.UserStacks
		want string
	}{
		{record.UserStacks{}, ""},
		{record.UserStacks{Seen: 49, Short: 49}, ""},
		{record.UserStacks{Seen: 1000, Short: 99}, ""},
		{record.UserStacks{Seen: 1000, Short: 375}, "37% of the samples in user code have a stack of one or two frames there: " +
			"--call-graph dwarf copies stacks, which are whole then, 16 KiB of each, 125.0 MiB for as many samples"},
	} {
		if got := shortStacksText(x.s, 8000); got != x.want {
			t.Errorf("%+v: %q, want %q", x.s, got, x.want)
		}
	}
}

// TestUncopiedText: what --call-graph auto does nothing for is told.
func TestUncopiedText(t *testing.T) {
	chain, of := abi.SampleIP|abi.SampleCallchain, func(name string, typ abi.SampleType, flags abi.Flags, copied uint32) abi.Event {
		return abi.Event{Name: name, Attr: abi.Attr{SampleType: typ, Flags: flags, SampleStackUser: copied}}
	}
	for _, x := range []struct {
		events []abi.Event
		want   string
	}{
		{[]abi.Event{of("cpu-clock", chain, abi.FlagFreq, 0), of("dummy:HG", abi.SampleIP, 0, 0)}, ""},
		{[]abi.Event{of("faults", chain, 0, 8192)}, ""},
		{[]abi.Event{of("faults", chain, 0, 0), of("cpu-clock", chain, abi.FlagFreq, 0), of("a:b", chain, 0, 0)},
			"--call-graph auto copies no stacks of events that are sampled by their number, not by a frequency: faults, a:b; --call-graph dwarf does"},
	} {
		if got := uncopiedText(x.events); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
