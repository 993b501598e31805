package convert

import (
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// TestWantsCallFrames: of which recordings the call frame information of files is read.
func TestWantsCallFrames(t *testing.T) {
	const chain, regs, copies = abi.SampleCallchain, abi.SampleRegsUser, abi.SampleStackUser
	for _, c := range []struct {
		arch string
		typ  abi.SampleType
		mask uint64
		want bool
	}{
		{"x86_64", chain, 0, false},
		{"x86_64", chain | regs | copies, 0xff0fff, true},
		{"x86_64", chain | regs, 1 << 30, false},
		{"aarch64", chain, 0, false},
		{"aarch64", chain | regs, 1 << 30, true}, // perf record -g
		{"aarch64", regs, 1 << 30, false},
		{"aarch64", chain | regs, 1 << 3, false},
	} {
		in := recordingInput{Reader: &perfdata.Reader{Events: perfdata.NewEventSet(abi.LittleEndian, []abi.Event{{Attr: abi.Attr{SampleType: c.typ, SampleRegsUser: c.mask}}})}}
		in.Features.Arch = c.arch
		if got := in.wantsCallFrames(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
