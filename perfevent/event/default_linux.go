package event

import (
	"kprof/perfevent"
	"kprof/perfevent/abi"
)

// DefaultSpec is what is sampled when no event is named: cycles where a hardware
// PMU counts them, else cpu-clock, which every kernel has.
func DefaultSpec() (Spec, error) {
	e := perfevent.Event{Name: "cycles", Attr: abi.Attr{Type: abi.TypeHardware, Config: abi.HWCPUCycles, SamplePeriod: 1 << 20, Flags: abi.FlagDisabled | abi.FlagExcludeKernel | abi.FlagExcludeHV}}
	if c, err := perfevent.Open(&e, perfevent.Where{CPU: perfevent.AnyCPU}); err == nil {
		if err := c.Close(); err != nil {
			return Spec{}, err
		}
		return ParseSpec("cycles")
	}
	return ParseSpec("cpu-clock")
}
