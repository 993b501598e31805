package record

import (
	"encoding/binary"
	"testing"

	"kprof/perfevent/abi"
)

// TestShortStacks counts the user parts of callchains, of those samples that are looked at.
func TestShortStacks(t *testing.T) {
	a := abi.Attr{Flags: abi.FlagFreq, SampleType: abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCPU | abi.SamplePeriod | abi.SampleCallchain}
	at := placeOfUserChain(&a)
	if at != 8+6*8 {
		t.Fatalf("chains begin at %d", at)
	}
	for _, other := range []abi.Attr{{}, {Flags: abi.FlagFreq | abi.FlagExcludeUser, SampleType: a.SampleType}, {SampleType: a.SampleType}} {
		if placeOfUserChain(&other) != 0 {
			t.Errorf("%+v has user chains", other)
		}
	}
	const user, kernel = uint64(abi.ContextUser), ^uint64(127) // PERF_CONTEXT_KERNEL
	s := shortStacks{at: []int{0, at}}
	look := func(event int32, chain ...uint64) {
		rec := make([]byte, at)
		rec = binary.LittleEndian.AppendUint64(rec, uint64(len(chain)))
		for _, ip := range chain {
			rec = binary.LittleEndian.AppendUint64(rec, ip)
		}
		for range shortSample {
			s.look(event, rec)
		}
		s.look(event, rec[:at+4]) // whose rest lies elsewhere
		s.turn = 0
	}
	look(1, kernel, 1, 2, user, 3, 4)    // short
	look(1, user, 3)                     // short
	look(1, user, 3, 4, 5)               // not
	look(1, kernel, 1, 2, 3)             // has none
	look(0, user, 3)                     // of another event
	look(1, kernel, 1, user, 3, 4, 5, 6) // not
	if s.users != 4 || s.less != 2 {
		t.Errorf("%d of %d are short", s.less, s.users)
	}
}
