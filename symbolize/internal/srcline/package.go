package srcline

import "fmt"

// Package finds units in a package of .dwo files (.dwp): DWARF 5, section 7.3.5, and
// version 2, which GNU has for DWARF 4.
//
//	hash table  slots of 8 bytes: ids of units
//	indexes     slots of 4 bytes: rows of the tables below, from 1; 0 is an empty slot
//	columns     4 bytes each: which section
//	offsets     rows of one offset for each column
//	sizes       rows of one size for each column
type Package struct {
	s     Sections
	index []byte
	kinds []sectionKind
	slots uint64 // a power of two
	rows  uint64
}

// sectionKind is DW_SECT_*.
type sectionKind uint32

const (
	sectInfo       sectionKind = 1
	sectAbbrev     sectionKind = 3
	sectStrOffsets sectionKind = 6
	sectRngLists   sectionKind = 8 // in version 2 macros, which are not used
)

// maxColumns is more than there are kinds of sections.
const maxColumns = 16

// packageHeader is the size of version, columns, rows and slots.
const packageHeader = 16

// NewPackage reads the header of index, the contents of .debug_cu_index. s are the
// sections called .debug_NAME.dwo of the package.
func NewPackage(s Sections, index []byte) (*Package, error) {
	bad := func(what string) (*Package, error) {
		return nil, fmt.Errorf("%w: .debug_cu_index: %s", ErrFormat, what)
	}
	c := cursor{b: index, big: s.BigEndian}
	version := c.u16()
	if rest := c.u16(); s.BigEndian && version == 0 {
		version = rest // version 2 has four bytes for it
	}
	columns, rows, slots := uint64(c.u32()), uint64(c.u32()), uint64(c.u32())
	switch {
	case c.bad:
		return bad("too short")
	case version != 2 && version != 5:
		return bad(fmt.Sprintf("version %d is not supported", version))
	case columns > maxColumns || slots&(slots-1) != 0 || rows > slots:
		return bad("header")
	case 12*slots+4*columns*(1+2*rows) > uint64(len(index)-packageHeader):
		return bad("tables without an end")
	}
	p := &Package{s: s, index: index, slots: slots, rows: rows}
	c.skip(12 * slots)
	for range columns {
		p.kinds = append(p.kinds, sectionKind(c.u32()))
	}
	if version < 5 {
		p.s.RngLists = nil // they are of version 5
	}
	return p, nil
}

// maxProbes bounds how many slots are looked at for a unit. A third of the slots is
// empty at least.
const maxProbes = 1 << 12

// Unit returns the sections that the unit with id has in the package.
func (p *Package) Unit(id uint64) (Sections, bool) {
	if p.slots == 0 {
		return Sections{}, false
	}
	slot, step := id&(p.slots-1), id>>32&(p.slots-1)|1
	for range min(p.slots, maxProbes) {
		row := p.number(packageHeader+8*p.slots+4*slot, 4)
		if row == 0 {
			break
		}
		if p.number(packageHeader+8*slot, 8) == id {
			return p.row(row - 1)
		}
		slot = (slot + step) & (p.slots - 1)
	}
	return Sections{}, false
}

// number reads an integer of the index, which is long enough.
func (p *Package) number(off uint64, size int) uint64 {
	c := cursor{b: p.index, off: int(off), big: p.s.BigEndian}
	return c.uint(size)
}

func (p *Package) row(row uint64) (Sections, bool) {
	if row >= p.rows {
		return Sections{}, false
	}
	s := p.s
	s.Memory = 0 // they are the package's
	columns := uint64(len(p.kinds))
	offsets := packageHeader + 12*p.slots + 4*columns*(1+row)
	sizes := offsets + 4*columns*p.rows
	for i, kind := range p.kinds {
		var part *[]byte
		switch kind {
		case sectInfo:
			part = &s.Info
		case sectAbbrev:
			part = &s.Abbrev
		case sectStrOffsets:
			part = &s.StrOffsets
		case sectRngLists:
			part = &s.RngLists
		default:
			continue
		}
		off, size := p.number(offsets+4*uint64(i), 4), p.number(sizes+4*uint64(i), 4)
		if part == &s.RngLists && *part == nil {
			continue
		}
		if off > uint64(len(*part)) || size > uint64(len(*part))-off {
			return Sections{}, false
		}
		*part = (*part)[off : off+size : off+size]
	}
	return s, true
}
