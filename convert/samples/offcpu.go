package samples

import (
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// MeasuresOffCPU reports whether samples of e are those of perf record --off-cpu, whose periods
// are times in ns.
func MeasuresOffCPU(e *perfdata.Event) bool {
	return isOffCPUTime(e) && e.Attr.SampleType&abi.SamplePeriod != 0
}

// isOffCPU reports whether these samples are as they are since Linux 6.16: written by a
// BPF program as raw data, which has the sample in it (perf's evsel.c, __set_offcpu_sample).
func isOffCPU(e *perfdata.Event) bool {
	return isOffCPUTime(e) && e.Attr.SampleType&abi.SampleRaw != 0
}

func isOffCPUTime(e *perfdata.Event) bool {
	return e.Attr.Type == abi.TypeSoftware && e.Attr.Config == abi.SWBPFOutput && e.Name == "offcpu-time"
}

// sumTime is the time from which on a sample is none of its own: what perf record
// --off-cpu writes when it ends, the sums of the whole recording, which are to come
// last (perf's bpf_off_cpu.c, OFF_CPU_TIMESTAMP).
const sumTime = 0xffffffff << 32

// timeOf returns the time that a sample was taken at, 0 where that is not known.
func timeOf(s *abi.Sample) uint64 {
	if s.Time >= sumTime {
		return 0
	}
	return s.Time
}

// unpackOffCPU takes the sample out of its raw data: pid and tid, period, callchain, cgroup.
// What is written when a thread comes back has its id first, what is summed up to the end that of
// its process (perf's off_cpu.bpf.c, off_cpu_dump, and bpf_off_cpu.c, off_cpu_write); perf takes
// both for the latter. Whose thread is whose tells them apart.
func unpackOffCPU(s *abi.Sample, o abi.Order) bool {
	const head = 24
	b := s.Raw
	if len(b) < head {
		return false
	}
	n := o.Uint64(b[16:])
	if n > uint64(len(b)-head)/8 {
		return false
	}
	s.PID, s.TID, s.Period = int32(o.Uint32(b)), int32(o.Uint32(b[4:])), o.Uint64(b[8:])
	s.Callchain, s.HasChain = s.Callchain[:0], true
	for b = b[head:]; n > 0; n-- {
		s.Callchain = append(s.Callchain, o.Uint64(b))
		b = b[8:]
	}
	if len(b) >= 8 {
		s.Cgroup = o.Uint64(b) // that of the event is of who came
	}
	if len(s.Callchain) > 1 {
		s.IP = s.Callchain[1]
	}
	return true
}
