package srcline

import "debug/dwarf"

// attr is one attribute that entries of an abbreviation have.
type attr struct {
	name  dwarf.Attr
	form  form
	value int64 // of formImplicitConst
}

// abbrev is the shape of an entry.
type abbrev struct {
	tag      dwarf.Tag
	children bool
	located  bool // its entries tell their addresses
	fixed    int  // bytes that the attributes take, -1 if that varies
	sibling  int  // where among them a reference of 4 bytes to the next sibling is, -1 if unknown
	attrs    []attr
}

// maxAttrs bounds the attributes of an entry. Compilers write up to thirty.
const maxAttrs = 1 << 10

// abbrevTable is the abbreviations of a unit.
type abbrevTable struct {
	dense  []abbrev // code 1 first, as compilers number them
	sparse map[uint64]*abbrev
	attrs  int // of all
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	return t.sparse[code]
}

func (t *abbrevTable) size() int { return 48*(len(t.dense)+2*len(t.sparse)) + 16*t.attrs }

// readAbbrevs reads the table of unit u.
func (d *Data) readAbbrevs(u *unit) (t abbrevTable, ok bool) {
	c := cursor{b: d.s.Abbrev, big: d.s.BigEndian}
	c.seek(u.abbrevs)
	// What most units have room in.
	arena := make([]attr, 0, 1<<9)
	t.dense = make([]abbrev, 0, 1<<7)
	for {
		code := c.uleb()
		if code == 0 || c.bad {
			break
		}
		first := len(arena)
		a := abbrev{tag: dwarf.Tag(c.uleb()), children: c.u8() != 0, sibling: -1}
		for {
			at := attr{name: dwarf.Attr(c.uleb()), form: form(c.uleb())}
			if at.form == formImplicitConst {
				at.value = c.sleb()
			}
			if c.bad || at.name == 0 && at.form == 0 {
				break
			}
			if len(arena)-first == maxAttrs {
				c.fail()
				break
			}
			if at.name == dwarf.AttrLowpc || at.name == dwarf.AttrRanges {
				a.located = true
			}
			if at.name == dwarf.AttrSibling && at.form == formRef4 {
				a.sibling = a.fixed
			}
			if n := u.formSize(at.form); n < 0 || a.fixed < 0 {
				a.fixed = -1
			} else {
				a.fixed += n
			}
			arena = append(arena, at)
		}
		if c.bad {
			break
		}
		a.attrs = arena[first:len(arena):len(arena)]
		if code == uint64(len(t.dense))+1 && t.sparse == nil {
			t.dense = append(t.dense, a)
			continue
		}
		if t.sparse == nil {
			t.sparse = map[uint64]*abbrev{}
		}
		t.sparse[code] = &a
	}
	t.attrs = len(arena)
	if c.bad {
		d.malformed(".debug_abbrev", u.abbrevs, "abbreviation table")
	}
	return t, !c.bad
}
