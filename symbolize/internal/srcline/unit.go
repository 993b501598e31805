package srcline

import (
	"container/list"
	"debug/dwarf"
	"fmt"
	"sync"
)

// unit is the header of a unit in .debug_info.
type unit struct {
	off, end uint64 // in .debug_info
	root     uint64 // where its first entry is
	abbrevs  uint64 // in .debug_abbrev
	version  uint16
	addrSize uint8
	offSize  uint8
	kind     uint8 // DW_UT_*, of version 5; else 0
}

// DW_UT_*, DWARF 5 section 7.5.1.
const (
	unitCompile      = 0x01
	unitType         = 0x02
	unitPartial      = 0x03
	unitSkeleton     = 0x04
	unitSplitCompile = 0x05
	unitSplitType    = 0x06
)

// maxUnits bounds the units of a file; the largest programs have a tenth.
const maxUnits = 1 << 21

// readUnits reads the headers of all units. Units of a version that is not
// known are left out.
func (d *Data) readUnits() []unit {
	var units []unit
	c := cursor{b: d.s.Info, big: d.s.BigEndian}
	for !c.done() {
		u := unit{off: uint64(c.off)}
		n, offSize := c.length()
		if c.bad || n > uint64(len(c.b)-c.off) || len(units) == maxUnits {
			d.malformed(".debug_info", u.off, "length of a unit")
			break
		}
		u.offSize = offSize
		u.end = uint64(c.off) + n
		h := cursor{b: c.b[:u.end], off: c.off, big: c.big}
		c.off = int(u.end)

		u.version = h.u16()
		if u.version < 2 || u.version > 5 {
			d.fail(fmt.Errorf("DWARF version %d is not supported", u.version))
			continue
		}
		if u.version == 5 {
			u.kind = h.u8()
			u.addrSize = h.u8()
			u.abbrevs = h.uint(int(offSize))
			switch u.kind {
			case unitSkeleton, unitSplitCompile:
				h.skip(8)
			case unitType, unitSplitType:
				h.skip(8 + uint64(offSize))
			}
		} else {
			u.abbrevs = h.uint(int(offSize))
			u.addrSize = h.u8()
		}
		u.root = uint64(h.off)
		switch u.addrSize {
		case 1, 2, 4, 8:
		default:
			h.fail()
		}
		if h.bad {
			d.malformed(".debug_info", u.off, "header of a unit")
			continue
		}
		units = append(units, u)
	}
	return units
}

// entry is what is used of an entry's attributes.
type entry struct {
	low, high, ranges       value
	name, linkage           value
	origin                  value // abstract origin or specification
	callFile, callLine      value
	declLine                value
	sibling                 value
	language, stmts, dir    value // of a unit
	strBase, addrBase, base value // where a unit's tables start
	dwoName, dwoID          value // of a unit whose functions are elsewhere
	dwoRanges               value // where these count offsets in .debug_ranges from
}

// Attributes that debug/dwarf has no names for.
const (
	attrDwoName      dwarf.Attr = 0x76
	attrMIPSLinkage  dwarf.Attr = 0x2007
	attrGNUDwoName   dwarf.Attr = 0x2130
	attrGNUDwoID     dwarf.Attr = 0x2131
	attrGNURanges    dwarf.Attr = 0x2132
	attrGNUAddrBase  dwarf.Attr = 0x2133
	attrLinkageName  dwarf.Attr = 0x6e
	attrStrOffsets   dwarf.Attr = 0x72
	attrAddrBase     dwarf.Attr = 0x73
	attrRnglistsBase dwarf.Attr = 0x74
)

// entry reads the attributes of an entry.
func (u *unit) entry(c *cursor, a *abbrev, e *entry) {
	*e = entry{}
	for _, at := range a.attrs {
		v := u.read(c, at)
		switch at.name {
		case dwarf.AttrLowpc:
			e.low = v
		case dwarf.AttrHighpc:
			e.high = v
		case dwarf.AttrRanges:
			e.ranges = v
		case dwarf.AttrName:
			e.name = v
		case attrLinkageName, attrMIPSLinkage:
			e.linkage = v
		case dwarf.AttrAbstractOrigin:
			e.origin = v
		case dwarf.AttrSpecification:
			if !e.origin.ok() {
				e.origin = v
			}
		case dwarf.AttrCallFile:
			e.callFile = v
		case dwarf.AttrCallLine:
			e.callLine = v
		case dwarf.AttrDeclLine:
			e.declLine = v
		case dwarf.AttrSibling:
			e.sibling = v
		case dwarf.AttrLanguage:
			e.language = v
		case dwarf.AttrStmtList:
			e.stmts = v
		case dwarf.AttrCompDir:
			e.dir = v
		case attrStrOffsets:
			e.strBase = v
		case attrAddrBase, attrGNUAddrBase:
			e.addrBase = v
		case attrRnglistsBase:
			e.base = v
		case attrDwoName, attrGNUDwoName:
			e.dwoName = v
		case attrGNUDwoID:
			e.dwoID = v
		case attrGNURanges:
			e.dwoRanges = v
		}
	}
}

// loaded is a unit that is read.
type loaded struct {
	*Data
	*unit
	index int
	elem  *list.Element
	size  int // bytes of memory, about; of Data.mu

	once    sync.Once
	ok      bool // the rest is good
	abbrevs abbrevTable
	tag     dwarf.Tag
	split   bool // its functions are elsewhere
	c       bool // of a language whose functions have no other names for the linker
	scopes  bool // of a language that defines functions inside types

	low                           uint64 // that offsets of range lists count from
	strBase, addrBase, rangesBase uint64
	name, dir, stmts              value
	dwoName                       value
	dwoID, dwoRanges              uint64

	mu    sync.Mutex // of the rest
	dwo   *loaded    // the unit with its functions, once opened; nil if it is nowhere
	tried bool       // to open that
	funcs *functions
	known map[reference]function
	lines *lineTable
}

// readRoot reads the abbreviations and the root entry.
func (u *loaded) readRoot() bool {
	var ok bool
	if u.abbrevs, ok = u.readAbbrevs(u.unit); !ok {
		return false
	}
	u.grow(u, u.abbrevs.size())
	return u.useRoot()
}

// useRoot takes what it needs from the root entry.
func (u *loaded) useRoot() bool {
	c := u.cursor(u.root)
	a := u.abbrevs.get(c.uleb())
	if a == nil {
		return false
	}
	u.tag = a.tag
	var e entry
	u.entry(&c, a, &e)
	if c.bad {
		u.malformed(".debug_info", u.off, "root entry")
		return false
	}
	u.useSplit(&e)
	u.name, u.dir, u.stmts = e.name, e.dir, e.stmts
	// Without a base, the table of the file's only unit is meant.
	u.strBase, u.addrBase, u.rangesBase = e.strBase.u, e.addrBase.u, e.base.u
	if !e.strBase.ok() && u.version >= 5 {
		u.strBase = 2 * uint64(u.offSize)
	}
	switch e.language.u {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x8001: // C89, C, C99, C11, C17, assembler
		u.c = true
	case 0x16, 0x03, 0x0d, 0x12: // Go, Ada 83 and 95, UPC
		u.c, u.scopes = true, true
	default:
		u.scopes = true
	}
	if u.skeleton == nil {
		u.low, _ = u.addr(e.low)
		return true
	}
	u.useSkeleton()
	return true
}

// cursor returns a cursor at off of .debug_info that ends with the unit.
func (u *loaded) cursor(off uint64) cursor {
	c := cursor{b: u.s.Info[:u.end], big: u.s.BigEndian}
	c.seek(off)
	return c
}

// addr returns the address that v is or stands for.
func (u *loaded) addr(v value) (uint64, bool) {
	switch v.form {
	case formAddr:
		return v.u, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return u.addrAt(v.u)
	}
	return 0, false
}

// addrAt returns address i of the unit's table.
func (u *loaded) addrAt(i uint64) (uint64, bool) {
	return u.element(u.s.Addr, u.addrBase, i, int(u.addrSize))
}

// element returns number i of a table at base.
func (u *loaded) element(table []byte, base, i uint64, size int) (uint64, bool) {
	if base > uint64(len(table)) || i >= (uint64(len(table))-base)/uint64(size) {
		return 0, false
	}
	c := cursor{b: table, off: int(base) + int(i)*size, big: u.s.BigEndian}
	return c.uint(size), true
}

// str returns the string that v is or stands for, nil if there is none. The
// bytes belong to the sections.
func (u *loaded) str(v value) []byte {
	switch v.form {
	case formString:
		return stringAt(u.s.Info, v.u)
	case formStrp:
		return stringAt(u.s.Str, v.u)
	case formLineStrp:
		return stringAt(u.s.LineStr, v.u)
	case formStrpSup, formGNUStrpAlt:
		if u.alt != nil {
			return stringAt(u.alt.s.Str, v.u)
		}
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		if off, ok := u.element(u.s.StrOffsets, u.strBase, v.u, int(u.offSize)); ok {
			return stringAt(u.s.Str, off)
		}
	}
	return nil
}
