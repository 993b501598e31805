package synth

import (
	"kprof/perfevent/abi"
)

// The records that synth writes; layouts in include/uapi/linux/perf_event.h.
// They are little-endian, as all machines that this package runs on.

const native = abi.LittleEndian

// begin starts a record.
func (s *synth) begin(t abi.RecordType, misc abi.Misc) {
	s.rec = abi.Header{Type: t, Misc: misc}.AppendTo(s.rec[:0], native)
}

func (s *synth) u32(v uint32) { s.rec = native.AppendUint32(s.rec, v) }
func (s *synth) u64(v uint64) { s.rec = native.AppendUint64(s.rec, v) }

// name appends a NUL-terminated string, padded to eight bytes.
func (s *synth) name(parts ...[]byte) {
	n := 0
	for _, p := range parts {
		s.rec = append(s.rec, p...)
		n += len(p)
	}
	s.rec = append(s.rec, "\x00\x00\x00\x00\x00\x00\x00\x00"[:8-n%8]...)
}

// end appends the trailer, sets the size and writes the record.
func (s *synth) end(pid, tid int, time uint64) error {
	s.rec = s.layout.AppendTrailer(s.rec, abi.SampleIDFields{
		PID: int32(pid), TID: int32(tid), Time: time, ID: s.opts.ID, StreamID: s.opts.ID,
	})
	// Names are bounded by PATH_MAX, so a record never exceeds 64 KiB.
	native.AppendUint16(s.rec[:6], uint16(len(s.rec))) // in place
	return s.write(s.rec)
}

// task writes FORK, where it is not known, and COMM of one thread; its name is in s.comm.
func (s *synth) task(time uint64, pid, tid, ppid, ptid int) error {
	if !s.opts.Known {
		s.begin(abi.RecordFork, abi.MiscForkExec)
		s.u32(uint32(pid))
		s.u32(uint32(ppid))
		s.u32(uint32(tid))
		s.u32(uint32(ptid))
		s.u64(time)
		if err := s.end(pid, tid, time); err != nil {
			return err
		}
	}
	s.begin(abi.RecordComm, 0)
	s.u32(uint32(pid))
	s.u32(uint32(tid))
	s.name(s.comm)
	return s.end(pid, tid, time)
}

// mapping is a line of /proc/PID/maps, or part of the kernel.
type mapping struct {
	addr, len, off uint64
	prot, flags    uint32 // of mmap(2)
	file           fileID
	name           []byte
}

// mmap writes MMAP2, or the older MMAP where it says the same: for the kernel
// without build id, as perf does.
func (s *synth) mmap(time uint64, pid, tid int, misc abi.Misc, m *mapping, buildID []byte, suffix []byte) error {
	buildID = buildID[:min(len(buildID), maxBuildID)]
	if len(buildID) > 0 {
		misc |= abi.MiscMmapBuildID
	}
	v2 := len(buildID) > 0 || misc.CPUMode() == abi.MiscUser
	t := abi.RecordMmap
	if v2 {
		t = abi.RecordMmap2
	}
	s.begin(t, misc)
	s.u32(uint32(pid))
	s.u32(uint32(tid))
	s.u64(m.addr)
	s.u64(m.len)
	s.u64(m.off)
	if v2 {
		if len(buildID) > 0 {
			s.rec = append(s.rec, byte(len(buildID)), 0, 0, 0)
			s.rec = append(s.rec, buildID...)
			s.rec = append(s.rec, make([]byte, maxBuildID-len(buildID))...)
		} else {
			s.u32(m.file.maj)
			s.u32(m.file.min)
			s.u64(m.file.ino)
			s.u64(0) // inode generation, which /proc does not have
		}
		s.u32(m.prot)
		s.u32(m.flags)
	}
	s.name(m.name, suffix)
	return s.end(max(pid, 0), tid, time)
}

// ksymbol writes KSYMBOL for a BPF program.
func (s *synth) ksymbol(time, addr uint64, size uint32, name []byte) error {
	const bpf = 1 // PERF_RECORD_KSYMBOL_TYPE_BPF
	s.begin(abi.RecordKsymbol, 0)
	s.u64(addr)
	s.u32(size)
	s.rec = native.AppendUint16(s.rec, bpf)
	s.rec = native.AppendUint16(s.rec, 0)
	s.name(name)
	return s.end(0, 0, time)
}

// cgroup writes CGROUP.
func (s *synth) cgroup(time, id uint64, path string) error {
	s.begin(abi.RecordCgroup, 0)
	s.u64(id)
	s.name([]byte(path))
	return s.end(0, 0, time)
}
