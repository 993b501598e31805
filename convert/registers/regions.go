package registers

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/textlimit"
)

// Regions says which device's registers are at an address. The zero value knows none.
type Regions struct {
	named  []region // by start, the outer before the inner
	mapped []mapping
}

// region is a range of addresses, physical or virtual, with a name.
type region struct {
	start, last uint64 // both within
	name        string
	outer       int // index of that around it, -1 for none
}

// mapping is where the kernel has mapped physical addresses (ioremap).
type mapping struct {
	start, end, phys uint64 // end is behind it
	by               string // the function that did
}

// Bounds of what is read, and of ranges within each other that are looked at: what lies deeper
// in a file that somebody made up has no name.
const (
	maxRegions    = 1 << 16
	maxRegionLine = 1 << 12
	maxNesting    = 64
)

// ErrNoRegions says that no line of a file names a range of addresses.
var ErrNoRegions = errors.New("no line of it is START-END : NAME, as in /proc/iomem, or of /proc/vmallocinfo with phys=")

// LongLinesError counts lines that are longer than those of regions are, and were left out.
type LongLinesError struct{ Lines int }

func (e *LongLinesError) Error() string {
	return fmt.Sprintf("regions: left out %d lines longer than %d bytes", e.Lines, maxRegionLine)
}

// Read adds what a file says: lines "START-END : NAME" with hexadecimal addresses, both
// within the range, as /proc/iomem has them, physical or virtual; and lines of
// /proc/vmallocinfo, of what ioremap has mapped. Other lines are left out; the error is
// ErrNoRegions where there are no others, and a *LongLinesError, after all others are read,
// where some were too long to be looked at.
func (r *Regions) Read(in io.Reader) error {
	lines := bufio.NewReaderSize(textlimit.NewReader(in), maxRegionLine)
	before := len(r.named) + len(r.mapped)
	var err error
	long, within := 0, false // a line that is too long
	for err == nil && len(r.named)+len(r.mapped) < maxRegions {
		var text []byte
		text, err = lines.ReadSlice('\n')
		more := err == bufio.ErrBufferFull
		if more {
			err = nil
			if !within {
				long++
			}
		}
		if within || more {
			within = more
			continue
		}
		line := strings.TrimSpace(string(text))
		if reg, ok := parseRegion(line); ok {
			r.named = append(r.named, reg)
		} else if m, ok := parseMapping(line); ok {
			r.mapped = append(r.mapped, m)
		}
	}
	if err != nil && err != io.EOF {
		return fmt.Errorf("regions: %w", err)
	}
	if len(r.named)+len(r.mapped) == before {
		return ErrNoRegions
	}
	slices.SortStableFunc(r.named, func(a, b region) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.last, a.last)) })
	slices.SortStableFunc(r.mapped, func(a, b mapping) int { return cmp.Compare(a.start, b.start) })
	outer := -1
	for i := range r.named {
		for outer >= 0 && r.named[outer].last < r.named[i].last {
			outer = r.named[outer].outer
		}
		r.named[i].outer = outer
		outer = i
	}
	if long > 0 {
		return &LongLinesError{long}
	}
	return nil
}

// hex reads an address, with or without 0x.
func hex(s string) (uint64, bool) {
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	return v, err == nil
}

func parseRegion(line string) (r region, ok bool) {
	addrs, name, ok := strings.Cut(line, " : ")
	from, to, ok2 := strings.Cut(addrs, "-")
	start, ok3 := hex(strings.TrimSpace(from))
	last, ok4 := hex(strings.TrimSpace(to))
	words := strings.Fields(name)
	if !ok || !ok2 || !ok3 || !ok4 || last < start || last == 0 || len(words) == 0 { // to others than root all are 0
		return r, false
	}
	// Of the device, and of its resource: "9000000.pl011 pl011@9000000".
	if len(words) == 2 && (words[0] == words[1] || strings.Contains(words[1], "@")) {
		words = words[1:]
	}
	return region{start, last, strings.Join(words, " "), -1}, true
}

// parseMapping reads a line such as "0xffffffc008020000-0xffffffc008022000    8192
// gic_of_setup+0x40/0x120 phys=0x0000000008010000 ioremap" (mm/vmalloc.c, s_show).
func parseMapping(line string) (m mapping, ok bool) {
	words := strings.Fields(line)
	if len(words) < 4 || !slices.Contains(words, "ioremap") {
		return m, false
	}
	from, to, ok := strings.Cut(words[0], "-")
	start, ok2 := hex(from)
	end, ok3 := hex(to)
	if !ok || !ok2 || !ok3 || end <= start {
		return m, false
	}
	by, _, _ := strings.Cut(words[2], "+")
	for _, w := range words[3:] {
		if at, is := strings.CutPrefix(w, "phys="); is {
			phys, ok := hex(at)
			return mapping{start, end, phys, by}, ok
		}
	}
	return m, false
}

// Name says whose register is at an address: "gic+0x00c", by the innermost range with a name,
// or where the kernel mapped it alone is known, by who did and what: "gic_of_setup@8010000+0x00c".
// It is the address where nothing is known.
func (r *Regions) Name(addr uint64) string {
	if name, ok := r.find(addr); ok {
		return name
	}
	i, found := slices.BinarySearchFunc(r.mapped, addr, func(m mapping, a uint64) int { return cmp.Compare(m.start, a) })
	if !found {
		i--
	}
	if i >= 0 && addr < r.mapped[i].end {
		m := r.mapped[i]
		if name, ok := r.find(m.phys + (addr - m.start)); ok {
			return name
		}
		return fmt.Sprintf("%s@%x+0x%03x", m.by, m.phys, addr-m.start)
	}
	return fmt.Sprintf("0x%x", addr)
}

// find looks for the innermost range.
func (r *Regions) find(addr uint64) (string, bool) {
	i, found := slices.BinarySearchFunc(r.named, addr, func(x region, a uint64) int { return cmp.Compare(x.start, a) })
	if !found {
		i--
	}
	for i+1 < len(r.named) && r.named[i+1].start == addr {
		i++
	}
	for n := 0; i >= 0 && n < maxNesting; i, n = r.named[i].outer, n+1 {
		if x := &r.named[i]; addr <= x.last {
			return fmt.Sprintf("%s+0x%03x", x.name, addr-x.start), true
		}
	}
	return "", false
}
