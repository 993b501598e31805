package event

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/spelling"
)

// probeOffset is the file offset of a user probe.
func probeOffset(path string, p Probe) (off uint64, err error) {
	switch {
	case p.Provider != "":
		return p.Addr, nil
	case p.Symbol == "":
		return p.Addr, checkUserAddr(path, p)
	}
	if err := checkReturn(p); err != nil {
		return 0, err
	}
	f, e, err := openProgram(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() // read only: nothing to lose
	found, _, err := findFunctions(e, p.Symbol)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if len(found) > 1 {
		return 0, severalUserFunctions(e, p, found)
	}
	sym := found[0]
	if p.Off >= max(sym.Size, 1) && sym.Size != 0 {
		return 0, fmt.Errorf("%s: offset %d is outside %s, which has %d bytes", path, p.Off, p.Symbol, sym.Size)
	}
	vaddr := sym.Value + p.Off
	if off, ok := segmentOffset(e, vaddr, elf.PF_X); ok {
		if p.Return {
			return off, checkGoReturn(e, f, p, sym.Symbol, off)
		}
		return off, checkUserBoundary(e, f, p.Symbol, off-p.Off, p.Off, 0)
	}
	return 0, fmt.Errorf("%s: %s lies at %#x, in no executable segment", path, p.Symbol, vaddr)
}

// checkUserAddr refuses a probe at a file offset that is inside an instruction of a function, and a
// return probe inside a function. Whatever else may be wrong with a file the kernel says.
func checkUserAddr(path string, p Probe) error {
	off := p.Addr
	f, e, err := openProgram(path)
	if err != nil {
		return nil
	}
	defer f.Close() // read only: nothing to lose
	symtab, _ := e.Symbols()
	dynsym, _ := e.DynamicSymbols()
	for _, seg := range e.Progs {
		if seg.Type != elf.PT_LOAD || seg.Flags&elf.PF_X == 0 || off-seg.Off >= seg.Filesz {
			continue
		}
		vaddr := off - seg.Off + seg.Vaddr
		var in elf.Symbol // the innermost function
		for _, s := range append(symtab, dynsym...) {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && vaddr-s.Value < s.Size && s.Value >= max(in.Value, seg.Vaddr) {
				in = s
			}
		}
		if in.Size > 0 {
			start := in.Value - seg.Vaddr + seg.Off
			if p.Return && off == start {
				return checkGoReturn(e, f, p, in, off)
			} else if p.Return {
				return errkind.Errorf(os.ErrInvalid, "a return probe stands at a function's entry: %#x is in %s, which begins at %#x", off, in.Name, start)
			}
			return checkUserBoundary(e, f, in.Name, start, off-start, start)
		}
	}
	return nil
}

// severalUserFunctions offers a spelling for each of several functions of one name.
func severalUserFunctions(e *elf.File, p Probe, found []userFunc) error {
	kind := "uprobe:"
	if p.Return {
		kind = "uretprobe:"
	}
	const most = 8
	var each []string
	for _, f := range found[:min(len(found), most)] {
		off, _ := segmentOffset(e, f.Value+p.Off, elf.PF_X)
		spelling := fmt.Sprintf("%s%s:%#x", kind, p.Path, off)
		if f.file != "" {
			spelling += " of " + f.file
		}
		each = append(each, spelling)
	}
	if len(found) > most {
		each = append(each, fmt.Sprintf("and %d more", len(found)-most))
	}
	return errkind.Errorf(os.ErrInvalid, "%d functions are called %s; probe one by its place: %s", len(found), p.Symbol, strings.Join(each, ", "))
}

// userFunc is a function of a program.
type userFunc struct {
	elf.Symbol
	file string // the source file of one that others do not see, if that is known
}

// splitVersion is s with its version apart, which in symtab linkers write behind the name, with @@
// where it is the default.
func splitVersion(s elf.Symbol) elf.Symbol {
	if n, v, ok := strings.Cut(s.Name, "@"); ok && !s.HasVersion {
		s.Name, s.Version, s.HasVersion = n, strings.TrimPrefix(v, "@"), true
		if !strings.HasPrefix(v, "@") {
			s.VersionIndex = 1 << 15 // hidden
		}
	}
	return s
}

// findFunctions looks the functions of a name up in symtab and dynsym: NAME, or NAME@VERSION. Of a
// NAME with versions it is the default one, which programs are linked with today; others are
// the functions of its other versions, as NAME@VERSION. Without an error there is one at least.
func findFunctions(e *elf.File, name string) (found []userFunc, others []string, err error) {
	symtab, err := e.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil, err
	}
	dynsym, err := e.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil, err
	}
	base, version, versioned := strings.Cut(name, "@")
	version = strings.TrimPrefix(version, "@")
	var all []userFunc
	var names []string
	file := ""                      // the source file of the local symbols that come now
	current := map[uint64]bool{}    // addresses of default versions
	hidden := map[uint64][]string{} // those of others
	for _, s := range slices.Concat(symtab, dynsym) {
		typ := elf.ST_TYPE(s.Info)
		if typ == elf.STT_FILE {
			file = s.Name
		}
		if s.Section == elf.SHN_UNDEF || typ != elf.STT_FUNC && typ != elf.STT_NOTYPE {
			continue
		}
		s = splitVersion(s)
		full := s.Name
		if versioned {
			full += "@" + s.Version
		}
		if typ == elf.STT_FUNC {
			names = append(names, full)
		}
		if s.Name != base || versioned && s.Version != version {
			continue
		}
		f := userFunc{Symbol: s}
		if elf.ST_BIND(s.Info) == elf.STB_LOCAL {
			f.file = file
		}
		all = append(all, f)
		switch {
		case versioned || !s.HasVersion:
		case s.VersionIndex.IsHidden():
			hidden[s.Value] = append(hidden[s.Value], s.Name+"@"+s.Version)
		default:
			current[s.Value] = true
		}
	}
	if len(all) == 0 {
		return nil, nil, errkind.Errorf(os.ErrNotExist, "no function %q in symtab or dynsym%s", name, spelling.Question(spelling.Closest(name, names)))
	}
	maps.DeleteFunc(hidden, func(addr uint64, _ []string) bool { return current[addr] })
	without := func(drop func(f userFunc) bool) bool {
		rest := slices.DeleteFunc(slices.Clone(all), drop)
		if len(rest) > 0 {
			all = rest
		}
		return len(rest) > 0
	}
	if without(func(f userFunc) bool { return hidden[f.Value] != nil }) {
		others = slices.Concat(slices.Collect(maps.Values(hidden))...)
		slices.Sort(others)
		others = slices.Compact(others)
	}
	without(func(f userFunc) bool { return elf.ST_TYPE(f.Info) == elf.STT_NOTYPE }) // labels, where there is better
	slices.SortStableFunc(all, func(a, b userFunc) int { return cmp.Compare(a.Value, b.Value) })
	return slices.CompactFunc(all, func(a, b userFunc) bool { return a.Value == b.Value }), others, nil
}

// otherVersions says which functions of p's name a probe of its default version does not see.
func otherVersions(p Probe) []string {
	f, e, err := openProgram(p.Path)
	if err != nil {
		return nil
	}
	defer f.Close() // read only: nothing to lose
	_, others, err := findFunctions(e, p.Symbol)
	if err != nil || len(others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("programs that were built with an older %s call others, which this probe does not see: %s", filepath.Base(p.Path), strings.Join(others, ", "))}
}

// checkUserBoundary is checkBoundary for the code of a file e, which f reads, a function of
// which begins at the file offset start; shown is what the offset is counted from in an
// error. The kernel does not look: it writes its breakpoint into the middle of an
// instruction, and the program goes astray.
func checkUserBoundary(e *elf.File, f io.ReaderAt, name string, start, off, shown uint64) error {
	bits := 64
	switch {
	case off == 0:
		return nil
	case e.Machine == elf.EM_AARCH64:
		if off%4 != 0 {
			return insideInstruction(name, shown+off, shown+off&^3, shown+off&^3+4)
		}
		return nil
	case e.Machine == elf.EM_386:
		bits = 32
	case e.Machine != elf.EM_X86_64:
		return nil
	}
	code := make([]byte, min(off, 1<<20)+16)
	n, _ := f.ReadAt(code, int64(start))
	if before, after, ok := boundaries(code[:n], bits, off); ok && after != off {
		return insideInstruction(name, shown+off, shown+before, shown+after)
	}
	return nil
}
