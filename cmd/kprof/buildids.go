package main

import (
	"strings"
	"sync"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/record"
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

	mu    sync.Mutex
	queue []abi.Mmap
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

const kernelName = "[kernel.kallsyms]"

func newBuildIDs(sideband *abi.Attr) *buildIDs {
	b := &buildIDs{
		layout: abi.NewLayout(sideband, abi.LittleEndian),
		seen:   map[mappedFile]bool{},
		done:   make(chan struct{}),
	}
	b.wake = sync.NewCond(&b.mu)
	go b.work()
	return b
}

// take looks at a side-band record. It does not wait for files.
func (b *buildIDs) take(rec []byte) {
	h := abi.DecodeHeader(rec, abi.LittleEndian)
	if h.Type != abi.RecordMmap && h.Type != abi.RecordMmap2 {
		return
	}
	m, err := b.layout.DecodeMmap(h, rec[abi.HeaderSize:])
	if err != nil {
		return
	}
	f := mappedFile{m.File, m.Maj, m.Min, m.Ino, m.InoGen}
	if b.seen[f] {
		return
	}
	b.seen[f] = true
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, m)
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
			b.add(&queue[i])
		}
	}
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
