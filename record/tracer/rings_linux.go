package tracer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/ringpage"
	"kprof/perfevent/tracefs"
)

// Pages takes the pages of the rings. Those of one CPU come one after the other, those of
// several at the same time.
type Pages interface {
	WritePage(cpu int, page []byte) error
}

// ring is the ring of a CPU.
type ring struct {
	cpu  int
	f    *os.File
	read func(buf []byte) (int, error) // what is there, without waiting: EAGAIN if it is nothing
	buf  []byte
}

// interval is how long a ring is left alone when it has been read.
const interval = 20 * time.Millisecond

// PageSize is the size of the pages, in bytes.
func (t *Tracer) PageSize() int { return t.size }

func (t *Tracer) openRings() error {
	text, err := os.ReadFile(t.in("events/header_page"))
	if err != nil {
		return err
	}
	layout, err := ringpage.ParseHeaderPage(string(text), abi.LittleEndian)
	if err != nil {
		return err
	}
	t.headerPage, t.size = string(text), layout.Size
	entries, err := os.ReadDir(t.in("per_cpu"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		number, _ := strings.CutPrefix(e.Name(), "cpu")
		cpu, err := strconv.Atoi(number)
		if err != nil || t.o.CPUs != nil && !slices.Contains(t.o.CPUs, cpu) {
			continue
		}
		path := filepath.Join(t.in("per_cpu"), e.Name(), "trace_pipe_raw")
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
		// File.Fd would make it wait.
		read := func(buf []byte) (int, error) { return unix.Read(fd, buf) }
		t.rings = append(t.rings, &ring{cpu, os.NewFile(uintptr(fd), path), read, make([]byte, t.size)})
	}
	slices.SortFunc(t.rings, func(a, b *ring) int { return a.cpu - b.cpu })
	if len(t.rings) == 0 {
		return fmt.Errorf("%s has no ring of these CPUs", t.in("per_cpu"))
	}
	return nil
}

// Stats count what was recorded.
type Stats struct {
	Events uint64
	Lost   uint64   // overwritten before they were read, or refused
	Rings  []string // of each CPU, the text of its statistics
}

// Run traces, an instance of somebody else as it does anyway, from when start has returned nil until ctx ends, and writes what the rings have
// then too. progress, which may be nil, is called with the pages so far now and then.
func (t *Tracer) Run(ctx context.Context, pages Pages, start func() error, progress func(pages uint64)) (Stats, error) {
	if !t.attached {
		if err := t.settings.set(t.in("tracing_on"), "1"); err != nil {
			return Stats{}, err
		}
	}
	before, err := t.stats()
	if err != nil {
		return Stats{}, err
	}
	var group sync.WaitGroup
	var read atomic.Uint64
	ctx, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	off := make(chan struct{})
	for _, r := range t.rings {
		group.Go(func() {
			if err := r.copy(pages, off, t.mostLeft(r), &read); err != nil {
				failed(err)
			}
		})
	}
	err = start()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			if progress != nil {
				progress(read.Load())
			}
		}
	}
	if !t.attached {
		err = errors.Join(err, write(t.in("tracing_on"), false, "0"))
	}
	close(off)
	group.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		err = errors.Join(err, cause)
	}
	stats, serr := t.stats()
	stats.Events, stats.Lost = stats.Events-before.Events, stats.Lost-before.Lost
	return stats, errors.Join(err, serr)
}

// copy copies pages until off is closed, and then what is left, up to some pages: what was
// written before off was closed is read after that.
func (r *ring) copy(pages Pages, off <-chan struct{}, left int, read *atomic.Uint64) error {
	for last := false; ; {
		for n := 0; !last || n < left; n++ {
			if !last {
				select {
				case <-off:
					last, n = true, 0
				default:
				}
			}
			size, err := r.read(r.buf)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if size <= 0 && (err == nil || tracefs.Emptied(err)) {
				break
			}
			if err != nil {
				return &os.PathError{Op: "read", Path: r.f.Name(), Err: err}
			}
			clear(r.buf[size:])
			if err := pages.WritePage(r.cpu, r.buf); err != nil {
				return err
			}
			read.Add(1)
		}
		if last {
			return nil
		}
		select {
		case <-off:
		case <-time.After(interval):
		}
	}
}

// stats reads what the kernel counts of the rings.
func (t *Tracer) stats() (s Stats, err error) {
	for _, r := range t.rings {
		text, rerr := os.ReadFile(filepath.Join(t.in("per_cpu"), "cpu"+strconv.Itoa(r.cpu), "stats"))
		if rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		s.Rings = append(s.Rings, fmt.Sprintf("CPU: %d\n%s", r.cpu, text))
		s.Events += count(string(text), "read events")
		s.Lost += count(string(text), "overrun") + count(string(text), "dropped events") + count(string(text), "commit overrun")
	}
	return s, err
}

// count is a number of a ring's statistics (kernel/trace/trace.c, tracing_stats_read).
func count(text, key string) uint64 {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok && name == key {
			n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}
