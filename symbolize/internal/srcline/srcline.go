// Package srcline finds the functions, inlined calls and source lines at an
// address in DWARF debug information, versions 2 to 5.
//
// It reads as little as it can. The units (one for each file the compiler was
// given) are indexed by the addresses they cover; the functions and lines of a
// unit are read when an address in it is asked for, and the units asked for
// last are kept, within a bound.
//
//	address ──► unit (.debug_aranges, else its root entry)
//	             ├──► function ──► calls inlined at the address, one in another
//	             └──► row of the line table ──► file, line of the innermost
//
// Where a unit is only a skeleton, its functions are in a .dwo file or in a package
// of these (split DWARF): Split opens them.
//
// Sections are hostile input: whatever their bytes, nothing here panics, and
// work and memory stay within a small multiple of their size.
package srcline

import (
	"container/list"
	"errors"
	"fmt"
	"sort"
	"sync"
)

// Reasons why debug information, or a part of it, cannot be used.
var (
	// ErrSplit: the functions of a unit are in a .dwo file, which is not there; lines
	// are still known.
	ErrSplit = errors.New("split debug information")

	// ErrFormat: what is malformed is left out.
	ErrFormat = errors.New("malformed DWARF")
)

// Sections are the contents of a file's debug sections, nil for those it does
// not have. They must not change, and stay readable, while a Data uses them.
type Sections struct {
	Info, Abbrev, Line, Str, LineStr, StrOffsets, Addr, Ranges, RngLists, Aranges []byte

	BigEndian   bool
	Relocatable bool // code may start at address 0 (a kernel module)

	Memory int // bytes of these contents that are in memory, not mapped from a file
}

// A Frame is a function at an address. Its strings do not share memory with the
// sections.
type Frame struct {
	Name      string // as the linker knows it, else as the source has it; empty if unknown
	File      string // path as the compiler recorded it; empty if unknown
	Line      int    // in File, of the address or of the call made there; 0 if unknown
	StartLine int    // where the function is declared; 0 if unknown
}

// Data answers for the debug information of one file. It may be used
// concurrently.
type Data struct {
	s        Sections
	alt      *Data   // holds what several files share (dwz), may be nil
	split    Split   // opens .dwo files, may be nil
	skeleton *loaded // the unit whose functions these are, if the sections are of a .dwo file

	indexOnce sync.Once
	units     []unit // by offset
	index     unitIndex

	mu     sync.Mutex
	err    error           // first one met
	loaded map[int]*loaded // by index in units
	recent list.List       // of *loaded, the last used in front
	held   int             // bytes of memory, about
	limit  int             // of held
}

// maxHeld is how much memory the functions and lines of units may take before
// those used longest ago are dropped.
const maxHeld = 16 << 20

// New returns the debug information in sections s. alt, which may be nil, is
// that of the file named in .gnu_debugaltlink, and split, which may be nil, opens
// .dwo files. Nothing is read yet.
func New(s Sections, alt *Data, split Split) *Data {
	return &Data{s: s, alt: alt, split: split, loaded: map[int]*loaded{}, limit: maxHeld}
}

// Err returns the first thing found wrong in what was read up to now.
func (d *Data) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (d *Data) fail(err error) {
	if d.skeleton != nil {
		d = d.skeleton.Data // which the caller asks
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
}

// malformed keeps an ErrFormat with where and what.
func (d *Data) malformed(section string, off uint64, what string) {
	d.fail(fmt.Errorf("%w: %s at byte %#x: %s", ErrFormat, section, off, what))
}

// AppendFrames appends the functions at addr: with inline the innermost inlined
// one first, each with the position of what it calls, else only the one that
// holds the code. Where only the line is known, as in assembler code, the frame
// has no name. It appends nothing for an address no unit covers.
func (d *Data) AppendFrames(dst []Frame, addr uint64, inline bool) []Frame {
	d.indexOnce.Do(d.readIndex)
	i, ok := d.index.lookup(addr)
	if !ok {
		return dst
	}
	u := d.load(i)
	if u == nil {
		return dst
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.appendFrames(dst, addr, inline)
}

// load returns unit i with its abbreviations and root entry read, nil if these
// are malformed.
func (d *Data) load(i int) *loaded {
	d.mu.Lock()
	u := d.loaded[i]
	if u == nil {
		u = &loaded{Data: d, unit: &d.units[i], index: i}
		u.elem = d.recent.PushFront(u)
		d.loaded[i] = u
	} else {
		d.recent.MoveToFront(u.elem)
	}
	d.mu.Unlock()

	u.once.Do(func() { u.ok = u.readRoot() })
	if !u.ok {
		return nil
	}
	return u
}

// grow counts memory that u took, and drops other units. Whoever uses one that
// is dropped goes on with it.
func (d *Data) grow(u *loaded, n int) {
	if d.skeleton != nil {
		d.skeleton.grow(d.skeleton, n)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded[u.index] != u {
		return // dropped meanwhile
	}
	u.size += n
	d.held += n
	for d.held > d.limit && d.recent.Len() > 1 {
		last := d.recent.Back()
		old := last.Value.(*loaded)
		d.recent.Remove(last)
		delete(d.loaded, old.index)
		d.held -= old.size
	}
}

// unitAt returns the unit that holds offset off of .debug_info.
func (d *Data) unitAt(off uint64) (int, bool) {
	d.indexOnce.Do(d.readIndex)
	i := sort.Search(len(d.units), func(i int) bool { return d.units[i].end > off })
	return i, i < len(d.units) && d.units[i].off <= off
}
