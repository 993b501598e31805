package marker

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/ringpage"
	"kprof/perfevent/tracefs"
)

// names are those of the events, of the system ftrace. Older kernels lack some.
var names = []string{"print", "bprint", "bputs", "raw_data"}

// firstID is that of the first event. The kernel counts its own from 1 on.
const firstID = 1 << 62

// sampleFields are those of the samples.
const sampleFields = abi.SampleIdentifier | abi.SampleTID | abi.SampleTime | abi.SampleCPU | abi.SampleRaw

// native: both supported architectures are little-endian.
const native = abi.LittleEndian

// Reader reads the rings of all CPUs.
type Reader struct {
	events []abi.Event
	ids    map[uint64]uint64 // of an event, by its common_type
	layout ringpage.Layout
	typ    *format.Field // common_type
	tid    *format.Field // common_pid
	rings  []ring
	offset uint64 // from the tracer's clock to perf's
	tasks  tasks

	page  ringpage.Page
	buf   []byte // a page
	rec   []byte // that is made
	stats Stats
}

// ring is the ring of a CPU.
type ring struct {
	cpu int32
	f   *os.File
	fd  int
}

// Stats count what a Reader has read.
type Stats struct {
	Samples uint64
	Lost    uint64 // overwritten before they were read, at least
	Others  uint64 // events of other tracers in the same buffer, which were passed over
}

// Open opens the rings of the tracefs at fs, for a session whose other events have
// attributes like a. names says that records are wanted of the names of tasks, from
// /proc: of a session that does not learn those of the whole machine. What is in the rings
// already is read too.
//
// The error is perfevent.ErrNotSupported where the tracer's clock does not count ns.
func Open(fs *tracefs.FS, a *abi.Attr, names bool) (_ *Reader, err error) {
	r := &Reader{ids: map[uint64]uint64{}, tasks: newTasks(names)}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if err := r.describe(fs); err != nil {
		return nil, err
	}
	if err := expand(filepath.Join(fs.Path(), "buffer_size_kb")); err != nil {
		return nil, err
	}
	if err := r.openRings(filepath.Join(fs.Path(), "per_cpu")); err != nil {
		return nil, err
	}
	return r, r.compareClocks(fs.Path(), a)
}

// describe finds the events, and how the pages are laid out.
func (r *Reader) describe(fs *tracefs.FS) error {
	header, err := os.ReadFile(filepath.Join(fs.Path(), "events/header_page"))
	if err != nil {
		return err
	}
	if r.layout, err = ringpage.ParseHeaderPage(string(header), native); err != nil {
		return err
	}
	r.buf = make([]byte, r.layout.Size)
	for i, name := range names {
		tp := tracefs.Event{System: "ftrace", Name: name}
		text, err := fs.Format(tp)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		f, err := format.Parse(string(text), format.Machine{})
		if err != nil {
			return err
		}
		id := firstID + uint64(i)
		r.typ, r.tid, r.ids[f.ID] = f.Field("common_type"), f.Field("common_pid"), id
		r.events = append(r.events, abi.Event{Name: tp.String(), IDs: []uint64{id}, Attr: abi.Attr{
			Type: abi.TypeTracepoint, Size: abi.AttrSizeVer8, Config: f.ID, SamplePeriod: 1,
			SampleType: sampleFields, Flags: abi.FlagSampleIDAll,
		}})
	}
	if r.typ == nil || r.tid == nil {
		return fmt.Errorf("%w: this kernel has no tracer that takes trace_marker", perfevent.ErrNotSupported)
	}
	return nil
}

// expand gives rings that nobody has used their size. Until a tracer or an event is used for
// the first time they have a page or two, and writing to trace_marker does not change that
// (kernel/trace/trace.c, tracing_entries_read and tracing_update_buffers). Who may not change
// them reads what fits: the rest is counted as lost.
func expand(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, size, small := strings.Cut(string(text), "(expanded: ")
	if !small {
		return nil
	}
	size, _, _ = strings.Cut(size, ")")
	if err := os.WriteFile(path, []byte(size), 0); err != nil && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil
}

// openRings opens the ring of each CPU.
func (r *Reader) openRings(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, _ := strings.CutPrefix(e.Name(), "cpu")
		cpu, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			continue
		}
		// Go would wait for it with epoll, which this file knows, and answers by
		// watermarks.
		path := filepath.Join(dir, e.Name(), "trace_pipe_raw")
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
		r.rings = append(r.rings, ring{int32(cpu), os.NewFile(uintptr(fd), path), fd})
	}
	return nil
}

// compareClocks finds what to add to the tracer's times. What its clock shows is in the
// rings' statistics, in microseconds.
func (r *Reader) compareClocks(dir string, a *abi.Attr) error {
	text, err := os.ReadFile(filepath.Join(dir, "trace_clock"))
	if err != nil {
		return err
	}
	name := ringpage.ChosenClock(string(text))
	if !ringpage.CountsNanoseconds(name) {
		return fmt.Errorf("%w: the tracer's clock is %q, which does not count time; write another into %s", perfevent.ErrNotSupported, name, filepath.Join(dir, "trace_clock"))
	}
	clock, err := perfevent.NewClock(a)
	if err != nil {
		return err
	}
	stats, err := os.Open(filepath.Join(dir, "per_cpu", fmt.Sprintf("cpu%d", r.rings[0].cpu), "stats"))
	if err != nil {
		return err
	}
	defer stats.Close()
	const tries = 20 // one takes microseconds, but on a busy machine much may come between
	least := uint64(math.MaxUint64)
	buf := make([]byte, 4096)
	for range tries {
		before := clock.Now()
		n, err := stats.ReadAt(buf, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		after := clock.Now()
		now, ok := timeOfStats(string(buf[:n]))
		if !ok {
			return fmt.Errorf("%w: this kernel's tracer does not tell its time", perfevent.ErrNotSupported)
		}
		if after-before < least {
			least, r.offset = after-before, before+(after-before)/2-now
		}
	}
	return nil
}

// timeOfStats is the "now ts" in the statistics of a ring, in ns (kernel/trace/trace.c,
// tracing_stats_read).
func timeOfStats(text string) (uint64, bool) {
	_, rest, ok := strings.Cut(text, "\nnow ts:")
	line, _, _ := strings.Cut(rest, "\n")
	seconds, micros, dot := strings.Cut(strings.TrimSpace(line), ".")
	s, err := strconv.ParseUint(seconds, 10, 32)
	us, err2 := strconv.ParseUint(micros, 10, 32)
	return s*1e9 + us*1e3, ok && dot && len(micros) == 6 && err == nil && err2 == nil
}

// Events are those whose samples Drain makes.
func (r *Reader) Events() []abi.Event { return r.events }

// Stats counts what has been read.
func (r *Reader) Stats() Stats { return r.stats }

// maxPages bounds what is read of a ring at once: somebody who writes without end shall not
// keep the others from being read.
const maxPages = 1 << 10

// Drain reads what is in the rings, and calls write with one record at a time: a SAMPLE, a
// LOST before it where some were overwritten, a COMM for a task that is new.
func (r *Reader) Drain(write func(record []byte) error) error {
	r.tasks.forget()
	for i := range r.rings {
		g := &r.rings[i]
		for range maxPages {
			n, err := unix.Read(g.fd, r.buf)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if n <= 0 && (err == nil || tracefs.Emptied(err)) {
				break
			} else if err != nil {
				return &os.PathError{Op: "read", Path: g.f.Name(), Err: err}
			}
			if err := r.readPage(g, r.buf[:n], write); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPage makes records of the events of a page.
func (r *Reader) readPage(g *ring, page []byte, write func([]byte) error) error {
	if err := r.page.Load(&r.layout, page); err != nil {
		return fmt.Errorf("%s: %w", g.f.Name(), err)
	}
	lost := r.page.Lost
	if lost == ringpage.LostUnknown {
		lost = 1
	}
	if lost > 0 {
		r.stats.Lost += uint64(lost)
	}
	for {
		data, ok := r.page.Next()
		if !ok {
			break
		}
		typ, _ := r.typ.Uint(data)
		t := r.page.Time + r.offset
		if lost > 0 {
			if err := write(r.lost(uint64(lost), t, g.cpu)); err != nil {
				return err
			}
			lost = 0
		}
		id := r.ids[typ]
		if id == 0 {
			r.stats.Others++
			continue
		}
		tid, _ := r.tid.Uint(data)
		task, isNew := r.tasks.of(int32(tid))
		if isNew {
			if err := write(r.comm(task, t, g.cpu)); err != nil {
				return err
			}
		}
		r.stats.Samples++
		if err := write(r.sample(id, task, t, g.cpu, data)); err != nil {
			return err
		}
	}
	if err := r.page.Err(); err != nil {
		return fmt.Errorf("%s: %w", g.f.Name(), err)
	}
	return nil
}

// Close closes the rings.
func (r *Reader) Close() error {
	var errs []error
	for i := range r.rings {
		errs = append(errs, r.rings[i].f.Close())
	}
	r.rings = nil
	return errors.Join(errs...)
}
