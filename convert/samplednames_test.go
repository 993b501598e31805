package convert

import (
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// TestSamplesUserCode: what leaves no address of user code in samples.
func TestSamplesUserCode(t *testing.T) {
	const chain = abi.SampleIP | abi.SampleTID | abi.SampleCallchain
	for _, tt := range []struct {
		what string
		attr abi.Attr
		want bool
	}{
		{"cycles", abi.Attr{SampleType: abi.SampleIP}, true},
		{"cycles with callers", abi.Attr{SampleType: chain}, true},
		{"cycles:k", abi.Attr{SampleType: abi.SampleIP | abi.SampleTID, Flags: abi.FlagExcludeUser}, false},
		{"cycles:k with callers, which user code has too", abi.Attr{SampleType: chain, Flags: abi.FlagExcludeUser}, true},
		{"cycles:k with callers in the kernel", abi.Attr{SampleType: chain, Flags: abi.FlagExcludeUser | abi.FlagExcludeCallchainUser}, false},
		{"cycles with callers in the kernel", abi.Attr{SampleType: chain, Flags: abi.FlagExcludeCallchainUser}, true},
		{"cycles:k with copies of stacks", abi.Attr{SampleType: chain | abi.SampleStackUser, Flags: abi.FlagExcludeUser | abi.FlagExcludeCallchainUser}, true},
		{"cycles:k with branches", abi.Attr{SampleType: abi.SampleIP | abi.SampleBranchStack, Flags: abi.FlagExcludeUser}, true},
		{"a tracepoint without addresses", abi.Attr{Type: abi.TypeTracepoint, SampleType: abi.SampleTID | abi.SampleRaw}, false},
		{"the side-band", abi.Attr{Type: abi.TypeSoftware, Config: abi.SWDummy, SampleType: abi.SampleIP}, false},
	} {
		if got := samplesUserCode(&perfdata.Event{Event: abi.Event{Attr: tt.attr}}); got != tt.want {
			t.Errorf("%s: %v", tt.what, got)
		}
	}
}
