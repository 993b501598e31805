package symbolize

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"kprof/symbolize/mapping"
)

// jitDump is the code that a process made at run time, as it wrote itself into
// jit-PID.dump: its bytes, names, where it was put and when, the lines it comes
// from (tools/perf/Documentation/jitdump-specification.txt).
//
// Code is known by the offset of its bytes in the file, as that of any program. The
// file is read anew at each need, and only what is asked for is kept.
type jitDump struct {
	r     io.ReaderAt
	order binary.ByteOrder
	first uint64 // offset of the first record
	arch  bool   // times are of a clock of the processor
	ahead uint64 // bytes that addresses of lines are ahead of the code
}

// Limits on what a record may say.
const (
	maxJITPayload = 64 << 20 // without code
	maxJITName    = 1 << 15
)

const (
	jitMagic      = "JiTD" // in the byte order of the process
	jitHeaderSize = 40
	jitPrefixSize = 16

	jitLoad  = 0
	jitMove  = 1
	jitDebug = 2
	jitClose = 3

	jitLoadFixed  = 40 // bytes of a load before the name
	jitMoveFixed  = 48
	jitDebugFixed = 16
)

var (
	errNotJITDump = errors.New("not a jitdump")
	errJITShort   = errors.New("too short for what it says")
)

// isJITDump reports whether a file that begins with b is one.
func isJITDump(b []byte) bool {
	return len(b) >= 4 && (string(b[:4]) == jitMagic || string(b[:4]) == "DTiJ")
}

// openJITDump reads the header: magic u32, version u32, size u32, machine u32, pad
// u32, pid u32, time u64, flags u64.
func openJITDump(r io.ReaderAt) (*jitDump, error) {
	var b [jitHeaderSize]byte
	if n, _ := r.ReadAt(b[:], 0); n < len(b) || !isJITDump(b[:]) {
		return nil, errNotJITDump
	}
	d := &jitDump{r: r, order: binary.LittleEndian}
	if string(b[:4]) == jitMagic {
		d.order = binary.BigEndian
	}
	if v := d.order.Uint32(b[4:]); v != 1 {
		return nil, fmt.Errorf("jitdump version %d, only 1 is known", v)
	}
	size := d.order.Uint32(b[8:])
	if size < jitHeaderSize || size > maxJITPayload {
		return nil, fmt.Errorf("jitdump header of %d bytes", size)
	}
	const archTimestamp = 1
	d.arch = d.order.Uint64(b[32:])&archTimestamp != 0
	d.first = uint64(size)
	d.ahead = linesAhead(d.order.Uint32(b[12:]), d.order.Uint32(b[16:]))
	return d, nil
}

// linesAhead returns how many bytes a dump has addresses of lines ahead of the code. V8 adds what an ELF
// header takes, as perf inject would put the code behind one (V8's perf-jit.cc, LogWriteDebugInfo), and
// has a padding of its own in the dump's header.
func linesAhead(machine, pad uint32) uint64 {
	const v8 = 0xdeadbeef
	const elf32, elf64 = 0x34, 0x40
	switch {
	case pad != v8:
		return 0
	case machine == uint32(elf.EM_386) || machine == uint32(elf.EM_ARM):
		return elf32
	}
	return elf64
}

// jitCode is a load or a move: code that is put into memory.
type jitCode struct {
	at          uint64 // offset of the record
	move        bool
	time, index uint64
	addr, size  uint64 // in memory

	// Of a load:
	offset uint64 // of its bytes in the file
	name   uint64 // bytes before them, at nameAt
	lines  uint64 // offset of the record with its lines, 0 for none
}

func (c *jitCode) nameAt() int64 { return int64(c.at + jitPrefixSize + jitLoadFixed) }

// jitFixed is what is fixed of a record's payload.
func jitFixed(id uint32) uint64 {
	switch id {
	case jitLoad:
		return jitLoadFixed
	case jitMove:
		return jitMoveFixed
	case jitDebug:
		return jitDebugFixed
	}
	return 0 // unwinding information, and what is new
}

// codes calls f for all code in the order of the file. A record at the end that is
// not complete, since the process may be writing it, is left out; of one that is
// malformed the error tells, after all before it.
func (d *jitDump) codes(ctx context.Context, f func(c *jitCode) error) error {
	w := newWindow(ctx, d.r)
	w.skip(d.first)
	var lines, linesAddr uint64 // of the next code
	for w.need(jitPrefixSize) {
		at := uint64(w.off)
		id, size, time := d.order.Uint32(w.data), uint64(d.order.Uint32(w.data[4:])), d.order.Uint64(w.data[8:])
		malformed := func(err error) error { return fmt.Errorf("jitdump record at byte %d: %w", at, err) }
		if size < jitPrefixSize {
			return malformed(fmt.Errorf("%d bytes long", size))
		}
		if id == jitClose {
			return nil
		}
		payload := size - jitPrefixSize
		fixed := jitFixed(id)
		if payload < fixed {
			return malformed(errJITShort)
		}
		if !w.need(int(jitPrefixSize + fixed)) {
			break
		}
		b := w.data[jitPrefixSize:]
		c := jitCode{at: at, time: time}
		switch id {
		case jitLoad:
			// pid u32, tid u32, vma u64, address u64, size u64, index u64, name with a
			// zero, the code.
			c.addr, c.size, c.index = d.order.Uint64(b[16:]), d.order.Uint64(b[24:]), d.order.Uint64(b[32:])
			if c.size > payload-fixed || c.addr+c.size < c.addr {
				return malformed(errJITShort)
			}
			c.name = payload - fixed - c.size
			c.offset = uint64(c.nameAt()) + c.name
			if lines != 0 && linesAddr == c.addr {
				c.lines = lines
			}
			lines = 0
		case jitMove:
			// pid u32, tid u32, vma u64, old address u64, new address u64, size u64,
			// index u64.
			c.move = true
			c.addr, c.size, c.index = d.order.Uint64(b[24:]), d.order.Uint64(b[32:]), d.order.Uint64(b[40:])
			if c.addr+c.size < c.addr {
				c.size = 0
			}
		case jitDebug:
			lines, linesAddr = at, d.order.Uint64(b)
			if n := d.order.Uint64(b[8:]); payload > maxJITPayload || n > (payload-fixed)/17 {
				return malformed(errJITShort)
			}
		}
		if !w.holds(size) {
			break
		}
		if id == jitLoad || id == jitMove {
			if err := f(&c); err != nil {
				return err
			}
		}
		w.skip(size)
	}
	if w.err == io.EOF {
		return nil
	}
	return w.err
}

// holds reports whether the file has n bytes more.
func (w *window) holds(n uint64) bool {
	if n <= uint64(len(w.data)) || n == 0 {
		return true
	}
	var last [1]byte
	got, err := w.r.ReadAt(last[:], w.off+int64(n)-1)
	if got == 0 {
		w.err = err
	}
	return got == 1
}

// byOffset names code at offsets of the file.
func (d *jitDump) byOffset(ctx context.Context, offsets []uint64, b *budget) (*suppliedTable, error) {
	c := newCover(offsets)
	why := d.codes(ctx, func(code *jitCode) error {
		if !code.move {
			c.add(code.offset, code.offset+code.size, mark{at: code.at + 1, extra: code.lines})
		}
		return nil
	})
	found := make([]jitFound, 0, len(c.addrs))
	for i, off := range c.addrs {
		if m, ok := c.top(i); ok {
			found = append(found, jitFound{i: i, code: m.at - 1, lines: m.extra, at: off, byOffset: true})
		}
	}
	t, err := d.name(ctx, c.addrs, found, b)
	return t, errors.Join(why, err)
}

// byAddress names code by what was at addresses last.
func (d *jitDump) byAddress(ctx context.Context, addrs []uint64, b *budget) (*suppliedTable, error) {
	c := newCover(addrs)
	why := d.codes(ctx, func(code *jitCode) error {
		m := mark{time: code.time, at: (code.at + 1) << 1, extra: code.lines}
		if code.move {
			m.at |= 1
		}
		c.add(code.addr, code.addr+code.size, m)
		return nil
	})
	found := make([]jitFound, 0, len(c.addrs))
	var moves []jitMoved
	for i, addr := range c.addrs {
		m, ok := c.top(i)
		switch {
		case !ok:
		case m.at&1 != 0:
			moves = append(moves, jitMoved{i: i, at: m.at>>1 - 1})
		default:
			found = append(found, jitFound{i: i, code: m.at>>1 - 1, lines: m.extra, at: addr})
		}
	}
	if len(moves) > 0 {
		more, err := d.whatMoved(ctx, c.addrs, moves)
		found, why = append(found, more...), errors.Join(why, err)
	}
	t, err := d.name(ctx, c.addrs, found, b)
	return t, errors.Join(why, err)
}

// jitMoved is an address at which moved code is.
type jitMoved struct {
	i  int    // of the address
	at uint64 // of the move's record
}

// whatMoved finds the code that was moved: the last with the index before the move.
func (d *jitDump) whatMoved(ctx context.Context, addrs []uint64, moves []jitMoved) ([]jitFound, error) {
	byMove := map[uint64][]int{}
	for _, m := range moves {
		byMove[m.at] = append(byMove[m.at], m.i)
	}
	wanted := map[uint64]*jitCode{} // by index, what it was last
	if err := d.codes(ctx, func(c *jitCode) error {
		if c.move && byMove[c.at] != nil {
			wanted[c.index] = nil
		}
		return nil
	}); err != nil && len(wanted) == 0 {
		return nil, err
	}
	var found []jitFound
	d.codes(ctx, func(c *jitCode) error { // its errors are known
		was, ok := wanted[c.index]
		switch {
		case !ok:
		case !c.move:
			code := *c
			wanted[c.index] = &code
		case was != nil:
			for _, i := range byMove[c.at] {
				found = append(found, jitFound{i: i, code: was.at, lines: was.lines, at: addrs[i] - c.addr + was.offset, byOffset: true})
			}
		}
		return nil
	})
	return found, nil
}

// JITCode is code that a process put into memory, as its dump says.
type JITCode struct {
	Time         uint64 // in ns of CLOCK_MONOTONIC, unless the dump has another clock
	Start, Limit uint64 // run-time addresses
	Offset       uint64 // of its bytes in the dump
}

// placedShare is how much more than for names there is for JITCode: by default for 2 million
// functions.
const placedShare = 2

// jitCodeCost is what an element of JITCode costs, with what its reader makes of it.
const jitCodeCost = 64

// placed returns all code in the order of time, or what of it the budget allows.
func (d *jitDump) placed(ctx context.Context, b *budget) []JITCode {
	moved := map[uint64]*jitCode{} // by index
	d.codes(ctx, func(c *jitCode) error {
		if c.move {
			if _, ok := moved[c.index]; !ok && !b.take(jitCodeCost) {
				return ErrTooMuch
			}
			moved[c.index] = nil
		}
		return nil
	})
	var codes []JITCode
	d.codes(ctx, func(c *jitCode) error { // what is wrong is told with names
		of := c
		if was, ok := moved[c.index]; c.move {
			if of = was; of == nil {
				return nil
			}
		} else if ok {
			code := *c
			moved[c.index] = &code
		}
		if !b.take(jitCodeCost) {
			return ErrTooMuch
		}
		codes = append(codes, JITCode{c.time, c.addr, max(c.addr, c.addr+of.size), of.offset})
		return nil
	})
	slices.SortStableFunc(codes, func(a, b JITCode) int { return cmp.Compare(a.Time, b.Time) })
	return codes
}

// JITCode returns what the dump at path says of the code that process pid made,
// in the order of time; nothing if it cannot be read, or if its times are those of
// a clock of the processor. Of more than placedShare times
// Options.SuppliedMemory it returns the beginning: what is missing is named by what was at its address last.
func (s *Symbolizer) JITCode(pid int, path string) []JITCode {
	if !s.enter() {
		return nil
	}
	defer s.leave()
	if code := s.opts.Recorded.code(pid, path); code != nil {
		return code
	}
	d, _ := s.jitDump(pid, path)
	if d == nil || d.arch {
		return nil
	}
	code := d.placed(context.Background(), &s.placed)
	s.opts.Keep.keepCode(pid, path, code)
	return code
}

// AddJITDump says that process pid writes what code it makes to the file at path.
// It names its memory from now on.
func (s *Symbolizer) AddJITDump(pid int, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dumps == nil {
		s.dumps = map[int]string{}
	}
	s.dumps[pid] = path
}

// jitDump finds a dump, which is a file that the process has mapped.
func (s *Symbolizer) jitDump(pid int, path string) (*jitDump, error) {
	t, err := s.userFile(Mapping{Kind: mapping.User, File: path, PID: pid})
	if t == nil {
		return nil, err
	}
	if t.jit == nil {
		return nil, errNotJITDump
	}
	return t.jit, err
}

// anonTable finds what names the memory of the process of m: the dump that it was
// seen to write, and its perf map.
func (s *Symbolizer) anonTable(ctx context.Context, m Mapping, addrs []uint64) (Table, error) {
	s.mu.Lock()
	path := s.dumps[m.PID]
	s.mu.Unlock()
	if path == "" {
		return s.perfMap(ctx, m, addrs)
	}
	d, why := s.jitDump(m.PID, path)
	if d == nil {
		t, err := s.perfMap(ctx, m, addrs)
		if t == nil {
			err = moreTelling(why, err)
		}
		return t, err
	}
	names, why := d.byAddress(ctx, addrs, &s.supplied)
	if p, err := s.perfMap(ctx, m, addrs); p != nil {
		return both{names, p}, cmp.Or(why, err)
	}
	return names, why
}
