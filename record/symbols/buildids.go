package symbols

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/record/synth"
)

// BuildIDs reads the build ids of the files that a recording maps, each as soon
// as its first map is seen: later it may have been replaced. They go into the
// header of a perf.data file, for which perf reads its whole file a second time,
// or straight into a profile.
//
// The kernel would put them into the records, but a recorder that asks for that
// makes every other perf on the machine take maps for what they are not, and
// abort: see the side-band in perfevent.
type BuildIDs struct {
	layout abi.Layout
	files  *FileRetainer // of the files themselves, nil for none

	mu    sync.Mutex
	seen  map[mappedFile]int // the turn in which a file was mapped last
	turn  int
	queue []fileEvent
	wake  *sync.Cond // signalled when queue or over changes
	over  bool
	done  chan struct{} // closed when the queue has been worked off
	list  []fileBuildID

	unsettled bool          // something was taken since the last Settle
	settled   chan struct{} // of the last Settle, closed when what it waits for is done
}

// mappedFile tells files apart.
type mappedFile struct {
	name     string
	maj, min uint32
	ino, gen uint64
}

// fileBuildID is the build id of a file.
type fileBuildID struct {
	perfdata.BuildID
	file mappedFile
}

func fileOf(m *abi.Mmap) mappedFile { return mappedFile{m.File, m.Maj, m.Min, m.Ino, m.InoGen} }

// fileEvent is what a side-band record says that concerns files.
type fileEvent struct {
	typ   abi.RecordType
	mmap  abi.Mmap
	first bool // map of this file
	task  abi.Task

	done chan struct{} // to be closed, and nothing else: see Settle and SoFar
	turn bool          // nothing else: see Turn
}

const kernelName = "[kernel.kallsyms]"

// NewBuildIDs reads build ids of what a side-band with these attributes reports,
// and reports maps and processes to files too, which may be nil. A goroutine does so, which All or
// Close ends.
func NewBuildIDs(sideband *abi.Attr, files *FileRetainer) *BuildIDs {
	b := &BuildIDs{
		layout: abi.NewLayout(sideband, abi.LittleEndian),
		seen:   map[mappedFile]int{},
		files:  files,
		done:   make(chan struct{}),
	}
	b.wake = sync.NewCond(&b.mu)
	go b.work()
	return b
}

// keptTurns is for how many turns what was mapped is kept: while one is recorded, the
// profile of the one before may be made.
const keptTurns = 2

// Turn says that from now on Take is given, beside what happens, all that is mapped by
// now. What was mapped before the last turns and is not any more is forgotten, so that
// what is kept of a recording without end grows with what runs and not with what ran.
func (b *BuildIDs) Turn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	maps.DeleteFunc(b.seen, func(_ mappedFile, turn int) bool { return turn < b.turn-keptTurns })
	b.list = slices.DeleteFunc(b.list, func(id fileBuildID) bool {
		_, kept := b.seen[id.file]
		return !kept
	})
	if b.files != nil && !b.over {
		b.queue = append(b.queue, fileEvent{turn: true})
		b.wake.Signal()
	}
}

// Take looks at a side-band record. It does not wait for files. It may be called by several
// goroutines.
func (b *BuildIDs) Take(rec []byte) {
	h := abi.DecodeHeader(rec, abi.LittleEndian)
	e := fileEvent{typ: h.Type}
	var err error
	switch payload := rec[abi.HeaderSize:]; h.Type {
	case abi.RecordMmap, abi.RecordMmap2:
		if h.Misc&abi.MiscMmapData != 0 {
			return // no code
		}
		if e.mmap, err = b.layout.DecodeMmap(h, payload); err != nil {
			return
		}
		f := fileOf(&e.mmap)
		b.mu.Lock()
		_, known := b.seen[f]
		b.seen[f] = b.turn
		b.mu.Unlock()
		if e.first = !known; known && b.files == nil {
			return
		}
	case abi.RecordFork, abi.RecordExit:
		if b.files == nil {
			return
		}
		if e.task, err = b.layout.DecodeTask(payload); err != nil || e.task.PID != e.task.TID {
			return
		}
	case abi.RecordComm:
		if b.files == nil {
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
	b.unsettled = true
	b.wake.Signal()
}

// Settle waits until the files of all that was taken have been looked at, but not for
// longer than limit: a file that does not answer is waited for once. It may be called by
// another goroutine than Take.
func (b *BuildIDs) Settle(limit time.Duration) {
	b.mu.Lock()
	if b.settled != nil {
		select {
		case <-b.settled:
		default: // it was waited for
			b.mu.Unlock()
			return
		}
	}
	if !b.unsettled || b.over {
		b.mu.Unlock()
		return
	}
	done := make(chan struct{})
	b.settled, b.unsettled = done, false
	b.queue = append(b.queue, fileEvent{done: done})
	b.wake.Signal()
	b.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// work reads the files in the order in which they were seen.
func (b *BuildIDs) work() {
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
			if e.done != nil {
				close(e.done)
				continue
			}
			if e.turn {
				b.files.turnOver()
				continue
			}
			switch e.typ {
			case abi.RecordFork:
				b.files.Forked(int(e.task.PID), int(e.task.PPID))
			case abi.RecordComm:
				b.files.Executed(int(e.task.PID))
			case abi.RecordExit:
				b.files.Exited(int(e.task.PID))
			default:
				b.keep(&e.mmap)
				if e.first {
					b.add(&e.mmap)
				}
			}
		}
	}
}

// keep reports a map to the retainer.
func (b *BuildIDs) keep(m *abi.Mmap) {
	if b.files == nil || m.PID <= 0 {
		return
	}
	path, deleted := strings.CutSuffix(m.File, " (deleted)")
	b.files.Mapped(Map{
		PID: int(m.PID), Start: m.Addr, Limit: m.Addr + m.Len, Path: path, Deleted: deleted,
		Major: m.Maj, Minor: m.Min, Inode: m.Ino, Generation: m.InoGen,
	})
}

func (b *BuildIDs) add(m *abi.Mmap) {
	id := synth.BuildID(m)
	if id == nil {
		return
	}
	e := fileBuildID{perfdata.BuildID{Misc: abi.MiscUser, PID: -1, ID: id, Name: m.File}, fileOf(m)}
	if m.PID == -1 {
		e.Misc = abi.MiscKernel
		if strings.HasPrefix(e.Name, kernelName) {
			e.Name = kernelName // without the symbol that its address is of
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, e)
}

// All waits for the last file and returns the build ids. Nothing may be taken after.
// A file that does not answer is not waited for once ctx is done: then the error is
// the cause, and some build ids are missing.
func (b *BuildIDs) All(ctx context.Context) ([]perfdata.BuildID, error) {
	b.mu.Lock()
	b.over = true
	b.wake.Signal()
	b.mu.Unlock()
	return b.when(ctx, b.done)
}

// Close ends what reads the files, where nobody has waited for All: what it has not come to is not
// read. It does not wait for a file that does not answer.
func (b *BuildIDs) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.queue {
		if e.done != nil {
			close(e.done)
		}
	}
	b.queue, b.over = nil, true
	b.wake.Signal()
}

// SoFar returns what All does, of a recording that goes on: the build ids of what was
// taken before.
func (b *BuildIDs) SoFar(ctx context.Context) ([]perfdata.BuildID, error) {
	b.mu.Lock()
	done := b.done
	if !b.over {
		done = make(chan struct{})
		b.queue = append(b.queue, fileEvent{done: done})
		b.wake.Signal()
	}
	b.mu.Unlock()
	return b.when(ctx, done)
}

// when waits for done, or until ctx is done, and returns what there is then.
func (b *BuildIDs) when(ctx context.Context, done <-chan struct{}) (list []perfdata.BuildID, err error) {
	select {
	case <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.list {
		list = append(list, b.list[i].BuildID)
	}
	return list, err
}
