// Package unwind walks the stacks of programs by the call frame information of
// their ELF files, from registers and a copy of the stack (perf record
// --call-graph dwarf). Sources: DWARF 5, 6.4; Linux Standard Base 5.0, Exception
// Frames (.eh_frame, .eh_frame_hdr); the psABIs of x86_64 and AArch64.
package unwind

import (
	"encoding/binary"
	"errors"
	"sort"
	"sync"
)

// Machine is the kind of processor that a stack is of.
type Machine uint8

// Machines whose stacks can be walked, and others, of which it is known where a
// program was.
const (
	X86_64 Machine = iota + 1
	ARM64
	I386
	ARM
	PPC64
	S390X
	RISCV64
)

// Section is a section of an ELF file, with its address.
type Section struct {
	Addr uint64
	Data []byte
}

// Segment is a part of an ELF file that is mapped with code.
type Segment struct {
	Off, Addr, Size uint64
}

// File is what a Table is made of. Sections that are not there are empty.
type File struct {
	EHFrame    Section // .eh_frame
	EHFrameHdr Section // .eh_frame_hdr
	DebugFrame Section // .debug_frame: all that Go programs have
	Code       []Segment
	Narrow     bool // addresses have 4 bytes, not 8

	// Text reads the instructions of a segment of Code, on AArch64; nil elsewhere. New calls it
	// if the call frame information is not true of all instructions.
	Text func(Segment) ([]byte, error)
}

// Table is the call frame information of one ELF file. It may be used
// concurrently.
type Table struct {
	code   []Segment
	frames []*frames
	text   text // if it is needed

	recorded *recordedRows // all that is known, or nil

	mu     sync.Mutex
	rows   map[uint64]*row // by offset in the file; nil for none
	forgot bool            // some of them
}

// frames is a section with call frame information.
type frames struct {
	Section
	debug  bool // .debug_frame, which has it in a slightly other form
	narrow bool

	hdr    Section // .eh_frame_hdr
	search []byte  // its sorted table, in pairs of int32
	index  []entry // where there is none
}

// entry is where an FDE is, and the first address that it is for.
type entry struct{ addr, off uint64 }

// Memory is about how many bytes the table takes, without what is kept of look-ups.
func (t *Table) Memory() int {
	if t == nil {
		return 0
	}
	n := 0
	for _, f := range t.frames {
		n += len(f.Data) + len(f.hdr.Data) + 16*len(f.index)
	}
	for _, s := range t.text {
		n += len(s.Data)
	}
	return n
}

// maxProgram bounds the instructions of a function, which are run for each address
// in it. Those of real ones are some hundreds of bytes.
const maxProgram = 1 << 16

// maxRows bounds the rows that a Table remembers.
const maxRows = 1 << 18

var le = binary.LittleEndian // of all machines here

// FramePointers is the table of code of which nothing but its frame pointers is known.
var FramePointers = &Table{}

// New returns the table of a file, FramePointers if there is nothing in it. Of two sections
// one that is damaged is left out, and is an error where the file has no other.
func New(f File) (*Table, error) {
	var damaged error
	t := &Table{code: f.Code, rows: map[uint64]*row{}}
	for _, s := range []*frames{{Section: f.EHFrame, hdr: f.EHFrameHdr}, {Section: f.DebugFrame, debug: true}} {
		s.narrow = f.Narrow
		if len(s.Data) == 0 {
			continue
		}
		if !s.openSearch() {
			if err := s.makeIndex(); err != nil {
				damaged = err
				continue
			}
		}
		t.frames = append(t.frames, s)
	}
	switch {
	case len(t.frames) > 0:
	case damaged != nil:
		return nil, damaged
	default:
		return FramePointers, nil
	}
	if f.Text != nil && t.coarse() {
		for _, s := range t.code {
			data, err := f.Text(s)
			if err != nil {
				return nil, err
			}
			t.text = append(t.text, Section{s.Addr, data})
		}
	}
	return t, nil
}

// openSearch takes the search table of .eh_frame_hdr, if it is of the form that
// linkers write: pairs of an address and of its FDE's, both relative to the section,
// in 4 bytes.
func (t *frames) openSearch() bool {
	c := cursor{data: t.hdr.Data, addr: t.hdr.Addr, narrow: t.narrow}
	version, ptrEnc, countEnc, tableEnc := c.u8(), c.u8(), c.u8(), c.u8()
	c.encoded(ptrEnc, t.hdr.Addr)
	count := c.encoded(countEnc, t.hdr.Addr)
	const pair = 8
	if c.bad || version != 1 || tableEnc != encDataRel|encSData4 || count == 0 || count > uint64(c.left()/pair) {
		return false
	}
	t.search = c.data[c.off : c.off+int(count)*pair]
	return true
}

// makeIndex walks all of the section.
func (t *frames) makeIndex() error {
	for off := 0; off < len(t.Data); {
		e, next, ok := t.read(off)
		if !ok {
			return errors.New("damaged call frame information")
		}
		if e == nil { // the end
			break
		}
		if e.fde {
			if f, ok := t.fde(uint64(off)); ok {
				t.index = append(t.index, entry{f.start, uint64(off)})
			}
		}
		off = next
	}
	sort.SliceStable(t.index, func(i, j int) bool { return t.index[i].addr < t.index[j].addr })
	return nil
}

// find returns the offset of the FDE that may be for addr.
func (t *frames) find(addr uint64) (off uint64, ok bool) {
	if t.search == nil {
		i := sort.Search(len(t.index), func(i int) bool { return t.index[i].addr > addr })
		if i == 0 {
			return 0, false
		}
		return t.index[i-1].off, true
	}
	at := func(i int) uint64 { return t.address(t.hdr.Addr + uint64(int64(int32(le.Uint32(t.search[8*i:]))))) }
	i := sort.Search(len(t.search)/8, func(i int) bool { return at(i) > addr })
	if i == 0 {
		return 0, false
	}
	fde := t.hdr.Addr + uint64(int64(int32(le.Uint32(t.search[8*(i-1)+4:]))))
	return t.address(fde) - t.Addr, true
}

// address cuts an address to the bits that it has.
func (t *frames) address(v uint64) uint64 {
	if t.narrow {
		return uint64(uint32(v))
	}
	return v
}

// row returns how to go from the code at offset off of the file to its caller, nil if
// nothing says so.
func (t *Table) row(off uint64) *row {
	if t.recorded != nil {
		return t.recorded.row(off)
	}
	if len(t.frames) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.rows[off]
	if !ok {
		if len(t.rows) >= maxRows {
			clear(t.rows)
			t.forgot = true
		}
		r = t.makeRow(off)
		t.rows[off] = r
	}
	return r
}

func (t *Table) makeRow(off uint64) *row {
	for _, s := range t.code {
		if off-s.Off >= s.Size {
			continue
		}
		addr := s.Addr + (off - s.Off)
		for _, frames := range t.frames {
			f, r := frames.row(addr)
			if r == nil {
				continue
			}
			// A caller's address is within the call.
			if t.text != nil && addr%4 == 0 {
				if better := t.text.between(&f, addr, r, t.isEntry); better != nil {
					return better
				}
			}
			return r
		}
		break
	}
	return nil
}

// isEntry reports whether a function begins at addr, rather than a part of one, which has a frame;
// and whether that is known.
func (t *Table) isEntry(addr uint64) (begins, known bool) {
	for _, frames := range t.frames {
		if f, r := frames.row(addr); r != nil {
			return f.start == addr && r.cfa.kind == register && r.cfa.off == 0 && len(r.regs) == 0, true
		}
	}
	return false, false
}

func (t *frames) row(addr uint64) (f fdeData, r *row) {
	off, ok := t.find(addr)
	if !ok {
		return f, nil
	}
	f, ok = t.fde(off)
	if !ok || addr-f.start >= f.size {
		return f, nil
	}
	return f, f.row(addr)
}

// record is a CIE or an FDE: what follows its length.
type record struct {
	cursor
	fde bool
	cie uint64 // where the CIE of an FDE is
}

// read reads the head of the record at off; nil is the end. next is where the
// record after it begins.
func (t *frames) read(off int) (e *record, next int, ok bool) {
	c := cursor{data: t.Data, addr: t.Addr, off: off, narrow: t.narrow}
	size := uint64(c.u32())
	if size == 0 && !c.bad {
		return nil, off + 4, true
	}
	if size == 0xffffffff {
		size = c.u64()
	}
	if c.bad || size > uint64(c.left()) {
		return nil, 0, false
	}
	end := c.off + int(size)
	c.data = c.data[:end]
	here := uint64(c.off)
	id := uint64(c.u32())
	if c.bad {
		return nil, 0, false
	}
	e = &record{cursor: c, fde: id != 0, cie: here - id}
	if t.debug {
		e.fde, e.cie = id != 0xffffffff, id
	}
	return e, end, true
}

// fdeData is an FDE with what its CIE says.
type fdeData struct {
	cieData
	start, size uint64 // of the code, in addresses of the file
	program     []byte
}

type cieData struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64 // register with the return address
	enc       byte   // of addresses
	augmented bool
	signal    bool // the frame is one that the kernel made for a signal handler
	initial   []byte
}

// fde reads the FDE at off.
func (t *frames) fde(off uint64) (f fdeData, ok bool) {
	if off >= uint64(len(t.Data)) {
		return f, false
	}
	e, _, ok := t.read(int(off))
	if !ok || e == nil || !e.fde {
		return f, false
	}
	if f.cieData, ok = t.cie(e.cie); !ok {
		return f, false
	}
	f.start = e.encoded(f.enc, 0)
	f.size = e.encoded(f.enc&0x0f, 0)
	if f.augmented {
		e.skip(e.uleb())
	}
	if f.program = e.data[e.off:]; e.bad || len(f.program) > maxProgram {
		return f, false
	}
	return f, true
}

func (t *frames) cie(off uint64) (d cieData, ok bool) {
	if off >= uint64(len(t.Data)) {
		return d, false
	}
	e, _, ok := t.read(int(off))
	if !ok || e == nil || e.fde {
		return d, false
	}
	version := e.u8()
	augmentation := e.cstring()
	if version == 4 {
		e.skip(2) // sizes of addresses and of segment selectors
	}
	d.codeAlign, d.dataAlign = e.uleb(), e.sleb()
	if version == 1 {
		d.ra = uint64(e.u8())
	} else {
		d.ra = e.uleb()
	}
	if len(augmentation) > 0 {
		if augmentation[0] != 'z' {
			return d, false
		}
		d.augmented = true
		size := e.uleb()
		rest := *e
		for _, c := range augmentation[1:] {
			switch c {
			case 'R':
				d.enc = rest.u8()
			case 'P':
				rest.encoded(rest.u8()&encFormat, 0) // of a function that does not matter here
			case 'L':
				rest.u8()
			case 'S':
				d.signal = true
			case 'B', 'G': // of AArch64: which key signs return addresses, tagged memory
			default:
				return d, false
			}
		}
		e.skip(size)
		e.bad = e.bad || rest.bad
	}
	if d.initial = e.data[e.off:]; e.bad || len(d.initial) > maxProgram {
		return d, false
	}
	return d, version == 1 || version == 3 || version == 4
}
