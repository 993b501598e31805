package parts

import (
	"cmp"
	"maps"
	"slices"

	"kprof/perfevent/abi"
)

// State is what a session's side-band records say of the processes that there are, and of
// the code in the kernel: what the records of a part must begin with, so that its samples
// have the names that they have in the whole.
//
// Records are taken round by round, and put into the order of their times first: what a
// round brings is not older than what the round before the last one held.
type State struct {
	layout abi.Layout
	id     uint64 // of the event that writes the side-band
	limit  int

	held   []held // in the order in which they came
	newest uint64 // time of a record held
	before uint64 // newest at the end of the round before

	processes map[int32]*process
	kernel    map[place][]byte // records, by what they are of
	order     []place          // in which kernel was filled
	exits     []exit           // in the order of time
	bytes     int              // of records kept
	leftOut   uint64
}

// held is a record that is to be put into order.
type held struct {
	time uint64
	rec  []byte
}

// process is the state of one process.
type process struct {
	parent  int32
	threads map[int32]*thread
	maps    []mapped // by address, which do not overlap
}

type thread struct {
	parent int32
	comm   []byte // the record, nil where there was none
	ended  uint64 // time of its end, 0 while it runs
}

// mapped is a record of a map, with the part of it that is still mapped.
type mapped struct {
	start, end uint64
	rec        []byte
}

// place tells records of the kernel's code, and of cgroups, apart.
type place struct {
	kind abi.RecordType
	at   uint64
}

type exit struct {
	time     uint64
	pid, tid int32
}

const (
	// afterExit is for how long the state of a task stays after its end, in ns: what it
	// does until it is gone is sampled too.
	afterExit = 1e9

	// stateLimit bounds the records that are kept, in bytes.
	stateLimit = 128 << 20

	keptSize = 64 // what keeping a record takes besides its bytes, about
)

// NewState returns the state of nothing, of a session whose side-band has this event.
func NewState(sideband *abi.Event) *State {
	s := &State{
		layout: abi.NewLayout(&sideband.Attr, abi.LittleEndian), limit: stateLimit,
		processes: map[int32]*process{}, kernel: map[place][]byte{},
	}
	if len(sideband.IDs) > 0 {
		s.id = sideband.IDs[0]
	}
	return s
}

// Kept reports whether Take takes records of a type.
func Kept(t abi.RecordType) bool {
	switch t {
	case abi.RecordMmap, abi.RecordMmap2, abi.RecordComm, abi.RecordFork, abi.RecordExit,
		abi.RecordKsymbol, abi.RecordBPFEvent, abi.RecordCgroup:
		return true
	}
	return false
}

// Take takes a record that Kept, which it copies.
func (s *State) Take(rec []byte) {
	f, _ := s.layout.DecodeTrailer(rec[abi.HeaderSize:])
	s.held = append(s.held, held{f.Time, slices.Clone(rec)})
	s.newest = max(s.newest, f.Time)
}

// FinishRound says that what is taken from now on is not older than what was taken before
// the last call.
func (s *State) FinishRound() {
	if len(s.held) > 0 {
		slices.SortStableFunc(s.held, func(a, b held) int { return cmp.Compare(a.time, b.time) })
		n := 0
		for ; n < len(s.held) && s.held[n].time <= s.before; n++ {
			s.apply(s.held[n].time, s.held[n].rec)
		}
		s.held = append(s.held[:0], s.held[n:]...)
	}
	s.before = s.newest
	s.forget()
}

// LeftOut is how many records were left out, because what there is takes too much memory.
func (s *State) LeftOut() uint64 { return s.leftOut }

func (s *State) apply(time uint64, rec []byte) {
	h := abi.DecodeHeader(rec, abi.LittleEndian)
	payload := rec[abi.HeaderSize:]
	switch h.Type {
	case abi.RecordMmap, abi.RecordMmap2:
		if m, err := s.layout.DecodeMmap(h, payload); err == nil {
			if m.PID == -1 {
				s.setKernel(place{abi.RecordMmap, m.Addr}, rec)
			} else if m.Addr+m.Len > m.Addr {
				s.mapped(m.PID, mapped{m.Addr, m.Addr + m.Len, rec})
			}
		}
	case abi.RecordComm:
		if c, err := s.layout.DecodeComm(h, payload); err == nil {
			p := s.process(c.PID)
			if c.Exec {
				s.release(p)
				s.endOthers(p, c.TID)
			}
			t := p.thread(c.TID)
			s.replace(&t.comm, rec)
			t.ended = 0
		}
	case abi.RecordFork:
		if t, err := s.layout.DecodeTask(payload); err == nil {
			s.fork(t, h.Misc&abi.MiscForkExec != 0)
		}
	case abi.RecordExit:
		if t, err := s.layout.DecodeTask(payload); err == nil {
			if p := s.processes[t.PID]; p != nil && p.threads[t.TID] != nil {
				p.threads[t.TID].ended = max(time, 1)
				s.exits = append(s.exits, exit{max(time, 1), t.PID, t.TID})
			}
		}
	case abi.RecordKsymbol:
		if k, err := s.layout.DecodeKsymbol(payload); err == nil {
			if at := (place{h.Type, k.Addr}); k.Unregister {
				s.dropKernel(at)
			} else {
				s.setKernel(at, rec)
			}
		}
	case abi.RecordBPFEvent:
		if len(payload) >= 8 { // type, flags, id
			at := place{h.Type, uint64(abi.LittleEndian.Uint32(payload[4:]))}
			const unload = 2 // PERF_BPF_EVENT_PROG_UNLOAD
			if abi.LittleEndian.Uint16(payload) == unload {
				s.dropKernel(at)
			} else {
				s.setKernel(at, rec)
			}
		}
	case abi.RecordCgroup:
		if c, err := s.layout.DecodeCgroup(payload); err == nil {
			s.setKernel(place{h.Type, c.ID}, rec)
		}
	}
}

// room reports whether there is room for a record, and takes it.
func (s *State) room(rec []byte) bool {
	if s.bytes+len(rec)+keptSize > s.limit {
		s.leftOut++
		return false
	}
	s.bytes += len(rec) + keptSize
	return true
}

func (s *State) free(rec []byte) {
	if rec != nil {
		s.bytes -= len(rec) + keptSize
	}
}

// replace has a record take the place of another.
func (s *State) replace(kept *[]byte, rec []byte) {
	s.free(*kept)
	if *kept = nil; s.room(rec) {
		*kept = rec
	}
}

func (s *State) setKernel(at place, rec []byte) {
	old, known := s.kernel[at]
	if s.replace(&old, rec); old == nil {
		delete(s.kernel, at)
		return
	}
	s.kernel[at] = old
	if !known {
		s.order = append(s.order, at)
	}
	if len(s.order) > 2*len(s.kernel)+64 { // of what is gone
		seen := map[place]bool{}
		s.order = slices.DeleteFunc(s.order, func(p place) bool {
			_, there := s.kernel[p]
			gone := !there || seen[p]
			seen[p] = true
			return gone
		})
	}
}

func (s *State) dropKernel(at place) {
	s.free(s.kernel[at])
	delete(s.kernel, at)
}

func (s *State) process(pid int32) *process {
	p := s.processes[pid]
	if p == nil {
		p = &process{parent: -1, threads: map[int32]*thread{}}
		s.processes[pid] = p
	}
	return p
}

func (p *process) thread(tid int32) *thread {
	t := p.threads[tid]
	if t == nil {
		t = &thread{parent: -1}
		p.threads[tid] = t
	}
	return t
}

// fork begins a task. One that perf describes has maps of its own to come.
func (s *State) fork(f abi.Task, described bool) {
	var comm []byte
	if from := s.processes[f.PPID]; from != nil && from.threads[f.PTID] != nil {
		comm = from.threads[f.PTID].comm
	}
	if f.PID != f.PPID && f.PID == f.TID {
		s.end(f.PID) // its number was another's
		p := s.process(f.PID)
		p.parent = f.PPID
		if from := s.processes[f.PPID]; from != nil && !described {
			for _, m := range from.maps {
				if s.room(m.rec) {
					p.maps = append(p.maps, m)
				}
			}
		}
	}
	t := s.process(f.PID).thread(f.TID)
	t.parent, t.ended = f.PTID, 0
	if comm != nil {
		s.replace(&t.comm, comm)
	}
}

// release forgets the maps of a process.
func (s *State) release(p *process) {
	for _, m := range p.maps {
		s.free(m.rec)
	}
	p.maps = nil
}

// endOthers forgets the threads of a process but one, which calls exec: that ends them. One that is
// not the first takes the number of that, and nothing says of its own that it has ended.
func (s *State) endOthers(p *process, tid int32) {
	for other, t := range p.threads {
		if other != tid {
			s.free(t.comm)
			delete(p.threads, other)
		}
	}
}

// end forgets a process.
func (s *State) end(pid int32) {
	p := s.processes[pid]
	if p == nil {
		return
	}
	s.release(p)
	for _, t := range p.threads {
		s.free(t.comm)
	}
	delete(s.processes, pid)
}

// forget forgets tasks that have ended long ago.
func (s *State) forget() {
	n := 0
	for ; n < len(s.exits) && s.exits[n].time+afterExit < s.before; n++ {
		x := s.exits[n]
		p := s.processes[x.pid]
		if p == nil || p.threads[x.tid] == nil || p.threads[x.tid].ended != x.time {
			continue // its number is another's
		}
		s.free(p.threads[x.tid].comm)
		delete(p.threads, x.tid)
		if len(p.threads) == 0 {
			s.end(x.pid)
		}
	}
	s.exits = append(s.exits[:0], s.exits[n:]...)
}

// mapped adds a map, which cuts those that were in its place.
func (s *State) mapped(pid int32, m mapped) {
	p := s.process(pid)
	from, _ := slices.BinarySearchFunc(p.maps, m.start, func(o mapped, start uint64) int {
		if o.end <= start {
			return -1
		}
		return 1
	})
	to := from
	var left []mapped // of those in its place
	for ; to < len(p.maps) && p.maps[to].start < m.end; to++ {
		old := p.maps[to]
		s.free(old.rec)
		for _, part := range []mapped{{old.start, min(old.end, m.start), old.rec}, {max(old.start, m.end), old.end, old.rec}} {
			if part.start < part.end && s.room(part.rec) {
				left = append(left, part)
			}
		}
	}
	if s.room(m.rec) {
		at := 0
		if len(left) > 0 && left[0].start < m.start {
			at = 1
		}
		left = slices.Insert(left, at, m)
	}
	p.maps = slices.Replace(p.maps, from, to, left...)
}

// AppendTo appends the state as records: all of the kernel, each task with its name, maps
// of each process, as perf describes what runs already, at a time before everything; and
// then what could not be put into order yet, as it came.
func (s *State) AppendTo(b []byte) []byte {
	for _, at := range s.order {
		if rec, ok := s.kernel[at]; ok {
			b = s.append(b, rec, func([]byte) {})
		}
	}
	const o = abi.LittleEndian
	pids := slices.Sorted(maps.Keys(s.processes))
	for _, pid := range pids {
		p := s.processes[pid]
		for _, tid := range sortedThreads(pid, p) {
			t := p.threads[tid]
			parent, of := p.parent, t.parent
			if tid != pid {
				parent, of = pid, pid
			}
			begin := len(b)
			b = abi.Header{Type: abi.RecordFork, Misc: abi.MiscForkExec}.AppendTo(b, o)
			for _, id := range []int32{pid, parent, tid, of} {
				b = o.AppendUint32(b, uint32(id))
			}
			b = o.AppendUint64(b, 0)
			b = s.layout.AppendTrailer(b, abi.SampleIDFields{PID: pid, TID: tid, ID: s.id, StreamID: s.id})
			o.AppendUint16(b[:begin+6], uint16(len(b)-begin)) // in place
			if t.comm != nil {
				b = s.append(b, t.comm, func(payload []byte) { setTask(payload, pid, tid) })
			}
		}
	}
	for _, pid := range pids {
		for _, m := range s.processes[pid].maps {
			b = s.append(b, m.rec, func(payload []byte) {
				setTask(payload, pid, pid)
				by := m.start - o.Uint64(payload[8:])
				o.AppendUint64(payload[:8], m.start)
				o.AppendUint64(payload[:16], m.end-m.start)
				o.AppendUint64(payload[:24], o.Uint64(payload[24:])+by)
			})
		}
	}
	for _, h := range s.held {
		b = append(b, h.rec...)
	}
	return b
}

// append appends a record at a time before everything, with a payload that change changes.
func (s *State) append(b, rec []byte, change func(payload []byte)) []byte {
	begin := len(b)
	b = append(b, rec...)
	kept := b[begin:]
	if h := abi.DecodeHeader(rec, abi.LittleEndian); h.Type == abi.RecordComm { // no exec any more
		abi.LittleEndian.AppendUint16(kept[:4], uint16(h.Misc&^abi.MiscCommExec))
	}
	payload := kept[abi.HeaderSize:]
	change(payload)
	if f, ok := s.layout.DecodeTrailer(payload); ok {
		f.Time = 0
		s.layout.AppendTrailer(payload[:len(payload)-s.layout.TrailerSize()], f)
	}
	return b
}

func setTask(payload []byte, pid, tid int32) {
	abi.LittleEndian.AppendUint32(payload[:0], uint32(pid))
	abi.LittleEndian.AppendUint32(payload[:4], uint32(tid))
}

// sortedThreads are the threads of a process, the first one first.
func sortedThreads(pid int32, p *process) []int32 {
	tids := slices.Sorted(maps.Keys(p.threads))
	if i := slices.Index(tids, pid); i > 0 {
		tids = slices.Insert(slices.Delete(tids, i, i+1), 0, pid)
	}
	return tids
}
