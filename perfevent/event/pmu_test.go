//go:build linux

package event

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// fakeSysfs holds a CPU's PMU as Intel's look.
func fakeSysfs(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"cpu/type":                     "4\n",
		"cpu/format/event":             "config:0-7\n",
		"cpu/format/umask":             "config:8-15\n",
		"cpu/format/split":             "config1:0-3,32-35\n",
		"cpu/format/inv":               "config:23\n",
		"cpu/format/all":               "config2:0-63\n",
		"cpu/format/odd":               "nothing:0\n",
		"cpu/events/mem-loads":         "event=0xcd,umask=0x1,split=0x12\n",
		"cpu/events/mem-loads.scale":   "1\n",
		"cpu/events/of-events":         "mem-loads\n",
		"msr/type":                     "9\n",
		"msr/format/event":             "config:0-63\n",
		"msr/events/tsc":               "event=0x00\n",
		"cpu_atom/type":                "10\n",
		"cpu_atom/cpus":                "2-3\n",
		"cpu_atom/format/event":        "config:0-7\n",
		"uncore/type":                  "no number\n",
		"breakpoint/nothing/but/a/dir": "",
	} {
		path := filepath.Join(root, "bus/event_source/devices", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, path, text)
	}
	return root
}

func TestResolvePMU(t *testing.T) {
	r := &Resolver{Sysfs: fakeSysfs(t)}
	for text, want := range map[string]abi.Attr{
		"cpu/event=0x3c,umask=2,inv/":  {Type: 4, Config: 0x80023c},
		"cpu/split=0xab/":              {Type: 4, Config1: 0xa0000000b},
		"cpu/config=1,config1=2/":      {Type: 4, Config: 1, Config1: 2},
		"cpu/all=0xffffffffffffffff/":  {Type: 4, Config2: 1<<64 - 1},
		"cpu/r1a8/u":                   {Type: 4, Config: 0x1a8, Flags: abi.FlagExcludeKernel | abi.FlagExcludeHV},
		"cpu/mem-loads,inv,period=10/": {Type: 4, Config: 0x8001cd, Config1: 0x100000002},
		"mem-loads":                    {Type: 4, Config: 0x1cd, Config1: 0x100000002},
		"tsc":                          {Type: 9},
		"cpu/cycles/u":                 {Type: 0, Flags: abi.FlagExcludeKernel | abi.FlagExcludeHV | abi.FlagExcludeGuest},
		"cpu_atom/instructions/":       {Type: 0, Config: 10<<32 | 1, Flags: abi.FlagExcludeGuest},
		"cpu_atom/LLC-load-misses/":    {Type: 3, Config: 10<<32 | 0x10002, Flags: abi.FlagExcludeGuest},
	} {
		if want.Type == abi.TypeRaw { // the CPU's own PMU
			want.Flags |= abi.FlagExcludeGuest
		}
		spec := mustSpec(t, text)
		events, err := r.Resolve(spec)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if len(events) != 1 || events[0].Attr != want || events[0].Name != text {
			t.Errorf("%s: %+v\nwant %+v", text, events, want)
		}
	}
	livetest.Errors(t, func(text string) ([]Event, error) {
		events, err := r.Resolve(mustSpec(t, text))
		if err != nil && strings.Contains(err.Error(), "CONFIG_") && !errors.Is(err, perfevent.ErrNotSupported) {
			t.Errorf("%s: %v is not perfevent.ErrNotSupported", text, err)
		}
		return events, err
	}, map[string]string{
		"cpu/umask=0x100/":  "more bits than",
		"cpu/nosuch/":       "it has: all, event, inv",
		"cpu/odd=1/":        "unknown field",
		"msr/cycles/":       "no term or event",
		"cpu/page-faults/":  "no term or event",
		"cpu/of-events/":    "no term or event",
		"nosuch/event=1/":   "no PMU \"nosuch\" on this machine",
		"uncore/config=1/":  "type of PMU",
		"no-such-event":     "no event has that name",
		"kprobe:vfs_read":   "no kprobe PMU (CONFIG_KPROBE_EVENTS)",
		"kprobe:f a=%di":    "no kprobe PMU",
		"uprobe:/bin/sh:f":  "no uprobe PMU (CONFIG_UPROBE_EVENTS)",
		"kretprobe:mod:fun": "no kprobe PMU",
	})
}

// TestAskedTerms: an event may leave a term to who asks for it, as those of POWER's hypervisor do
// (commit e5a5886d7ae3, powerpc/perf/hv-24x7: Fix usage with chip events; the fields are those of
// Documentation/ABI/testing/sysfs-bus-event_source-devices-hv_24x7).
func TestAskedTerms(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"bare/type":                      "11\n",
		"hv_24x7/type":                   "12\n",
		"hv_24x7/format/domain":          "config:0-3\n",
		"hv_24x7/format/chip":            "config:16-31\n",
		"hv_24x7/format/offset":          "config:32-63\n",
		"hv_24x7/format/lpar":            "config1:0-15\n",
		"hv_24x7/events/PM_XLINK_CYCLES": "domain=0x1,offset=0x230,chip=?,lpar=0x0\n",
	} {
		path := filepath.Join(root, "bus/event_source/devices", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, path, text)
	}
	r := &Resolver{Sysfs: root}
	for _, text := range []string{"hv_24x7/PM_XLINK_CYCLES,chip=2/", "hv_24x7/chip=2,PM_XLINK_CYCLES/"} {
		events, err := r.Resolve(mustSpec(t, text))
		if want := (abi.Attr{Type: 12, Config: 0x230<<32 | 2<<16 | 1}); err != nil || len(events) != 1 || events[0].Attr != want {
			t.Errorf("%s: %+v, %v", text, events, err)
		}
	}
	livetest.Errors(t, func(text string) ([]Event, error) { return r.Resolve(mustSpec(t, text)) }, map[string]string{
		"hv_24x7/PM_XLINK_CYCLES/":      "wants chip=, as in hv_24x7/PM_XLINK_CYCLES,chip=0/",
		"hv_24x7/PM_XLINK_CYCLES,chip/": "wants chip=",
		"PM_XLINK_CYCLES":               "wants chip=",
		"bare/nosuch/":                  "it has none but config=",
	})
}

// TestEachKind: what several PMUs have is counted by all of them.
func TestEachKind(t *testing.T) {
	root := fakeSysfs(t)
	for name, text := range map[string]string{
		"cpu_core/type": "4\n", "cpu_core/cpus": "0-1\n", "cpu_core/events/topdown": "config=1\n", "cpu_atom/events/topdown": "config=2\n",
	} {
		path := filepath.Join(root, "bus/event_source/devices", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, path, text)
	}
	for _, c := range []struct {
		text string
		each bool
		want string
	}{
		{"topdown:u", false, "[cpu_atom/topdown/u 10:0x2 [2 3]] [cpu_core/topdown/u 4:0x1 [0 1]]"},
		{"r1a8", false, "[cpu_atom/r1a8/ 10:0x1a8 [2 3]] [cpu_core/r1a8/ 4:0x1a8 [0 1]]"},
		{"instructions", false, "[instructions 0:0x1 []]"},
		{"instructions:k", true, "[cpu_atom/instructions/k 0:0xa00000001 [2 3]] [cpu_core/instructions/k 0:0x400000001 [0 1]]"},
		{"tsc", true, "[tsc 9:0x0 []]"},
		{"page-faults", true, "[page-faults 1:0x2 []]"},
	} {
		r := &Resolver{Sysfs: root, EachKind: c.each}
		events, err := r.Resolve(mustSpec(t, c.text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprintf("[%s %d:%#x %v]", e.Name, e.Attr.Type, e.Attr.Config, e.CPUs))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.text, strings.Join(got, " "), c.want)
		}
		// Of -C 1 those of cpu_core remain; where there are none, all do, to be refused.
		for cpus, want := range map[int]int{1: 1, 2: 1, 9: len(events)} {
			if here := Here(events, []int{cpus}); len(here) != want {
				t.Errorf("%s: %d on CPU %d, want %d", c.text, len(here), cpus, want)
			}
		}
	}
}

// TestPMUOfSomeCPUs: one kind of CPU of a hybrid machine has a PMU of its own, which the kernel
// refuses to open on the others.
func TestPMUOfSomeCPUs(t *testing.T) {
	r := &Resolver{Sysfs: fakeSysfs(t)}
	for text, want := range map[string][3]bool{
		"cpu_atom/event=0x3c/": {true, false, true},
		"cpu/event=0x3c/":      {true, true, true},
		"cycles":               {true, true, true},
	} {
		events, err := r.Resolve(mustSpec(t, text))
		if err != nil {
			t.Fatal(err)
		}
		e := &events[0]
		if got := [3]bool{e.IsOn(perfevent.AnyCPU), e.IsOn(1), e.IsOn(3)}; got != want {
			t.Errorf("%s: on any CPU, 1 and 3 %v, want %v", text, got, want)
		}
		if e.Elsewhere([]int{0, 1}) == nil != want[1] || e.Elsewhere([]int{1, 2}) != nil {
			t.Errorf("%s: on 0 and 1 %v, on 1 and 2 %v", text, e.Elsewhere([]int{0, 1}), e.Elsewhere([]int{1, 2}))
		}
	}
}

// TestMostPrecise takes the highest precision that opens, when a sample is to be taken.
func TestMostPrecise(t *testing.T) {
	for most := range 4 {
		e := Event{Event: perfevent.Event{Attr: abi.Attr{Type: abi.TypeHardware, Flags: abi.FlagExcludeGuest}}}
		e.mostPrecise(func(try perfevent.Event) bool {
			return try.Attr.SamplePeriod > 0 && try.Attr.Flags.Precise() <= most
		})
		if want := abi.FlagExcludeGuest.WithPrecise(most); e.Attr.Flags != want || e.Attr.SamplePeriod != 0 {
			t.Errorf("flags %#x, period %d of precision %d, want %#x and none", e.Attr.Flags, e.Attr.SamplePeriod, most, want)
		}
	}
	spec := mustSpec(t, "cpu-clock:P")
	if events, err := new(Resolver).Resolve(spec); err != nil || events[0].Name != "cpu-clock:P" {
		t.Errorf("%+v: %v", events, err)
	}
}

func TestConfigure(t *testing.T) {
	all := perfevent.Sampling{DefaultFrequency: 4000, Callchain: true, MaxStack: 64, ReadLost: true}
	tests := []struct {
		text   string
		s      perfevent.Sampling
		rate   uint64
		freq   bool
		sample abi.SampleType // beyond the base and CALLCHAIN
	}{
		{"cpu-clock", all, 4000, true, abi.SamplePeriod},
		{"cpu-clock", perfevent.Sampling{Period: 1e6}, 1e6, false, abi.SamplePeriod},
		{"cpu-clock/freq=99/", perfevent.Sampling{Frequency: 1000}, 99, true, abi.SamplePeriod},
		{"page-faults", perfevent.Sampling{Period: 1}, 1, false, abi.SamplePeriod | abi.SampleAddr},
		// With SAMPLE_PERIOD the kernel would take a sample of every fault.
		{"page-faults", perfevent.Sampling{Period: 100}, 100, false, abi.SampleAddr},
		{"context-switches", all, 4000, true, abi.SamplePeriod},
		{"mem:0x1000:x", all, 1, false, abi.SamplePeriod | abi.SampleAddr},
		{"bpf-output", perfevent.Sampling{Period: 1}, 1, false, abi.SamplePeriod | abi.SampleRaw},
		{"dummy", perfevent.Sampling{}, 1, false, abi.SamplePeriod},
		{"r1cd", perfevent.Sampling{Period: 1000, Data: true, Weight: true}, 1000, false, abi.SamplePeriod | abi.SampleAddr | abi.SampleDataSrc | abi.SampleWeight},
		{"r1cd", perfevent.Sampling{Period: 1000, PhysData: true}, 1000, false, abi.SamplePeriod | abi.SampleAddr | abi.SamplePhysAddr},
		{"cpu-clock", perfevent.Sampling{Period: 1000, Data: true}, 1000, false, abi.SamplePeriod | abi.SampleAddr},
		{"mem:0x1000:w", perfevent.Sampling{Data: true}, 1, false, abi.SamplePeriod | abi.SampleAddr},
	}
	for _, tt := range tests {
		spec := mustSpec(t, tt.text)
		events, err := new(Resolver).Resolve(spec)
		if err != nil {
			t.Fatal(err)
		}
		e := events[0]
		e.Configure(tt.s)
		a := e.Attr
		want := abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCPU | tt.sample
		if tt.s.Callchain {
			want |= abi.SampleCallchain
		}
		if a.SamplePeriod != tt.rate || a.Flags&abi.FlagFreq != 0 != tt.freq || a.SampleType != want {
			t.Errorf("%s with %+v: rate %d, flags %#x, sample type %#x (want %#x)", tt.text, tt.s, a.SamplePeriod, a.Flags, a.SampleType, want)
		}
	}
}
