package srcline

import (
	"debug/dwarf"
	"math"

	"kprof/symbolize/ranges"
)

// functions finds the function of a unit that holds an address.
type functions struct {
	ranges []functionRange
	index  *ranges.Index
	deep   bool // those inside of functions are among them
}

type functionRange struct {
	ranges.Range
	off uint64 // of its entry in .debug_info
}

func (f *functions) lookup(addr uint64) (off uint64, ok bool) {
	i, ok := f.index.Lookup(addr)
	if !ok {
		return 0, false
	}
	return f.ranges[i].off, true
}

// readFunctions lists the functions of the unit that have code. Most entries of
// a unit are types and variables, which have children of their own: these are
// passed over, unless deep.
func (u *loaded) readFunctions(deep bool, budget *int) *functions {
	fs := &functions{deep: deep}
	c := u.cursor(u.root)
	depth := 0
	if a := u.abbrevs.get(c.uleb()); a == nil || !a.children {
		c.fail()
	} else {
		u.skip(&c, a)
	}
	var e entry
	for !c.done() && *budget >= 0 {
		off, code, ok := c.nextEntry(&depth)
		if !ok {
			break
		}
		a := u.abbrevs.get(code)
		if a == nil {
			u.malformed(".debug_info", off, "abbreviation of an entry")
			break
		}
		if a.located && a.tag == dwarf.TagSubprogram {
			attrs := c.off
			u.entry(&c, a, &e)
			u.eachRange(&e, budget, func(start, end uint64) bool {
				fs.ranges = append(fs.ranges, functionRange{ranges.Range{Start: start, End: end}, off})
				return true
			})
			c.off = attrs
		}
		if deep || u.encloses(a.tag) {
			u.skip(&c, a)
			if a.children {
				depth++
			}
			continue
		}
		u.skipTree(&c, a)
	}
	if len(fs.ranges) > math.MaxInt32 {
		fs.ranges = fs.ranges[:math.MaxInt32]
	}
	fs.index = ranges.New(len(fs.ranges), func(i int) ranges.Range { return fs.ranges[i].Range })
	return fs
}

// encloses reports whether functions are defined inside of such entries.
func (u *loaded) encloses(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagNamespace, dwarf.TagModule:
		return true
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagInterfaceType,
		dwarf.TagEnumerationType, dwarf.TagVariantPart, dwarf.TagVariant:
		return u.scopes
	}
	return false
}

// skipTree passes over an entry and its children. c is behind the entry's code.
func (u *loaded) skipTree(c *cursor, a *abbrev) {
	depth := 0
	for {
		if !a.children || !u.skipToSibling(c, a) {
			u.skip(c, a)
			if a.children {
				depth++
			}
		}
		for {
			if depth == 0 || c.done() {
				return
			}
			code := c.uleb()
			if code != 0 {
				a = u.abbrevs.get(code)
				break
			}
			depth--
		}
		if a == nil {
			u.malformed(".debug_info", uint64(c.off), "abbreviation of an entry")
			c.fail()
			return
		}
	}
}

// skipToSibling moves behind the last child of an entry, if the entry tells
// where that is.
func (u *loaded) skipToSibling(c *cursor, a *abbrev) bool {
	if a.sibling < 0 {
		return false
	}
	at := *c
	at.skip(uint64(a.sibling))
	next := u.off + at.uint(4)
	if at.bad || next < uint64(at.off) || next > u.end {
		return false
	}
	c.off = int(next)
	return true
}

// nextEntry reads up to the attributes of the next entry: where it starts, and the code of its
// abbreviation. depth counts the lists of children that are open, and what ends one makes it
// less; false is the end of the outermost, or of the section.
func (c *cursor) nextEntry(depth *int) (off, code uint64, ok bool) {
	for !c.done() {
		off = uint64(c.off)
		if code = c.uleb(); code != 0 {
			return off, code, true
		}
		if *depth == 0 {
			break
		}
		*depth--
	}
	return 0, 0, false
}

// maxInlined bounds how many calls may be inlined in each other.
const maxInlined = 1000

// inlined is a function at an address, or a call of one that was inlined.
type inlined struct {
	of       reference // its entry, or that of what was called
	callFile uint64    // where it was called
	callLine int
}

// appendInlined appends the function at off and the calls in it that were
// inlined at addr, each inside the one before it. Blocks that follow each other
// may overlap, as GCC writes those of code that it has moved apart: one that
// covers addr does not say that what was inlined there is in no other.
func (u *loaded) appendInlined(dst []inlined, off, addr uint64) []inlined {
	dst = append(dst, inlined{of: reference{off: off}})
	c := u.cursor(off)
	a := u.abbrevs.get(c.uleb())
	if a == nil || !a.children {
		return dst
	}
	u.skip(&c, a)
	budget := maxRanges
	depth := 0 // of blocks
	var e entry
	for !c.done() && budget >= 0 {
		_, code, ok := c.nextEntry(&depth)
		if !ok {
			break
		}
		if a = u.abbrevs.get(code); a == nil {
			break
		}
		switch a.tag {
		case dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock, dwarf.TagTryDwarfBlock, dwarf.TagCatchDwarfBlock:
		default:
			u.skipTree(&c, a)
			continue
		}
		if !a.located {
			u.skip(&c, a)
			if a.children {
				depth++
			}
			continue
		}
		attrs := c.off
		u.entry(&c, a, &e)
		covers := false
		u.eachRange(&e, &budget, func(start, end uint64) bool {
			covers = start <= addr && addr < end
			return !covers
		})
		if !covers {
			c.off = attrs
			u.skipTree(&c, a)
			continue
		}
		if a.tag != dwarf.TagInlinedSubroutine {
			if a.children {
				depth++
			}
			continue
		}
		if ref, ok := u.reference(e.origin); ok && len(dst) < maxInlined {
			dst = append(dst, inlined{ref, e.callFile.u, int(int32(e.callLine.u))})
		}
		if !a.children {
			break
		}
		depth = 0
	}
	return dst
}

// reference is where an entry is.
type reference struct {
	off uint64 // in .debug_info
	alt bool   // of the file shared with others
}

// reference returns the entry that v refers to.
func (u *loaded) reference(v value) (reference, bool) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return reference{off: u.off + v.u}, true
	case formRefAddr:
		return reference{off: v.u}, true
	case formGNURefAlt, formRefSup4, formRefSup8:
		return reference{off: v.u, alt: true}, u.alt != nil
	}
	return reference{}, false
}

// function is what the entry of a function says.
type function struct {
	name string // for the linker, where it has such a name
	line int    // of its declaration
}

// maxOrigins bounds how many entries describe one function: a definition, its
// declaration, the abstract one that both are instances of.
const maxOrigins = 16

// function returns what is known of the function at ref.
func (u *loaded) function(ref reference) function {
	if f, ok := u.known[ref]; ok {
		return f
	}
	var (
		f             function
		name, linkage string
		e             entry
		from          = u
		next          = ref
	)
	for range maxOrigins {
		if from = from.holder(next); from == nil {
			break
		}
		c := from.cursor(next.off)
		a := from.abbrevs.get(c.uleb())
		if a == nil {
			break
		}
		from.entry(&c, a, &e)
		if linkage == "" {
			linkage = string(from.str(e.linkage))
		}
		if name == "" {
			name = string(from.str(e.name))
		}
		if f.line == 0 {
			f.line = int(int32(e.declLine.u))
		}
		var ok bool
		if next, ok = from.reference(e.origin); !ok {
			break
		}
	}
	f.name = linkage
	if f.name == "" || name != "" && u.c {
		f.name = name
	}
	if u.known == nil {
		u.known = map[reference]function{}
	}
	u.known[ref] = f
	u.grow(u, 64+len(f.name))
	return f
}

// holder returns the unit that holds the entry ref, nil if there is none.
func (u *loaded) holder(ref reference) *loaded {
	d := u.Data
	if ref.alt {
		d = u.alt
	} else if u.root <= ref.off && ref.off < u.end {
		return u
	}
	i, ok := d.unitAt(ref.off)
	if !ok || ref.off < d.units[i].root {
		return nil
	}
	return d.load(i)
}

// appendFrames appends the frames at addr.
func (u *loaded) appendFrames(dst []Frame, addr uint64, inline bool) []Frame {
	chain := make([]inlined, 0, 16)
	holder := u.withFunctions()
	if off, ok := holder.functionAt(addr); ok {
		chain = holder.appendInlined(chain, off, addr)
	}
	file, line := u.lineAt(addr)
	if len(chain) == 0 {
		if line == 0 {
			return dst
		}
		return append(dst, Frame{File: file, Line: line})
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if inline || i == 0 {
			f := holder.function(chain[i].of)
			dst = append(dst, Frame{f.name, file, line, f.line})
		}
		file, line = u.path(chain[i].callFile), chain[i].callLine
	}
	return dst
}

// functionAt returns the entry of the function that holds addr.
func (u *loaded) functionAt(addr uint64) (off uint64, ok bool) {
	if u.funcs == nil {
		u.setFunctions(false)
	}
	off, ok = u.funcs.lookup(addr)
	if !ok && !u.funcs.deep {
		u.setFunctions(true)
		off, ok = u.funcs.lookup(addr)
	}
	return off, ok
}

func (u *loaded) setFunctions(deep bool) {
	budget := maxRanges
	u.funcs = u.readFunctions(deep, &budget)
	u.grow(u, 40*len(u.funcs.ranges))
}
