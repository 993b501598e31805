package record

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/tracefs"
)

// TestAccount: the terms of a probe in tracefs add up to its hits, whichever there are.
func TestAccount(t *testing.T) {
	for _, e := range []EventStats{
		{Name: "k", MissedKnown: true, LostKnown: true, Hits: 10, Samples: 7, Lost: 3, Missed: 2, Kernel: KernelHits{Hits: 15, Filtered: 5, Before: 1}},
		{Name: "k", MissedKnown: true, LostKnown: true, Hits: 10, Samples: 5, Lost: 3, Kernel: KernelHits{Hits: 10}},
		{Name: "k", MissedKnown: true, Hits: 10, Samples: 7, Missed: 1, Kernel: KernelHits{Hits: 12, Filtered: 2}},
	} {
		m := regexp.MustCompile(`^k: (\d+) kernel hits = (\d+) samples((?: \+ \d+ [a-z, ]+)*)(; 1 of the filtered ones before sampling began)?$`).FindStringSubmatch(e.Account())
		if m == nil {
			t.Fatalf("%+v: %s", e, e.Account())
		}
		number := func(s string) uint64 {
			n, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		sum := number(m[2])
		for _, term := range regexp.MustCompile(`\d+`).FindAllString(m[3], -1) {
			sum += number(term)
		}
		if sum != number(m[1]) || number(m[1]) != e.Kernel.Hits+e.Missed || (m[4] != "") != (e.Kernel.Before > 0) {
			t.Errorf("%+v: %s", e, e.Account())
		}
	}
	pmu := EventStats{Name: "u", Probe: true, Hits: 3, Samples: 2, Lost: 1, LostKnown: true}
	if got, want := pmu.Account(), "u: 3 hits, 2 samples, 1 lost, misses unknown"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	pmu.LostKnown = false
	if got, want := pmu.Account(), "u: 3 hits, 2 samples, unknown lost, misses unknown"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnsampled: of tracepoints that are about a task which need not run, hits without samples are
// told, but for those that a counter may lack as it is disabled.
func TestUnsampled(t *testing.T) {
	wakeup, every := tracefs.Event{System: "sched", Name: "sched_wakeup"}, abi.Attr{SamplePeriod: 1}
	for _, test := range []struct {
		event tracefs.Event
		attr  abi.Attr
		stats EventStats
		want  string // how it begins
	}{
		{wakeup, every, EventStats{Name: "w", Hits: 401, Samples: 3, LostKnown: true}, "w: 398 of 401 hits have no sample: "},
		{wakeup, every, EventStats{Name: "w", Hits: 401, Samples: 300, Lost: 99, LostKnown: true}, ""},
		{wakeup, every, EventStats{Name: "w", Hits: 401}, ""},
		{wakeup, abi.Attr{SamplePeriod: 10}, EventStats{Name: "w", Hits: 401, Samples: 40, LostKnown: true}, ""},
		{wakeup, abi.Attr{SamplePeriod: 1, Flags: abi.FlagFreq}, EventStats{Name: "w", Hits: 401, LostKnown: true}, ""},
		{tracefs.Event{System: "sched", Name: "sched_stat_sleep"}, every, EventStats{Name: "s", Hits: 9e6, LostKnown: true}, "s: hits have no sample: "},
		{tracefs.Event{System: "sched", Name: "sched_stat_sleep"}, every, EventStats{Name: "s", Hits: 9e6, Samples: 3, LostKnown: true}, ""},
		{tracefs.Event{System: "sched", Name: "sched_stat_runtime"}, every, EventStats{Name: "r", Hits: 9e6, LostKnown: true}, ""},
		{tracefs.Event{System: "sched", Name: "sched_switch"}, every, EventStats{Name: "x", Hits: 401, LostKnown: true}, ""},
		{tracefs.Event{System: "other", Name: "sched_wakeup"}, every, EventStats{Name: "x", Hits: 401, LostKnown: true}, ""},
	} {
		got := unsampled(test.event, &test.attr, &test.stats, 2)
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%v %+v: %q, want %q", test.event, test.stats, got, test.want)
		}
	}
}

// TestUnwritten: of software events that are sampled each time, hits that have neither a sample nor
// are lost are told, from more than a hundredth and more than ten on.
func TestUnwritten(t *testing.T) {
	every := abi.Attr{Type: abi.TypeSoftware, SamplePeriod: 1}
	for _, test := range []struct {
		attr    abi.Attr
		stats   EventStats
		unknown uint64
		want    string // how it begins
	}{
		{every, EventStats{Name: "f", Hits: 6116, Samples: 5770, Lost: 5, LostKnown: true}, 0, "f: 341 of 6116 hits have no sample"},
		{every, EventStats{Name: "f", Hits: 6116, Samples: 5770, Lost: 5, LostKnown: true}, 281, ""},
		{every, EventStats{Name: "f", Hits: 6116, Samples: 5770, Lost: 5, LostKnown: true}, 279, "f: 62 of 6116"},
		{every, EventStats{Name: "f", Hits: 6116, Samples: 6117, LostKnown: true}, 0, ""},
		{every, EventStats{Name: "f", Hits: 30, Samples: 20, LostKnown: true}, 0, ""},
		{every, EventStats{Name: "f", Hits: 30, Samples: 19, LostKnown: true}, 0, "f: 11 of 30"},
		{every, EventStats{Name: "f", Hits: 6116}, 0, ""},
		{abi.Attr{Type: abi.TypeSoftware, SamplePeriod: 2}, EventStats{Name: "f", Hits: 6116, LostKnown: true}, 0, ""},
		{abi.Attr{Type: abi.TypeTracepoint, SamplePeriod: 1}, EventStats{Name: "f", Hits: 6116, LostKnown: true}, 0, ""},
	} {
		got := unwritten(&test.attr, &test.stats, test.unknown)
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v, %d unknown: %q, want %q", test.stats, test.unknown, got, test.want)
		}
	}
}
