package kallsyms

import (
	"cmp"
	"iter"
	"slices"
)

// pageSize is the page perf rounds to, whatever the machine's is.
const pageSize = 4096

// A Symbol is one function of the kernel or of a module.
type Symbol struct {
	Name   string
	Module string // without brackets; empty for the kernel itself
	Start  uint64 // run-time address
	End    uint64 // first address past the function, as far as it is known
}

// A Table finds the function at a kernel address. It is read-only, and safe
// for concurrent use.
type Table struct {
	entries []entry // by addr, all different
	names   string
	modules []string
	text    uint64
	stext   uint64
}

// entry is where a function starts or, with length 0, where one has ended and
// nothing is known to follow.
type entry struct {
	addr   uint64
	name   uint32 // offset in names
	length uint16 // of the name
	module uint16
}

// table sorts what was parsed, and settles aliases and ends:
//
//  1. Sort by address; equal addresses stay in input order.
//  2. Of several names for one address the last stays. perf means to choose
//     by binding and underscores, but gives every symbol its size first, and
//     of those at one address only the last gets any; a symbol with a size
//     beats one without.
//  3. A function ends where the next symbol starts. The last one of the kernel,
//     or of a module, ends with the page after the one it starts in, so that
//     what lies far behind it stays unknown. (perf 6.1 does so only between
//     kernel and modules, and relies on /proc/modules between two modules.)
func (p *parser) table() *Table {
	byAddr := func(a, b entry) int { return cmp.Compare(a.addr, b.addr) }
	if !slices.IsSortedFunc(p.entries, byAddr) {
		slices.SortStableFunc(p.entries, byAddr)
	}
	out := make([]entry, 0, len(p.entries)+len(p.modules)+1)
	for i := 0; i < len(p.entries); {
		best := p.entries[i]
		for i++; i < len(p.entries) && p.entries[i].addr == best.addr; i++ {
			if p.entries[i].length > 0 {
				best = p.entries[i]
			}
		}
		last := i == len(p.entries)
		switch {
		case best.length == 0 && len(out) > 0 && out[len(out)-1].length == 0:
			// Already unknown here.
		default:
			out = append(out, best)
		}
		if best.length == 0 || !last && p.entries[i].module == best.module {
			continue
		}
		end := best.addr + pageSize
		end = (end + pageSize - 1) &^ (pageSize - 1)
		if end > best.addr && (last || end < p.entries[i].addr) {
			out = append(out, entry{addr: end})
		}
	}
	return &Table{
		entries: slices.Clip(out),
		names:   string(p.names),
		modules: p.modules,
		text:    p.text,
		stext:   p.stext,
	}
}

// Lookup returns the function that covers the run-time address addr.
func (t *Table) Lookup(addr uint64) (Symbol, bool) {
	lo, hi := 0, len(t.entries)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.entries[mid].addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || t.entries[lo-1].length == 0 {
		return Symbol{}, false
	}
	return t.symbol(lo - 1), true
}

// Symbols calls yield for each function in the order of addresses, until it
// returns false.
func (t *Table) Symbols(yield func(Symbol) bool) {
	for i, e := range t.entries {
		if e.length > 0 && !yield(t.symbol(i)) {
			return
		}
	}
}

// Within yields the functions that start from one address on and before another, in their order.
func (t *Table) Within(start, limit uint64) iter.Seq[Symbol] {
	first, _ := slices.BinarySearchFunc(t.entries, start, func(e entry, addr uint64) int { return cmp.Compare(e.addr, addr) })
	return func(yield func(Symbol) bool) {
		for i := first; i < len(t.entries) && t.entries[i].addr < limit; i++ {
			if t.entries[i].length > 0 && !yield(t.symbol(i)) {
				return
			}
		}
	}
}

// symbol returns the function of entry i, which is not a gap.
func (t *Table) symbol(i int) Symbol {
	e := t.entries[i]
	end := ^uint64(0)
	if i+1 < len(t.entries) {
		end = t.entries[i+1].addr
	}
	return Symbol{
		Name:   t.names[e.name : e.name+uint32(e.length)],
		Module: t.modules[e.module],
		Start:  e.addr,
		End:    end,
	}
}

// Text returns the addresses of the symbols _text and _stext, 0 where the
// kernel has none. Both mark the start of the kernel's image; the difference
// to a recorded or a linked address of the same symbol is how far the kernel
// was moved (KASLR).
func (t *Table) Text() (text, stext uint64) { return t.text, t.stext }
