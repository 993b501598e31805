package abi_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
)

// TestDropUserStack: without the copy of its stack a sample says all else that it said,
// and one without a copy, or cut anywhere, stays as it is.
func TestDropUserStack(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		a := everything()
		payload, want := everySample(o)
		l := abi.NewLayout(&a, o)
		for n := range payload {
			cut := slices.Clone(payload[:n:n])
			l.DropUserStack(cut)
		}
		dropped := l.DropUserStack(slices.Clone(payload))
		if len(dropped) != len(payload)-16 { // 8 bytes, and how many of them are filled
			t.Errorf("%d bytes of %d are left", len(dropped), len(payload))
		}
		var got abi.Sample
		if err := l.DecodeSample(&got, want.Misc, dropped); err != nil {
			t.Fatal(err)
		}
		want.UserStack = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("got + want -\n%s", diff)
		}
		again := l.DropUserStack(slices.Clone(dropped))
		if !slices.Equal(again, dropped) {
			t.Error("a sample without a copy has changed")
		}
		a.SampleType &^= abi.SampleStackUser
		none := abi.NewLayout(&a, o)
		if same := none.DropUserStack(slices.Clone(payload)); !slices.Equal(same, payload) {
			t.Error("a sample of an event without copies has changed")
		}
	}
}

func TestDropUserStackDoesNotAllocate(t *testing.T) {
	a := everything()
	l := abi.NewLayout(&a, abi.LittleEndian)
	payload, _ := everySample(abi.LittleEndian)
	scratch := slices.Clone(payload)
	if n := testing.AllocsPerRun(100, func() {
		copy(scratch, payload)
		l.DropUserStack(scratch)
	}); n != 0 {
		t.Errorf("%v allocations a sample, want none", n)
	}
}
