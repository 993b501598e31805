package symbolize

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"kprof/symbolize/internal/span"
)

// jitDump is the code that a process made at run time, as it wrote itself into
// jit-PID.dump: its bytes, names, where it was put and when, the lines it comes
// from (tools/perf/Documentation/jitdump-specification.txt).
//
// Code is known by the offset of its bytes in the file, as that of any program.
type jitDump struct {
	codes     []jitCode
	placed    []jitPlace  // by time, then as written
	byOffset  *span.Index // of codes
	byAddress *span.Index // of placed: what was there last
	names     string
	files     []string
	lines     []jitLine
	arch      bool // times are of a clock of the processor
}

// jitCode is one function.
type jitCode struct {
	offset, size uint64 // of its bytes in the file
	addr         uint64 // where it was put first, from which lines count
	name, length uint32 // in names
	first, last  uint32 // lines, the last not included
}

// jitPlace is code in memory.
type jitPlace struct {
	time, addr uint64
	code       int32
}

// jitLine says that code from addr on comes from a line.
type jitLine struct {
	addr uint64
	file uint32
	line int32
}

// Limits on what a dump may make us hold.
const (
	maxJITCodes   = 1 << 24
	maxJITNames   = 1 << 30
	maxJITLines   = 1 << 26
	maxJITPayload = 64 << 20 // of a record, without code
	maxJITName    = 1 << 16
)

const (
	jitMagic      = "JiTD" // in the byte order of the process
	jitHeaderSize = 40
	jitPrefixSize = 16

	jitLoad  = 0
	jitMove  = 1
	jitDebug = 2
	jitClose = 3
)

var errNotJITDump = errors.New("not a jitdump")

// isJITDump reports whether a file that begins with b is one.
func isJITDump(b []byte) bool {
	return len(b) >= 4 && (string(b[:4]) == jitMagic || string(b[:4]) == "DTiJ")
}

// jitReader reads records one after the other.
type jitReader struct {
	r     *bufio.Reader
	off   uint64
	order binary.ByteOrder
	dump  *jitDump

	names   []byte
	byIndex map[uint64]int32 // code by code_index
	fileIDs map[string]uint32
	pending []jitLine // of the next code
	of      uint64    // its address
}

// parseJITDump reads a dump. A record at the end that is not complete, since the
// process may be writing it, is left out; of one that is malformed the error
// tells, with all before it.
func parseJITDump(r io.Reader) (*jitDump, error) {
	j := &jitReader{
		r: bufio.NewReaderSize(r, 1<<16), dump: &jitDump{},
		byIndex: map[uint64]int32{}, fileIDs: map[string]uint32{},
	}
	if err := j.header(); err != nil {
		return nil, err
	}
	var err error
	for more := true; more && err == nil; {
		start := j.off
		if more, err = j.record(); err != nil {
			err = fmt.Errorf("jitdump record at byte %d: %w", start, err)
		}
	}
	return j.finish(), err
}

// header reads: magic u32, version u32, size u32, machine u32, pad u32, pid u32,
// time u64, flags u64.
func (j *jitReader) header() error {
	var b [jitHeaderSize]byte
	if _, err := io.ReadFull(j.r, b[:]); err != nil {
		return errNotJITDump
	}
	if !isJITDump(b[:]) {
		return errNotJITDump
	}
	j.order = binary.LittleEndian
	if string(b[:4]) == jitMagic {
		j.order = binary.BigEndian
	}
	if v := j.order.Uint32(b[4:]); v != 1 {
		return fmt.Errorf("jitdump version %d, only 1 is known", v)
	}
	size := j.order.Uint32(b[8:])
	if size < jitHeaderSize || size > maxJITPayload {
		return fmt.Errorf("jitdump header of %d bytes", size)
	}
	const archTimestamp = 1
	j.dump.arch = j.order.Uint64(b[32:])&archTimestamp != 0
	j.off = jitHeaderSize
	return j.discard(uint64(size) - jitHeaderSize)
}

func (j *jitReader) discard(n uint64) error {
	for n > 0 {
		k, err := j.r.Discard(int(min(n, math.MaxInt32)))
		j.off += uint64(k)
		n -= uint64(k)
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *jitReader) read(n uint64) ([]byte, error) {
	b := make([]byte, 0, min(n, 1<<12))
	for uint64(len(b)) < n {
		k := int(min(n-uint64(len(b)), 1<<16))
		at := len(b)
		b = slices.Grow(b, k)[:at+k]
		got, err := io.ReadFull(j.r, b[at:])
		j.off += uint64(got)
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// record reads: id u32, size u32, time u64, and what the id says. It reports
// whether there may be more.
func (j *jitReader) record() (more bool, err error) {
	prefix, err := j.read(jitPrefixSize)
	if err != nil {
		return false, nil
	}
	id, size, time := j.order.Uint32(prefix), uint64(j.order.Uint32(prefix[4:])), j.order.Uint64(prefix[8:])
	if size < jitPrefixSize {
		return false, fmt.Errorf("%d bytes long", size)
	}
	size -= jitPrefixSize
	switch id {
	case jitLoad:
		err = j.load(size, time)
	case jitMove:
		err = j.move(size, time)
	case jitDebug:
		err = j.debug(size)
	case jitClose:
		return false, nil
	default: // unwinding information, and what is new
		err = j.discard(size)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return err == nil, err
}

var errJITShort = errors.New("too short for what it says")

// load reads: pid u32, tid u32, vma u64, address u64, size u64, index u64, name
// with a zero, the code.
func (j *jitReader) load(size, time uint64) error {
	const fixed = 40
	if size < fixed {
		return errJITShort
	}
	b, err := j.read(fixed)
	if err != nil {
		return err
	}
	c := jitCode{addr: j.order.Uint64(b[16:]), size: j.order.Uint64(b[24:])}
	index := j.order.Uint64(b[32:])
	if c.size > size-fixed || c.addr+c.size < c.addr {
		return errJITShort
	}
	length := size - fixed - c.size
	if length > maxJITPayload {
		return fmt.Errorf("name of %d bytes", length)
	}
	name, err := j.read(length)
	if err != nil {
		return err
	}
	if i := slices.Index(name, 0); i >= 0 {
		name = name[:i]
	}
	name = name[:min(len(name), maxJITName)]
	c.offset = j.off
	if err := j.discard(c.size); err != nil {
		return err
	}
	d := j.dump
	if len(d.codes) == maxJITCodes || len(j.names)+len(name) > maxJITNames {
		return fmt.Errorf("more than %d functions, or %d bytes of names", maxJITCodes, maxJITNames)
	}
	c.name, c.length = uint32(len(j.names)), uint32(len(name))
	j.names = append(j.names, name...)
	c.first = uint32(len(d.lines))
	if j.of == c.addr {
		d.lines = append(d.lines, j.pending...)
	}
	c.last = uint32(len(d.lines))
	j.pending = j.pending[:0]
	j.byIndex[index] = int32(len(d.codes))
	d.placed = append(d.placed, jitPlace{time, c.addr, int32(len(d.codes))})
	d.codes = append(d.codes, c)
	return nil
}

// move reads: pid u32, tid u32, vma u64, old address u64, new address u64, size
// u64, index u64.
func (j *jitReader) move(size, time uint64) error {
	const fixed = 48
	if size < fixed {
		return errJITShort
	}
	b, err := j.read(fixed)
	if err != nil {
		return err
	}
	if code, ok := j.byIndex[j.order.Uint64(b[40:])]; ok && len(j.dump.placed) < 2*maxJITCodes {
		j.dump.placed = append(j.dump.placed, jitPlace{time, j.order.Uint64(b[24:]), code})
	}
	return j.discard(size - fixed)
}

// debug reads the lines of the code that is loaded next: address u64, number u64;
// for each address u64, line u32, discriminator u32, file with a zero, which may
// be "\xff" for that of the one before.
func (j *jitReader) debug(size uint64) error {
	if size < 16 || size > maxJITPayload {
		return errJITShort
	}
	b, err := j.read(size)
	if err != nil {
		return err
	}
	j.of, j.pending = j.order.Uint64(b), j.pending[:0]
	n := j.order.Uint64(b[8:])
	b = b[16:]
	file := uint32(0)
	known := false
	for ; n > 0; n-- {
		if len(b) < 17 {
			return errJITShort
		}
		l := jitLine{addr: j.order.Uint64(b), line: int32(j.order.Uint32(b[8:]))}
		b = b[16:]
		end := slices.Index(b, 0)
		if end < 0 {
			return errJITShort
		}
		if name := b[:end]; string(name) != "\xff" || !known {
			file, known = j.file(string(name)), true
		}
		l.file = file
		b = b[end+1:]
		if len(j.dump.lines)+len(j.pending) == maxJITLines {
			return fmt.Errorf("more than %d lines", maxJITLines)
		}
		j.pending = append(j.pending, l)
	}
	slices.SortStableFunc(j.pending, func(a, b jitLine) int { return cmp.Compare(a.addr, b.addr) })
	return nil
}

func (j *jitReader) file(name string) uint32 {
	id, ok := j.fileIDs[name]
	if !ok {
		id = uint32(len(j.dump.files))
		j.dump.files = append(j.dump.files, name)
		j.fileIDs[name] = id
	}
	return id
}

// finish makes the dump ready for look-ups.
func (j *jitReader) finish() *jitDump {
	d := j.dump
	d.names = string(j.names)
	slices.SortStableFunc(d.placed, func(a, b jitPlace) int { return cmp.Compare(a.time, b.time) })
	d.byOffset = span.New(len(d.codes), func(i int) span.Range {
		c := &d.codes[i]
		return span.Range{Start: c.offset, End: c.offset + c.size}
	})
	d.byAddress = span.New(len(d.placed), func(i int) span.Range {
		p := &d.placed[i]
		return span.Range{Start: p.addr, End: max(p.addr, p.addr+d.codes[p.code].size)}
	})
	return d
}

// at returns where in the file the code is that was last at an address.
func (d *jitDump) at(addr uint64) (off uint64, ok bool) {
	i, ok := d.byAddress.Lookup(addr)
	if !ok {
		return 0, false
	}
	p := &d.placed[i]
	return addr - p.addr + d.codes[p.code].offset, true
}

// frame returns the function whose code is at an offset of the file.
func (d *jitDump) frame(off uint64) (f Frame, ok bool) {
	i, ok := d.byOffset.Lookup(off)
	if !ok {
		return f, false
	}
	c := &d.codes[i]
	f.Name = d.names[c.name : c.name+c.length]
	f.SystemName = f.Name
	lines := d.lines[c.first:c.last]
	addr := off - c.offset + c.addr
	if k := sort.Search(len(lines), func(i int) bool { return lines[i].addr > addr }) - 1; k >= 0 {
		f.File, f.Line = d.files[lines[k].file], int(lines[k].line)
	}
	return f, f.Name != ""
}

// JITCode is code that a process put into memory, as its dump says.
type JITCode struct {
	Time         uint64 // in ns of CLOCK_MONOTONIC, unless the dump has another clock
	Start, Limit uint64 // run-time addresses
	Offset       uint64 // of its bytes in the dump
}

// JITCode returns what the dump at path says of the code that process pid made,
// in the order of time; nothing if it cannot be read, or if its times are those of
// a clock of the processor.
func (s *Symbolizer) JITCode(pid int, path string) []JITCode {
	d, _ := s.jitDump(pid, path)
	if d == nil || d.arch {
		return nil
	}
	codes := make([]JITCode, len(d.placed))
	for i, p := range d.placed {
		c := &d.codes[p.code]
		codes[i] = JITCode{p.time, p.addr, p.addr + c.size, c.offset}
	}
	return codes
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

// jitDump reads a dump, which is a file that the process has mapped.
func (s *Symbolizer) jitDump(pid int, path string) (*jitDump, error) {
	t, err := s.userFile(Mapping{Kind: User, Path: path, PID: pid})
	if t == nil {
		return nil, err
	}
	return t.jit, err
}

// anonTable names code that a process made at run time. Either may be nil.
type anonTable struct {
	jit *jitDump
	m   *perfMap
}

func (t anonTable) Lookup(dst []Frame, addr uint64) []Frame {
	if t.jit != nil {
		if off, ok := t.jit.at(addr); ok {
			if f, ok := t.jit.frame(off); ok {
				return append(dst, f)
			}
		}
	}
	if t.m != nil {
		return t.m.Lookup(dst, addr)
	}
	return dst
}

// anonTable finds what names the memory of the process of m: the dump that it was
// seen to write, and its perf map.
func (s *Symbolizer) anonTable(m Mapping) (Table, error) {
	s.mu.Lock()
	path := s.dumps[m.PID]
	s.mu.Unlock()
	if path == "" {
		return s.perfMapTable(m)
	}
	var t anonTable
	d, why := s.jitDump(m.PID, path)
	t.jit = d
	if p, err := s.perfMap(m); p != nil {
		t.m = p
	} else if d == nil {
		why = moreTelling(why, err)
	}
	if t.jit == nil && t.m == nil {
		return nil, why
	}
	return t, why
}
