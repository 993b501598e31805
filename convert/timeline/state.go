package timeline

import (
	"strconv"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// State is what is known of a task at a time: the name of the thread, the address
// space of its process. It is valid until Apply or Settle is called.
type State struct {
	Time uint64
	Name NameID // or NoName

	process *task // or nil
	user    *space
	asOf    uint64 // the time to look at it
}

// recentTask is a process and a thread of it, as far as they are known.
type recentTask struct {
	pid, tid        int32
	process, thread *task
}

// At returns the state of a thread and its process at a time.
func (tl *Timeline) At(pid, tid int32, t uint64) State {
	c := &tl.recent[uint32(tid)%uint32(len(tl.recent))]
	if c.process == nil || c.thread == nil || c.pid != pid || c.tid != tid {
		*c = recentTask{pid, tid, tl.tasks[pid], tl.tasks[tid]}
	}
	st := State{Time: t, Name: NoName}
	if c.thread != nil {
		st.Name = c.thread.nameAt(t)
	}
	if st.process = c.process; c.process != nil {
		st.user, st.asOf = c.process.spaceAt(t)
	}
	return st
}

// Belongs reports whether a thread is known to have belonged to a process, last.
func (tl *Timeline) Belongs(tid, pid int32) bool {
	th := tl.tasks[tid]
	return th != nil && th.pid == pid
}

// UseAddressesOf lets user addresses be looked up in the address space of another state,
// of the same task at another time.
func (st *State) UseAddressesOf(other *State) { st.user, st.asOf = other.user, other.asOf }

// Comm is the name of a thread; perf calls one without a name by its number, and
// the idle threads "swapper". Unlike other methods it may be called while another
// goroutine uses a Timeline that is frozen.
func (tl *Timeline) Comm(name NameID, tid int32) string {
	switch {
	case name >= 0:
		return tl.text(name)
	case tid == 0 && name != NotIdle:
		return "swapper"
	}
	return ":" + strconv.Itoa(int(tid))
}

// Mode says in which address space an address is: that of the mode the CPU was in.
type Mode uint8

// The modes that samples and their callchains have, and BeforeExec: the user's address
// space before an exec replaced it.
const (
	User Mode = iota
	Kernel
	Hypervisor
	GuestKernel
	GuestUser
	BeforeExec
	NumModes
)

// ModeOf returns the mode that the misc field of a sample says.
func ModeOf(m abi.Misc) Mode {
	switch m.CPUMode() {
	case abi.MiscKernel:
		return Kernel
	case abi.MiscHypervisor:
		return Hypervisor
	case abi.MiscGuestKernel:
		return GuestKernel
	case abi.MiscGuestUser:
		return GuestUser
	}
	return User
}

// View is an address space at a time. It is valid until Apply or Settle is called.
type View struct {
	Kind stacks.Kind // of addresses that nothing maps
	// ID differs for views that may find different areas. Views of one address space
	// at times between which nothing was mapped have the same.
	ID uint64

	space *space // nil: nothing is known
	time  uint64
}

// Known reports whether anything is known of the address space.
func (v *View) Known() bool { return v.space != nil }

// View returns the address space that a task has in a mode.
func (tl *Timeline) View(st *State, m Mode) View {
	switch m {
	case User:
		return tl.view(st.user, st.asOf, stacks.KindUnknown)
	case Kernel:
		return tl.view(&tl.kernel, st.Time, stacks.KindKernel)
	case GuestKernel:
		return tl.view(&tl.guest, st.Time, stacks.KindGuest)
	case GuestUser:
		return tl.view(nil, st.Time, stacks.KindGuest)
	case Hypervisor:
		return tl.view(nil, st.Time, stacks.KindHypervisor)
	}
	if st.process == nil {
		return tl.view(nil, st.Time, stacks.KindUnknown)
	}
	before, t := st.process.spaceBefore(st.Time)
	return tl.view(before, t, stacks.KindUnknown)
}

// view returns the view of s at time t; kind is that of addresses which nothing
// maps.
func (tl *Timeline) view(s *space, t uint64, kind stacks.Kind) View {
	s, t = s.mapping(t) // shares its ID with the parent
	v := View{space: s, Kind: kind, time: t, ID: uint64(kind)}
	if s != nil {
		v.ID = uint64(tl.indexed(s).serial)<<32 | uint64(uint32(s.epoch(t)))<<4 | uint64(kind)
	}
	return v
}

// indexed returns the index of a space, which it builds after a change.
func (tl *Timeline) indexed(s *space) *index {
	if s.index == nil {
		tl.serial++
		s.index = &index{serial: tl.serial}
		s.index.build(s.areas.all)
		tl.work += len(s.areas.all)
	}
	return s.index
}

// Find returns what holds addr in a view, or nil.
func (tl *Timeline) Find(v *View, addr uint64) *Area {
	if v.space == nil {
		return nil
	}
	return tl.find(v.space, addr, v.time)
}

// find returns what holds addr in s at time t, or nil.
func (tl *Timeline) find(s *space, addr, t uint64) *Area {
	tl.effort.asked++
	for forks := 0; s != nil; forks++ {
		if forks > freeForks && !tl.effort.search() {
			return nil
		}
		if len(s.areas.all) > 0 {
			if a := tl.indexed(s).find(s.areas.all, addr, t, &tl.effort); a != nil {
				if a.Object == NoObject {
					return nil
				}
				return a
			}
		}
		s, t = s.base, s.forkedAt
	}
	return nil
}
