package perfevent

import (
	"io"

	"github.com/elastic/go-perf"

	"kprof/perfevent/abi"
)

// libraryFlags are the attribute bits that elastic/go-perf can set. Its
// precise_ip is right for 0 and 1 only.
const libraryFlags = abi.FlagDisabled | abi.FlagInherit | abi.FlagPinned | abi.FlagExclusive |
	abi.FlagExcludeUser | abi.FlagExcludeKernel | abi.FlagExcludeHV | abi.FlagExcludeIdle |
	abi.FlagFreq | abi.FlagEnableOnExec | abi.FlagWatermark | abi.FlagSampleIDAll |
	abi.FlagExcludeHost | abi.FlagExcludeGuest |
	abi.FlagExcludeCallchainKernel | abi.FlagExcludeCallchainUser

const (
	librarySample = baseSample | abi.SamplePeriod | abi.SampleCallchain | abi.SampleAddr | abi.SampleRaw
	libraryRead   = baseRead
)

// libraryAttr returns e's attribute as elastic/go-perf has it, if that can
// express it: no PERF_FORMAT_LOST, which kernels have since 6.0, none of the
// side-band's newer bits, no config3. Probes are left out since the library
// tries each EINVAL twice, which would register a probe twice.
func libraryAttr(e *Event) (*perf.Attr, bool) {
	a := &e.Attr
	flags := a.Flags.WithPrecise(0)
	if flags&^libraryFlags != 0 || a.Flags.Precise() > 1 ||
		a.SampleType&^librarySample != 0 || a.ReadFormat&^libraryRead != 0 ||
		a.Config3 != 0 || a.Config4 != 0 || e.target != "" {
		return nil, false
	}
	has := func(f abi.Flags) bool { return flags&f != 0 }
	sample := func(t abi.SampleType) bool { return a.SampleType&t != 0 }
	read := func(r abi.ReadFormat) bool { return a.ReadFormat&r != 0 }
	return &perf.Attr{
		Label:          e.Name,
		Type:           perf.EventType(a.Type),
		Config:         a.Config,
		Config1:        a.Config1,
		Config2:        a.Config2,
		Sample:         a.SamplePeriod,
		Wakeup:         a.Wakeup,
		BreakpointType: a.BPType,
		SampleMaxStack: a.SampleMaxStack,
		SampleFormat: perf.SampleFormat{
			Identifier: sample(abi.SampleIdentifier),
			IP:         sample(abi.SampleIP),
			Tid:        sample(abi.SampleTID),
			Time:       sample(abi.SampleTime),
			CPU:        sample(abi.SampleCPU),
			Period:     sample(abi.SamplePeriod),
			Callchain:  sample(abi.SampleCallchain),
			Addr:       sample(abi.SampleAddr),
			Raw:        sample(abi.SampleRaw),
		},
		CountFormat: perf.CountFormat{
			Enabled: read(abi.ReadTotalTimeEnabled),
			Running: read(abi.ReadTotalTimeRunning),
			ID:      read(abi.ReadID),
		},
		Options: perf.Options{
			Disabled:               has(abi.FlagDisabled),
			Inherit:                has(abi.FlagInherit),
			Pinned:                 has(abi.FlagPinned),
			Exclusive:              has(abi.FlagExclusive),
			ExcludeUser:            has(abi.FlagExcludeUser),
			ExcludeKernel:          has(abi.FlagExcludeKernel),
			ExcludeHypervisor:      has(abi.FlagExcludeHV),
			ExcludeIdle:            has(abi.FlagExcludeIdle),
			Freq:                   has(abi.FlagFreq),
			EnableOnExec:           has(abi.FlagEnableOnExec),
			Watermark:              has(abi.FlagWatermark),
			SampleIDAll:            has(abi.FlagSampleIDAll),
			ExcludeHost:            has(abi.FlagExcludeHost),
			ExcludeGuest:           has(abi.FlagExcludeGuest),
			ExcludeKernelCallchain: has(abi.FlagExcludeCallchainKernel),
			ExcludeUserCallchain:   has(abi.FlagExcludeCallchainUser),
			PreciseIP:              perf.Skid(a.Flags.Precise()),
		},
	}, true
}

// libraryOpen opens an event through the library. The descriptor is the
// library's and closed by closer.
func libraryOpen(a *perf.Attr, pid, cpu, flags int) (fd int, closer io.Closer, err error) {
	ev, err := perf.OpenWithFlags(a, pid, cpu, nil, flags)
	if err != nil {
		return -1, nil, err
	}
	fd, err = ev.FD()
	return fd, ev, err
}
