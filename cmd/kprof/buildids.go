package main

import (
	"strings"
	"sync"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/record"
	"kprof/symbolize"
)

// buildIDs reads the build ids of the files that a recording maps, each as soon
// as its first map is seen: later it may have been replaced. They go into the
// header of a perf.data file, for which perf reads its whole file a second time,
// or straight into a profile.
//
// The kernel would put them into the records, but a recorder that asks for that
// makes every other perf on the machine take maps for what they are not, and
// abort: see the side-band in perfevent.
type buildIDs struct {
	layout abi.Layout
	seen   map[mappedFile]bool
	keeper *symbolize.Keeper // of the files themselves, nil for none

	mu    sync.Mutex
	queue []event
	wake  *sync.Cond // signalled when queue or over changes
	over  bool
	done  chan struct{} // closed when the queue has been worked off
	list  []perfdata.BuildID
}

// mappedFile tells files apart.
type mappedFile struct {
	name     string
	maj, min uint32
	ino, gen uint64
}

// event is what a side-band record says that concerns files.
type event struct {
	typ   abi.RecordType
	mmap  abi.Mmap
	first bool // map of this file
	task  abi.Task
}

const kernelName = "[kernel.kallsyms]"

// newBuildIDs reads build ids of what a side-band with these attributes tells,
// and shows maps and processes to a keeper too, which may be nil.
func newBuildIDs(sideband *abi.Attr, keeper *symbolize.Keeper) *buildIDs {
	b := &buildIDs{
		layout: abi.NewLayout(sideband, abi.LittleEndian),
		seen:   map[mappedFile]bool{},
		keeper: keeper,
		done:   make(chan struct{}),
	}
	b.wake = sync.NewCond(&b.mu)
	go b.work()
	return b
}

// take looks at a side-band record. It does not wait for files.
func (b *buildIDs) take(rec []byte) {
	h := abi.DecodeHeader(rec, abi.LittleEndian)
	e := event{typ: h.Type}
	var err error
	switch payload := rec[abi.HeaderSize:]; h.Type {
	case abi.RecordMmap, abi.RecordMmap2:
		if e.mmap, err = b.layout.DecodeMmap(h, payload); err != nil {
			return
		}
		f := mappedFile{e.mmap.File, e.mmap.Maj, e.mmap.Min, e.mmap.Ino, e.mmap.InoGen}
		e.first = !b.seen[f]
		b.seen[f] = true
		if !e.first && b.keeper == nil {
			return
		}
	case abi.RecordFork, abi.RecordExit:
		if b.keeper == nil {
			return
		}
		if e.task, err = b.layout.DecodeTask(payload); err != nil || e.task.PID != e.task.TID {
			return
		}
	case abi.RecordComm:
		if b.keeper == nil {
			return
		}
		c, err := b.layout.DecodeComm(h, payload)
		if err != nil || !c.Exec {
			return
		}
		e.task.PID = c.PID
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, e)
	b.wake.Signal()
}

// work reads the files in the order in which they were seen.
func (b *buildIDs) work() {
	defer close(b.done)
	for {
		b.mu.Lock()
		for len(b.queue) == 0 && !b.over {
			b.wake.Wait()
		}
		queue := b.queue
		b.queue = nil
		b.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for i := range queue {
			e := &queue[i]
			switch e.typ {
			case abi.RecordFork:
				b.keeper.Forked(int(e.task.PID), int(e.task.PPID))
			case abi.RecordComm:
				b.keeper.Executed(int(e.task.PID))
			case abi.RecordExit:
				b.keeper.Exited(int(e.task.PID))
			default:
				b.keep(&e.mmap)
				if e.first {
					b.add(&e.mmap)
				}
			}
		}
	}
}

// keep shows a map to the keeper.
func (b *buildIDs) keep(m *abi.Mmap) {
	if b.keeper == nil || m.PID <= 0 {
		return
	}
	path, deleted := strings.CutSuffix(m.File, " (deleted)")
	b.keeper.Mapped(symbolize.Map{
		PID: int(m.PID), Start: m.Addr, Limit: m.Addr + m.Len, Path: path, Deleted: deleted,
		Major: m.Maj, Minor: m.Min, Inode: m.Ino, Generation: m.InoGen,
	})
}

func (b *buildIDs) add(m *abi.Mmap) {
	id := record.BuildID(m)
	if id == nil {
		return
	}
	e := perfdata.BuildID{Misc: abi.MiscUser, PID: -1, ID: id, Name: m.File}
	if m.PID == -1 {
		e.Misc = abi.MiscKernel
		if strings.HasPrefix(e.Name, kernelName) {
			e.Name = kernelName // without the symbol that its address is of
		}
	}
	b.list = append(b.list, e)
}

// all waits for the last file and returns the build ids. Nothing may be taken
// after.
func (b *buildIDs) all() []perfdata.BuildID {
	b.mu.Lock()
	b.over = true
	b.wake.Signal()
	b.mu.Unlock()
	<-b.done
	return b.list
}
