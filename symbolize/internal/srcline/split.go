package srcline

import (
	"debug/dwarf"
	"fmt"
)

// Split returns the sections of the .dwo file, or of the part of a package, that has
// a unit: those called .debug_NAME.dwo. Its errors say where they were looked for.
type Split func(SplitUnit) (Sections, error)

// SplitUnit says what a skeleton unit tells of the file with its functions.
type SplitUnit struct {
	Name, Dir string // the file, and the directory that it is relative to
	ID        uint64 // which tells builds apart
}

// useSplit takes from the root entry e where the functions of the unit are, if they
// are not in it: DWARF 5, section 3.1.2, and the same for DWARF 4 by GNU.
func (u *loaded) useSplit(e *entry) {
	if u.skeleton != nil {
		return // it is the unit with the functions, which may name its own file
	}
	u.split = e.dwoName.ok() || u.kind == unitSkeleton
	u.dwoName, u.dwoID, u.dwoRanges = e.dwoName, e.dwoID.u, e.dwoRanges.u
	if id, ok := u.headerID(u.s.BigEndian, u.s.Info); ok {
		u.dwoID = id
	}
}

// headerID returns the id that the header of a unit ends with, since DWARF 5.
func (u *unit) headerID(big bool, info []byte) (uint64, bool) {
	if u.kind != unitSkeleton && u.kind != unitSplitCompile {
		return 0, false
	}
	c := cursor{b: info, off: int(u.root) - 8, big: big}
	return c.uint(8), true
}

// useSkeleton has a unit of a .dwo file use what only its skeleton has.
func (u *loaded) useSkeleton() {
	u.low, u.addrBase = u.skeleton.low, u.skeleton.addrBase
	if u.version < 5 {
		u.rangesBase = u.skeleton.dwoRanges
		return
	}
	// The only table of the file starts with its length, version, size of addresses
	// and of segment selectors, and the number of lists.
	u.rangesBase = 12
	if u.offSize == 8 {
		u.rangesBase = 20
	}
}

// withFunctions returns the unit that has the functions of u: u itself, or that of
// a .dwo file.
func (u *loaded) withFunctions() *loaded {
	if !u.split {
		return u
	}
	if !u.tried {
		u.tried = true
		var err error
		if u.dwo, err = u.openSplit(); err != nil {
			u.fail(err)
		}
	}
	if u.dwo == nil {
		return u // some compilers leave a summary of the functions there
	}
	return u.dwo
}

func (u *loaded) openSplit() (*loaded, error) {
	want := SplitUnit{string(u.str(u.dwoName)), string(u.str(u.dir)), u.dwoID}
	if u.Data.split == nil {
		return nil, fmt.Errorf("%w, %s", ErrSplit, want.Name)
	}
	s, err := u.Data.split(want)
	if err != nil {
		return nil, fmt.Errorf("%w, %w", ErrSplit, err)
	}
	u.grow(u, s.Memory)
	s.Addr, s.Ranges = u.s.Addr, u.s.Ranges
	s.BigEndian, s.Relocatable = u.s.BigEndian, u.s.Relocatable
	d := New(s, nil, nil)
	d.skeleton = u
	i, ok := d.splitUnit(want.ID)
	if !ok {
		return nil, fmt.Errorf("%w, %s: no unit with id %016x", ErrSplit, want.Name, want.ID)
	}
	return d.load(i), nil
}

// HasSplit reports whether the sections, of a .dwo file, have the unit with id.
func (s *Sections) HasSplit(id uint64) bool {
	_, ok := New(*s, nil, nil).splitUnit(id)
	return ok
}

// splitUnit finds the unit with id. Before DWARF 5, it is an attribute of the root entry.
func (d *Data) splitUnit(id uint64) (index int, ok bool) {
	d.indexOnce.Do(func() { d.units = d.readUnits() })
	work := 16*len(d.s.Abbrev) + 1<<20
	for i := range d.units {
		u := loaded{Data: d, unit: &d.units[i], index: -1}
		if u.version >= 5 {
			if got, ok := u.headerID(d.s.BigEndian, d.s.Info); ok && got == id {
				return i, true
			}
			continue
		}
		var good bool
		if u.abbrevs, good = d.readAbbrevs(u.unit); !good {
			continue
		}
		if work -= u.abbrevs.size(); work < 0 {
			break
		}
		c := u.cursor(u.root)
		a := u.abbrevs.get(c.uleb())
		if a == nil || a.tag != dwarf.TagCompileUnit {
			continue
		}
		var e entry
		if u.entry(&c, a, &e); !c.bad && e.dwoID.ok() && e.dwoID.u == id {
			return i, true
		}
	}
	return 0, false
}
