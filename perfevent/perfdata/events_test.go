package perfdata_test

import (
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// TestSamplesOfOthersID: a sample with an id that no event has is of the only one that the kernel
// mixes up with others' and whose samples are as long, if there is one.
func TestSamplesOfOthersID(t *testing.T) {
	const plain = abi.SampleIdentifier | abi.SampleIP | abi.SampleCallchain
	event := func(typ abi.Type, config, id uint64, t abi.SampleType) abi.Event {
		return abi.Event{IDs: []uint64{id}, Attr: abi.Attr{Type: typ, Config: config, SampleType: t}}
	}
	sample := func(o abi.Order, words ...uint64) (b []byte) {
		for _, w := range words {
			b = o.AppendUint64(b, w)
		}
		return b
	}
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		set := perfdata.NewEventSet(o, []abi.Event{
			event(abi.TypeTracepoint, 2, 11, plain), event(abi.TypeSoftware, abi.SWPageFaults, 12, plain|abi.SampleAddr),
			event(abi.TypeSoftware, abi.SWContextSwitches, 13, plain), event(abi.TypeSoftware, abi.SWCPUClock, 14, plain),
		})
		for name, tt := range map[string]struct {
			payload []byte
			want    int // -1: none
		}{
			"a switch":               {sample(o, 99, 1, 2, abi.ContextUser, 8), 2},
			"a fault":                {sample(o, 99, 1, 0xadd, 2, abi.ContextUser, 8), 1},
			"nothing's size":         {sample(o, 99, 1, 3, abi.ContextUser, 8), -1},
			"of its own id":          {sample(o, 11, 1, 2, abi.ContextUser, 8), 0},
			"of its own id, as long": {sample(o, 14, 1, 2, abi.ContextUser, 8), 3},
		} {
			got := -1
			if e := set.OfSample(tt.payload); e != nil {
				got = e.Index
			}
			if got != tt.want {
				t.Errorf("%s: event %d, want %d", name, got, tt.want)
			}
		}
		many := perfdata.NewEventSet(o, []abi.Event{event(abi.TypeSoftware, abi.SWContextSwitches, 1, plain)})
		for id := range uint64(15) {
			many.Add(event(abi.TypeSoftware, abi.SWPageFaults, 2+id, plain|abi.SampleAddr))
		}
		if e := many.OfSample(sample(o, 99, 1, 2, abi.ContextUser, 8)); e == nil || e.Index != 0 {
			t.Error("one of 16 is not found")
		}
		many.Add(event(abi.TypeSoftware, abi.SWPageFaults, 50, plain|abi.SampleAddr))
		if many.OfSample(sample(o, 99, 1, 2, abi.ContextUser, 8)) != nil {
			t.Error("more are looked through than there are kinds")
		}
		set.Add(event(abi.TypeSoftware, abi.SWCPUMigrations, 15, plain))
		if e := set.OfSample(sample(o, 99, 1, 2, abi.ContextUser, 8)); e != nil {
			t.Errorf("of two events that may be meant it is %d", e.Index)
		}
	}
}
