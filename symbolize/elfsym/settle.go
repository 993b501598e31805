package elfsym

import (
	"cmp"
	"debug/elf"
	"math"
	"slices"
	"strings"
)

// pageSize is the page perf rounds to, whatever the machine's is.
const pageSize = 4096

// settle sorts symbols by address, gives an end to those without a size, and
// leaves one for each address, in perf's order of things:
//
//  1. Sort by start; equal starts stay in the order of the table.
//  2. A symbol without a size ends at the next symbol's start (and so keeps
//     none if that is its own), the last one with the next page.
//  3. Of each two neighbours with one start the better one stays.
//
// name gives a symbol's name, and readable what is shown of one.
func settle(syms []symbol, name func(*symbol) string, readable func(name string) string) []symbol {
	if len(syms) == 0 {
		return syms
	}
	byStart := func(a, b symbol) int { return cmp.Compare(a.start, b.start) }
	if !slices.IsSortedFunc(syms, byStart) {
		sortStable(syms)
	}

	for i := range syms[1:] {
		if syms[i].end == syms[i].start {
			syms[i].end = syms[i+1].start
		}
	}
	if last := &syms[len(syms)-1]; last.end == last.start {
		last.end = pad(last.start, pageSize) + pageSize
		if last.end < last.start {
			last.end = math.MaxUint64
		}
	}

	out := syms[:1]
	for i := 1; i < len(syms); i++ {
		prev, next := &out[len(out)-1], &syms[i]
		switch {
		case prev.start != next.start:
			out = append(out, *next)
		case !better(prev, next, name, readable):
			*prev = *next
		}
	}
	return slices.Clip(out)
}

// sortStable sorts by start. Sorting numbered keys is several times faster
// than slices.SortStableFunc on the symbols.
func sortStable(syms []symbol) {
	type key struct {
		start uint64
		index int32
	}
	keys := make([]key, len(syms))
	for i, s := range syms {
		keys[i] = key{s.start, int32(i)}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return cmp.Compare(a.index, b.index)
	})
	sorted := make([]symbol, len(syms))
	for i, k := range keys {
		sorted[i] = syms[k.index]
	}
	copy(syms, sorted)
}

// better reports whether perf prefers a to b, two symbols with one start: the
// one with a size, then the one that is not weak, then the global one, then
// the one with fewer leading underscores, then the longer name, then any but
// the kernel's old SyS_ aliases.
func better(a, b *symbol, name func(*symbol) string, readable func(name string) string) bool {
	if aSized, bSized := a.end > a.start, b.end > b.start; aSized != bSized {
		return aSized
	}
	if aWeak, bWeak := weak(a), weak(b); aWeak != bWeak {
		return bWeak
	}
	if aGlobal, bGlobal := global(a), global(b); aGlobal != bGlobal {
		return aGlobal
	}
	aName, bName := name(a), name(b)
	if sameMember(aName, bName) { // most aliases of a C++ program, whose readable names take long to find
		return true
	}
	aName, bName = readable(aName), readable(bName)
	if au, bu := underscores(aName), underscores(bName); au != bu {
		return au < bu
	}
	if len(aName) != len(bName) {
		return len(aName) > len(bName)
	}
	return !strings.HasPrefix(aName, "SyS") && !strings.HasPrefix(aName, "compat_SyS")
}

// sameMember reports whether two names of the C++ ABI are those of one constructor or destructor,
// complete and of a base: they differ in a digit behind C or D, and are readable alike.
func sameMember(a, b string) bool {
	if len(a) != len(b) || !strings.HasPrefix(a, "_ZN") || strings.HasPrefix(a, "_ZN3SyS") {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	digit := func(c byte) bool { return '0' <= c && c <= '5' }
	return i < len(a) && (a[i-1] == 'C' || a[i-1] == 'D') && digit(a[i]) && digit(b[i]) && a[i+1:] == b[i+1:] && strings.HasPrefix(a[i+1:], "E")
}

func weak(s *symbol) bool   { return elf.SymBind(s.bind) == elf.STB_WEAK }
func global(s *symbol) bool { return elf.SymBind(s.bind) == elf.STB_GLOBAL }

func underscores(name string) int {
	return len(name) - len(strings.TrimLeft(name, "_"))
}

func pad(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
