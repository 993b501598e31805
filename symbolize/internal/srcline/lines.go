package srcline

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"
	"sort"
)

// lineTable is a unit's line table: which line the code at an address is of.
type lineTable struct {
	version uint16
	dirs    []value
	files   []lineFile
	paths   []string // of files, once asked for
	rows    []lineRow
	seqs    []sequence // by start
}

type lineFile struct {
	name value
	dir  uint64
}

// lineRow says where the code from addr up to the next row comes from.
type lineRow struct {
	addr uint64
	file uint32
	line int32
}

// sequence is a run of rows whose addresses rise.
type sequence struct {
	start, end  uint64
	first, last int // rows, last not included
}

// maxFiles bounds the files and directories of a unit, and of each the formats.
const maxFiles = 1 << 20

// lineAt returns the position of the code at addr; line 0 if it is unknown, or
// if the compiler made the code by itself.
func (u *loaded) lineAt(addr uint64) (file string, line int) {
	t := u.lineTable()
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].start > addr }) - 1
	if i < 0 || addr >= t.seqs[i].end {
		return "", 0
	}
	s := &t.seqs[i]
	rows := t.rows[s.first:s.last]
	r := &rows[sort.Search(len(rows), func(i int) bool { return rows[i].addr > addr })-1]
	return u.path(uint64(r.file)), int(r.line)
}

func (u *loaded) lineTable() *lineTable {
	if u.lines == nil {
		u.lines = &lineTable{}
		if u.stmts.ok() {
			u.lines.read(u)
		}
		t := u.lines
		u.grow(u, 16*len(t.rows)+32*len(t.seqs)+40*len(t.files)+16*len(t.dirs))
	}
	return u.lines
}

// path returns the path of file i of the unit, as the compiler recorded it.
func (u *loaded) path(i uint64) string {
	t := u.lineTable()
	if t.version < 5 {
		i-- // and 0 is no file
	}
	if i >= uint64(len(t.files)) {
		return ""
	}
	if t.paths == nil {
		t.paths = make([]string, len(t.files))
	}
	if t.paths[i] == "" {
		t.paths[i] = u.join(t, &t.files[i])
	}
	return t.paths[i]
}

func (u *loaded) join(t *lineTable, f *lineFile) string {
	path := string(u.lineString(f.name))
	if path == "" || path[0] == '/' {
		return path
	}
	dir := ""
	if t.version >= 5 && f.dir < uint64(len(t.dirs)) {
		dir = string(u.lineString(t.dirs[f.dir]))
	} else if f.dir-1 < uint64(len(t.dirs)) {
		dir = string(u.lineString(t.dirs[f.dir-1]))
	}
	if dir != "" {
		path = dir + "/" + path
	}
	if path[0] != '/' {
		if dir := string(u.str(u.dir)); dir != "" {
			path = dir + "/" + path
		}
	}
	u.grow(u, len(path))
	return path
}

// lineString is str for strings in .debug_line.
func (u *loaded) lineString(v value) []byte {
	if v.form == formString {
		return stringAt(u.s.Line, v.u)
	}
	return u.str(v)
}

// lineHeader is what the rows are computed with.
type lineHeader struct {
	minInst, maxOps    uint64
	lineBase           int64
	lineRange, firstOp uint8
	opcodeArgs         [256]uint8
	addrSize           uint8
}

// read reads the line table of unit u. What is malformed ends it early.
func (t *lineTable) read(u *loaded) {
	c := cursor{b: u.s.Line, big: u.s.BigEndian}
	c.seek(u.stmts.u)
	n, offSize := c.length()
	if c.bad || n > uint64(len(c.b)-c.off) {
		u.malformed(".debug_line", u.stmts.u, "length of a table")
		return
	}
	c.b = c.b[:c.off+int(n)]
	h := lineHeader{addrSize: u.addrSize, maxOps: 1}
	t.version = c.u16()
	if t.version < 2 || t.version > 5 {
		u.fail(fmt.Errorf("DWARF line table version %d is not supported", t.version))
		t.version = 0
		return
	}
	if t.version >= 5 {
		h.addrSize = c.u8()
		c.u8() // size of segment selectors
	}
	program := c.uint(int(offSize))
	program += uint64(c.off)
	h.minInst = uint64(c.u8())
	if t.version >= 4 {
		h.maxOps = max(uint64(c.u8()), 1)
	}
	c.u8() // whether rows are statements at first
	h.lineBase = int64(int8(c.u8()))
	h.lineRange = c.u8()
	h.firstOp = c.u8()
	for i := 1; i < int(h.firstOp); i++ {
		h.opcodeArgs[i] = c.u8()
	}
	if h.lineRange == 0 || program > uint64(len(c.b)) || program < uint64(c.off) {
		c.fail()
	}
	if !c.bad {
		files := cursor{b: c.b[:program], off: c.off, big: c.big}
		// Offsets in these tables have the size of this table's, not of the unit's.
		form := unit{version: t.version, addrSize: h.addrSize, offSize: offSize}
		if t.version >= 5 {
			t.readFiles5(&form, &files)
		} else {
			t.readFiles(&files)
		}
		c.bad = files.bad
	}
	if c.bad {
		u.malformed(".debug_line", u.stmts.u, "header of a table")
		return
	}
	c.off = int(program)
	t.run(u, &h, &c)
}

// readFiles reads the directories and files of versions 2 to 4.
func (t *lineTable) readFiles(c *cursor) {
	for !c.bad && c.off < len(c.b) && c.b[c.off] != 0 {
		t.dirs = append(t.dirs, value{formString, uint64(c.off)})
		c.skipString()
	}
	c.u8()
	for !c.bad && c.off < len(c.b) && c.b[c.off] != 0 {
		f := lineFile{name: value{formString, uint64(c.off)}}
		c.skipString()
		f.dir = c.uleb()
		c.skipLEB() // time of change
		c.skipLEB() // size
		t.files = append(t.files, f)
	}
}

// DW_LNCT_*, DWARF 5 section 7.22.
const (
	contentPath = 1
	contentDir  = 2
)

// readFiles5 reads the directories and files of version 5.
func (t *lineTable) readFiles5(u *unit, c *cursor) {
	u.readContents(c, func(name value, _ uint64) { t.dirs = append(t.dirs, name) })
	u.readContents(c, func(name value, dir uint64) { t.files = append(t.files, lineFile{name, dir}) })
}

// readContents reads a table that says itself what it has in its columns.
func (u *unit) readContents(c *cursor, f func(name value, dir uint64)) {
	var columns [255]attr
	n := int(c.u8())
	if n > len(columns) {
		c.fail()
		return
	}
	for i := range n {
		columns[i].name, columns[i].form = dwarf.Attr(c.uleb()), form(c.uleb())
	}
	count := c.uleb()
	if count > maxFiles || n == 0 && count > 0 {
		c.fail()
		return
	}
	for range count {
		var name value
		var dir uint64
		before := c.off
		for _, col := range columns[:n] {
			v := u.read(c, col)
			switch col.name {
			case contentPath:
				name = v
			case contentDir:
				dir = v.u
			}
		}
		if c.off == before {
			c.fail() // entries without a byte could be any number
		}
		if c.bad {
			return
		}
		f(name, dir)
	}
}

// DW_LNS_* and DW_LNE_*, DWARF 5 section 7.22.
const (
	opCopy        = 1
	opAdvancePC   = 2
	opAdvanceLine = 3
	opSetFile     = 4
	opSetColumn   = 5
	opNegateStmt  = 6
	opBlock       = 7
	opConstAddPC  = 8
	opFixedPC     = 9

	opEndSequence = 1
	opSetAddress  = 2
)

// lineState is the registers of the machine that line programs run on.
type lineState struct {
	addr, op, file uint64
	line           int64
}

// run runs the line program, which computes the rows.
func (t *lineTable) run(u *loaded, h *lineHeader, c *cursor) {
	t.rows = make([]lineRow, 0, (len(c.b)-c.off)/4+4)
	first := 0
	m := lineState{file: 1, line: 1}
	advance := func(ops uint64) {
		if h.maxOps == 1 {
			m.addr += h.minInst * ops
			return
		}
		m.addr += h.minInst * ((m.op + ops) / h.maxOps)
		m.op = (m.op + ops) % h.maxOps
	}
	for !c.done() {
		op := c.u8()
		if op >= h.firstOp {
			op -= h.firstOp
			advance(uint64(op / h.lineRange))
			m.line += h.lineBase + int64(op%h.lineRange)
			t.add(first, &m)
			continue
		}
		switch op {
		case 0:
			n := c.uleb()
			at := *c
			c.skip(n)
			if c.bad || n == 0 {
				continue
			}
			at.b = at.b[:c.off]
			switch at.u8() {
			case opEndSequence:
				t.end(u, first, m.addr)
				first = len(t.rows)
				m = lineState{file: 1, line: 1}
			case opSetAddress:
				if n-1 <= 8 {
					m.addr, m.op = at.uint(int(n-1)), 0
				}
			}
		case opCopy:
			t.add(first, &m)
		case opAdvancePC:
			advance(c.uleb())
		case opAdvanceLine:
			m.line += c.sleb()
		case opSetFile:
			m.file = c.uleb()
		case opSetColumn:
			c.skipLEB()
		case opNegateStmt, opBlock:
		case opConstAddPC:
			advance(uint64((255 - h.firstOp) / h.lineRange))
		case opFixedPC:
			m.addr += uint64(c.u16())
			m.op = 0
		default:
			for range h.opcodeArgs[op] {
				c.skipLEB()
			}
		}
	}
	t.rows = slices.Clip(t.rows[:first])
	slices.SortStableFunc(t.seqs, func(a, b sequence) int { return cmp.Compare(a.start, b.start) })
}

// add appends a row to the sequence that starts at row first. Of rows with one
// address the last counts.
func (t *lineTable) add(first int, m *lineState) {
	r := lineRow{m.addr, uint32(m.file), int32(m.line)}
	if n := len(t.rows); n > first && t.rows[n-1].addr == r.addr {
		t.rows[n-1] = r
		return
	}
	t.rows = append(t.rows, r)
}

// end closes the sequence of the rows from first on, which ends before addr.
// Sequences of code that the linker left out are dropped.
func (t *lineTable) end(u *loaded, first int, addr uint64) {
	rows := t.rows[first:]
	byAddr := func(a, b lineRow) int { return cmp.Compare(a.addr, b.addr) }
	if !slices.IsSortedFunc(rows, byAddr) {
		slices.SortStableFunc(rows, byAddr)
	}
	if len(rows) == 0 || !u.placed(rows[0].addr, addr) {
		t.rows = t.rows[:first]
		return
	}
	t.seqs = append(t.seqs, sequence{rows[0].addr, addr, first, len(t.rows)})
}
