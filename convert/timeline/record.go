package timeline

import (
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// Add adds what a record says that counts from time t on; l is the layout of an event
// that it belongs to, or of any other of the recording. Records of types that change
// no state are ignored. It counts once Apply or Freeze has been called.
func (tl *Timeline) Add(l *abi.Layout, h abi.Header, payload []byte, t uint64) error {
	switch h.Type {
	case abi.RecordMmap, abi.RecordMmap2:
		m, err := l.DecodeMmap(h, payload)
		if err != nil {
			return err
		}
		tl.mmap(m, h.Misc, t)
	case abi.RecordComm:
		c, err := l.DecodeComm(h, payload)
		if err != nil {
			return err
		}
		tl.comm(c, t)
	case abi.RecordFork, abi.RecordExit:
		f, err := l.DecodeTask(payload)
		if err != nil {
			return err
		}
		if h.Type == abi.RecordFork {
			tl.fork(f, t, h.Misc&abi.MiscForkExec != 0)
		} else {
			tl.exit(f, t)
		}
	case abi.RecordKsymbol:
		k, err := l.DecodeKsymbol(payload)
		if err != nil {
			return err
		}
		tl.ksymbol(k, t)
	case abi.RecordCgroup:
		c, err := l.DecodeCgroup(payload)
		if err != nil {
			return err
		}
		if _, known := tl.cgroups[c.ID]; known || len(tl.cgroups) < maxCgroups {
			tl.cgroups[c.ID] = c.Path
		}
	}
	return nil
}

// comm adds a change of name, and of address space if it is an exec.
func (tl *Timeline) comm(c abi.Comm, t uint64) {
	op := opName
	if c.Exec {
		op = opExec
	}
	tl.pending.addTask(taskChange{op: op, since: t, pid: c.PID, tid: c.TID, other: tl.strings.Of(c.Comm)})
}

// fork adds a new thread or process. synthesized says that it is not a fork that
// happened but perf telling who was there; its maps follow by themselves.
func (tl *Timeline) fork(f abi.Task, t uint64, synthesized bool) {
	op := opFork
	if synthesized {
		op = opAppears
	}
	tl.pending.addTask(taskChange{op: op, since: t, pid: f.PID, tid: f.TID, ppid: f.PPID, other: f.PTID})
}

// exit adds the end of a thread, which ends nothing yet.
func (tl *Timeline) exit(f abi.Task, t uint64) {
	if tl.forgets {
		tl.pending.addTask(taskChange{op: opExit, since: t, pid: f.PID, tid: f.TID})
	}
}

// mmap adds a mapping.
func (tl *Timeline) mmap(m abi.Mmap, misc abi.Misc, t uint64) {
	if m.Len == 0 {
		return
	}
	a, op := newArea(m.Addr, m.Len, t), opMap
	a.Offset, a.PID = m.Off, m.PID
	o, file, symbol := Object{}, m.File, ""
	mode := misc.CPUMode()
	switch {
	case mode == abi.MiscGuestUser:
		return // pids of a guest are not those of the host
	case mode == abi.MiscGuestKernel:
		op = opGuest
		file, symbol = guestObject(m.File)
		o.Kind = stacks.KindGuest // its modules too: they are not the host's
	case mode == abi.MiscKernel || m.PID == -1 && mode != abi.MiscUser:
		op = opKernel
		switch file, o.Kind = kernelObject(m.File); o.Kind {
		case stacks.KindKernel:
			symbol = strings.TrimPrefix(m.File, file)
		case stacks.KindModule:
			tl.pending.modules = append(tl.pending.modules, tl.pending.maps.n)
		}
	default:
		o.Kind = userKind(m.File)
		if isProgramInMemory(&m) {
			o.Kind = stacks.KindUser
		}
		tl.noteDump(&m)
		if m.Flags&mapHugeTLB != 0 {
			o.Kind = stacks.KindAnon
		}
		if m.Prot&protJIT != 0 {
			o.Kind = stacks.KindAnon // told apart by address: files of several functions have them all at one offset
		}
		o.Data = misc&abi.MiscMmapData != 0 || m.V2 && m.Prot&protAny != 0 && m.Prot&protExec == 0
		if o.Kind == stacks.KindVDSO {
			a.Offset = 0 // Linux 3.2 says its address
		}
		if o.Kind != stacks.KindAnon && m.BuildID == "" {
			o.maj, o.min, o.ino, o.gen = m.Maj, m.Min, m.Ino, m.InoGen
		}
		if o.Kind == stacks.KindVDSO && a.End <= 1<<32 {
			o.gen = 32 // that of programs of 32 bits is another file, of the same name
		}
	}
	o.file, o.symbol, o.buildID = tl.strings.Of(file), tl.strings.Of(symbol), tl.strings.Of(m.BuildID)
	a.Object = tl.objects.Of(o)
	tl.pending.addMap(op, a)
}

// ksymbol adds or removes a piece of code in the kernel.
func (tl *Timeline) ksymbol(k abi.Ksymbol, t uint64) {
	if k.Len == 0 {
		return
	}
	a := newArea(k.Addr, uint64(k.Len), t)
	a.PID, a.Object = -1, NoObject
	if !k.Unregister {
		a.Object = tl.objects.Of(Object{file: tl.strings.Of(k.Name), Kind: stacks.KindBPF})
	}
	tl.pending.addMap(opKernel, a)
}
