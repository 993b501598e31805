package perfevent

import (
	"fmt"

	"kprof/perfevent/abi"
)

// SidebandName is perf's name of the event that carries the side-band.
const SidebandName = "dummy:HG"

// messageName is what messages call e: nobody has asked for the side-band by name.
func (e *Event) messageName() string {
	if e.Name == SidebandName {
		return "the event of names and maps of processes"
	}
	return "event " + e.Name
}

// Features are what this kernel takes, and lets this user have.
type Features struct {
	ReadLost bool      // PERF_FORMAT_LOST, Linux 6.0
	Sideband abi.Flags // of those that a side-band event would like

	// Missing says why an optional side-band flag is not in Sideband, in the
	// words of the first error.
	Missing []string
}

// sidebandWishes are the optional flags of the side-band event, and since when
// kernels have them. Older kernels answer an unknown bit with EINVAL. text_poke
// is not among them: it repeats kernel code at each static key that flips, and
// nothing here reads it. Neither is build_id (Linux 5.12): up to 6.18 at least
// perf_event_mmap_output (kernel/events/core.c) does not take the bit
// MMAP_BUILD_ID back when it goes on to the next event, so that the recordings
// of everybody else get inode numbers that call themselves build ids, at which
// perf 6.1 aborts.
var sidebandWishes = []struct {
	flag abi.Flags
	name string
}{
	{abi.FlagCommExec, "comm_exec (Linux 3.16)"},
	{abi.FlagKsymbol, "ksymbol (Linux 5.1)"},
	{abi.FlagBPFEvent, "bpf_event (Linux 5.1)"},
	{abi.FlagCgroup, "cgroup (Linux 5.7)"},
}

// ProbeFeatures opens and closes events on the calling thread to see what the
// kernel takes. An error means that not even a bare dummy event opens.
func ProbeFeatures() (Features, error) {
	var f Features
	try := func(flags abi.Flags, read abi.ReadFormat) error {
		e := sidebandEvent(flags)
		e.Attr.ReadFormat |= read
		e.Attr.Flags |= abi.FlagExcludeKernel | abi.FlagExcludeHV
		c, err := Open(&e, Where{CPU: AnyCPU})
		if err != nil {
			return err
		}
		return c.Close()
	}
	if err := try(0, 0); err != nil {
		return f, err
	}
	f.ReadLost = try(0, abi.ReadLost) == nil
	for _, w := range sidebandWishes {
		if err := try(w.flag, 0); err != nil {
			f.Missing = append(f.Missing, fmt.Sprintf("no %s: %v", w.name, err))
			continue
		}
		f.Sideband |= w.flag
	}
	return f, nil
}

// Sideband is the event that carries the side-band with the given features,
// disabled. Inherit is for the events of tasks.
func Sideband(f Features, inherit bool) Event {
	e := sidebandEvent(f.Sideband)
	if f.ReadLost {
		e.Attr.ReadFormat |= abi.ReadLost
	}
	if inherit {
		e.Attr.Flags |= abi.FlagInherit
	}
	return e
}

func sidebandEvent(extra abi.Flags) Event {
	return Event{
		Name: SidebandName,
		Attr: abi.Attr{
			Type:         abi.TypeSoftware,
			Config:       abi.SWDummy,
			SamplePeriod: 1,
			SampleType:   baseSample,
			ReadFormat:   baseRead,
			Flags: extra | abi.FlagDisabled | abi.FlagSampleIDAll | abi.FlagTask |
				abi.FlagComm | abi.FlagMmap | abi.FlagMmap2,
		},
	}
}

// KernelCode is the event that carries the records of code that comes to the kernel and leaves
// it (KSYMBOL), disabled: on a CPU, whichever task loads a BPF program there. The ids at their
// ends are as those of Sideband.
func KernelCode(f Features) Event {
	e := Sideband(f, false)
	e.Attr.Flags = abi.FlagDisabled | abi.FlagSampleIDAll | abi.FlagKsymbol | abi.FlagExcludeKernel | abi.FlagExcludeHV
	return e
}

// RingOwner is the event that owns a ring: it counts nothing and asks for names
// only, so that a change of its thread's name writes a record. The ring wakes
// its reader at watermark bytes.
func RingOwner(f Features, watermark uint32) Event {
	e := Sideband(f, false)
	e.Attr.Flags = abi.FlagDisabled | abi.FlagSampleIDAll | abi.FlagComm |
		abi.FlagWatermark | abi.FlagExcludeKernel | abi.FlagExcludeHV
	e.Attr.Wakeup = watermark
	return e
}
