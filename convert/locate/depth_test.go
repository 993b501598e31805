package locate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// TestCut: what counts for a limit is what the kernel counts, and a limit that was not told is
// none where stacks are deeper.
func TestCut(t *testing.T) {
	// chain has so many addresses in the kernel and in a program, each behind its marker.
	chain := func(kernel, user int, marker uint64) []uint64 {
		c := append([]uint64{abi.ContextKernel}, slices.Repeat([]uint64{0x100}, kernel)...)
		return append(append(c, marker), slices.Repeat([]uint64{0x10}, user)...)
	}
	usual, told := abi.Attr{}, abi.Attr{SampleMaxStack: 20}
	usual.Size, told.Size = abi.AttrSizeVer5, abi.AttrSizeVer5
	old, deferred, deferredOld := usual, told, told
	old.Size = abi.AttrSizeVer5 - 8
	deferred.Flags |= abi.FlagDeferCallchain
	deferredOld.SampleMaxStack = 0
	deferredOld.Flags |= abi.FlagDeferCallchain
	user := abi.ContextUser
	for name, tt := range map[string]struct {
		attr   abi.Attr
		chains [][]uint64
		want   []Cut
	}{
		"the kernel's limit":          {usual, [][]uint64{chain(27, 100, user), chain(100, 27, user), chain(26, 100, user)}, []Cut{{127, 2}}},
		"some are deeper":             {usual, [][]uint64{chain(27, 100, user), chain(27, 101, user)}, nil},
		"none is so deep":             {usual, [][]uint64{chain(26, 100, user), nil}, nil},
		"markers do not count":        {usual, [][]uint64{chain(25, 100, user)}, nil},
		"markers count":               {old, [][]uint64{chain(25, 100, user), chain(24, 100, user), chain(26, 100, user), chain(27, 100, user)}, []Cut{{127, 2}}},
		"an event's own":              {told, [][]uint64{chain(10, 10, user), chain(10, 9, user), chain(20, 0, user)}, []Cut{{20, 2}}},
		"an event's own, once deeper": {told, [][]uint64{chain(10, 10, user), chain(10, 11, user)}, []Cut{{20, 1}}},
		"deferred, joined":            {deferred, [][]uint64{chain(10, 10, user), chain(20, 500, user)}, []Cut{{20, 1}}},
		"deferred, alone":             {deferred, [][]uint64{chain(19, 1, abi.ContextUserDeferred), chain(20, 1, abi.ContextUserDeferred), chain(20, 1, abi.ContextUserDeferred)}, []Cut{{20, 2}}},
		"deferred, the usual limit":   {deferredOld, [][]uint64{chain(27, 101, user), chain(127, 500, user)}, []Cut{{127, 1}}},
	} {
		l := New(timeline.New(timeline.Options{}), stacks.New(), Options{})
		e := &perfdata.Event{Event: abi.Event{Attr: tt.attr}}
		for _, c := range tt.chains {
			l.seeDepth(e, c)
		}
		if diff := cmp.Diff(tt.want, l.Stats().Cut); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", name, diff)
		}
	}
}

// TestCutOfEvents: each event has a limit, and those that are the same are told together.
func TestCutOfEvents(t *testing.T) {
	l := New(timeline.New(timeline.Options{}), stacks.New(), Options{})
	for _, i := range []int{3, 1, 0, 2, 2, 3} {
		a := abi.Attr{SampleMaxStack: []uint16{5, 8, 5, 9}[i]}
		l.seeDepth(&perfdata.Event{Index: i, Event: abi.Event{Attr: a}}, slices.Repeat([]uint64{1}, int(a.SampleMaxStack)))
	}
	if diff := cmp.Diff([]Cut{{5, 3}, {8, 1}, {9, 2}}, l.Stats().Cut); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}

// TestCutOfParts: what is left in a sample without a callchain is none, and of one whose user part
// is what the processor keeps, the kernel's part counts.
func TestCutOfParts(t *testing.T) {
	chain := append([]uint64{abi.ContextKernel, 0x100, 0x200, abi.ContextUser}, 0x10)
	calls := []abi.Branch{{From: 0x20, To: 0x30}}
	for name, tt := range map[string]struct {
		limit    uint16
		hasChain bool
		branches []abi.Branch
		want     []Cut
	}{
		"no callchain":             {3, false, nil, nil},
		"a callchain":              {3, true, nil, []Cut{{3, 1}}},
		"calls in a stack":         {3, true, calls, nil},
		"the same, kernel's alone": {2, true, calls, []Cut{{2, 1}}},
	} {
		l := New(timeline.New(timeline.Options{}), stacks.New(), Options{})
		e := &perfdata.Event{Event: abi.Event{Attr: abi.Attr{SampleMaxStack: tt.limit}}}
		if tt.branches != nil {
			e.Attr.BranchSampleType = abi.BranchCallStack
		}
		l.Append(nil, &samples.Sample{Event: e, Sample: abi.Sample{HasChain: tt.hasChain, Callchain: chain, Branches: tt.branches}})
		if diff := cmp.Diff(tt.want, l.Stats().Cut); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", name, diff)
		}
	}
}
