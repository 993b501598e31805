package symbolize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"kprof/symbolize/process"
	"kprof/symbolize/regular"
)

// maxPerfMap bounds how much of a perf map is read: a process may append to its
// own for ever.
const maxPerfMap = 1 << 30

// A perf map names code that a process made at run time, as it wrote itself:
// lines "start size name", the numbers hexadecimal. It is what perf reads from
// /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt).

// readPerfMap names addrs. Where ranges overlap the later line counts: the
// process has put new code in the place of old. Lines that are no entries are
// left out, as perf does, and so is a last line without its end, which the
// process may be writing now, and one longer than any name (64 KB). entries is how
// many there are.
func readPerfMap(ctx context.Context, r io.ReaderAt, addrs []uint64, b *budget) (t *suppliedTable, entries int, err error) {
	c := newCover(addrs)
	w := newWindow(ctx, io.NewSectionReader(r, 0, maxPerfMap))
	long := false // in a line that is too long
	for {
		i := bytes.IndexByte(w.data, '\n')
		if i < 0 {
			if len(w.data) == len(w.buf) {
				long = true
				w.skip(uint64(len(w.data)))
			}
			if !w.fill() {
				break
			}
			continue
		}
		if start, end, _, ok := perfMapLine(w.data[:i]); ok && !long {
			entries++
			c.add(start, end, mark{at: uint64(w.off) + 1})
		}
		long = false
		w.skip(uint64(i) + 1)
	}
	if w.err != io.EOF {
		return nil, 0, w.err
	}
	t = &suppliedTable{addrs: c.addrs, frames: make([]Frame, len(c.addrs))}
	return t, entries, perfMapNames(ctx, r, c, t, b)
}

// perfMapNames reads the names of the lines that c has found.
func perfMapNames(ctx context.Context, r io.ReaderAt, c *cover, t *suppliedTable, b *budget) error {
	names := map[uint64]string{} // by where its line is
	line := make([]byte, windowSize)
	for i, addr := range c.addrs {
		m, ok := c.top(i)
		if !ok {
			continue
		}
		name, known := names[m.at]
		if !known {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := readAt(r, line[:512], int64(m.at)-1)
			end := bytes.IndexByte(line[:n], '\n')
			if end < 0 && err == nil {
				n, err = readAt(r, line, int64(m.at)-1)
				end = bytes.IndexByte(line[:n], '\n')
			}
			if err != nil && err != io.EOF {
				return err
			}
			// It may have been written over meanwhile.
			if start, limit, text, ok := perfMapLine(line[:max(end, 0)]); ok && start <= addr && addr < limit {
				if !b.take(len(text)) {
					return ErrTooMuch
				}
				name = string(text)
			}
			names[m.at] = name
		}
		t.frames[i] = Frame{Name: name, SystemName: name}
	}
	return nil
}

// readAt is r.ReadAt, with io.EOF for none of the bytes only.
func readAt(r io.ReaderAt, b []byte, off int64) (int, error) {
	n, err := r.ReadAt(b, off)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// perfMapLine reads one line without its newline.
func perfMapLine(line []byte) (start, end uint64, name []byte, ok bool) {
	start, rest, ok1 := cutHex(line)
	size, name, ok2 := cutHex(rest)
	end = start + size
	if !ok1 || !ok2 || len(name) == 0 || end <= start {
		return 0, 0, nil, false
	}
	return start, end, name, true
}

// cutHex reads a hexadecimal number, with 0x in front or without, and the blank
// behind it.
func cutHex(b []byte) (v uint64, rest []byte, ok bool) {
	if len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		b = b[2:]
	}
	for i, c := range b {
		var digit byte
		switch {
		case '0' <= c && c <= '9':
			digit = c - '0'
		case 'a' <= c && c <= 'f':
			digit = c - 'a' + 10
		case 'A' <= c && c <= 'F':
			digit = c - 'A' + 10
		default:
			return v, b[min(i+1, len(b)):], c == ' ' && i > 0
		}
		if v > math.MaxUint64>>4 {
			return 0, nil, false
		}
		v = v<<4 | uint64(digit)
	}
	return 0, nil, false
}

var errEmptyMap = errors.New("no entries")

// perfMap names addresses of the process of m by its perf map: in the file system and
// under the number that the process itself knows, or knew when it was seen last, then in
// this machine's /tmp.
func (s *Symbolizer) perfMap(ctx context.Context, m Mapping, addrs []uint64) (Table, error) {
	if m.PID <= 0 {
		return nil, fmt.Errorf("%w: process unknown", ErrNoSymbols)
	}
	if s.opts.Foreign && s.opts.Root == "" {
		return nil, s.errForeign()
	}
	may := s.ownerOf(m.PID)
	var places []place
	if s.opts.Root == "" {
		if p, err := process.Open(m.PID); err == nil {
			defer p.Close()
			// The owner of what is in its file system is that of this very process.
			may = process.Owner{Known: true, UID: p.UID}
			places = append(places, perfMapPlace(p.Path("root"), p.InnerPID))
		}
		if s.opts.Retained != nil && !s.opts.Foreign {
			if root, inner, ok := s.opts.Retained.RootOf(m.PID); ok {
				places = append(places, perfMapPlace(root, inner))
			}
		}
	}
	places = append(places, perfMapPlace(s.opts.Root, m.PID))
	var why error
	for i, p := range places {
		may.OrRoot = i == len(places)-1 // where jmaps and perf-map-agent's users give them to root
		t, err := s.perfMapAt(ctx, p, may, addrs)
		if t != nil {
			return t, err
		}
		why = moreTelling(why, err)
	}
	return nil, why
}

// perfMapPlace is where a process leaves its perf map below a root directory, by the number
// that it knows itself.
func perfMapPlace(root string, pid int) place {
	return place{root: root, path: fmt.Sprintf("/tmp/perf-%d.map", pid)}
}

// perfMapAt reads the perf map at p if it is of who may write it: anyone may put a
// file into /tmp.
func (s *Symbolizer) perfMapAt(ctx context.Context, p place, may process.Owner, addrs []uint64) (Table, error) {
	f, _, err := regular.OpenWith(p.path, regular.Options{Root: p.root, NoSymlinks: true, Check: may.Check})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, entries, err := readPerfMap(ctx, f, slices.Clone(addrs), &s.supplied)
	switch {
	case err != nil && t == nil:
		return nil, fmt.Errorf("read %s: %w", p.path, err)
	case err != nil:
		return t, fmt.Errorf("%s: %w", p.path, err)
	case entries == 0:
		return nil, fmt.Errorf("%s: %w", p.path, errEmptyMap)
	}
	return t, nil
}
