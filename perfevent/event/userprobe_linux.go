package event

import (
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
		return p.Addr, checkUserAddr(path, p.Addr)
	}
	f, err := openRegular(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() // read only: nothing to lose
	e, err := elf.NewFile(f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	sym, _, err := findSymbol(e, p.Symbol)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if p.Off >= max(sym.Size, 1) && sym.Size != 0 {
		return 0, fmt.Errorf("%s: offset %d is outside %s, which has %d bytes", path, p.Off, p.Symbol, sym.Size)
	}
	vaddr := sym.Value + p.Off
	if off, ok := segmentOffset(e, vaddr, elf.PF_X); ok {
		return off, checkUserBoundary(e, f, p.Symbol, off-p.Off, p.Off, 0)
	}
	return 0, fmt.Errorf("%s: %s lies at %#x, in no executable segment", path, p.Symbol, vaddr)
}

// checkUserAddr refuses a file offset that is inside an instruction of a function. Whatever
// else may be wrong with a file the kernel says.
func checkUserAddr(path string, off uint64) error {
	f, err := openRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close() // read only: nothing to lose
	e, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
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
			return checkUserBoundary(e, f, in.Name, start, off-start, start)
		}
	}
	return nil
}

// findSymbol looks a function up in symtab and dynsym: NAME, or NAME@VERSION. Of a NAME with
// versions it is the default one, which programs are linked with today; others are the
// functions of its other versions, as NAME@VERSION.
func findSymbol(e *elf.File, name string) (found elf.Symbol, others []string, err error) {
	symtab, err := e.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return elf.Symbol{}, nil, err
	}
	dynsym, err := e.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return elf.Symbol{}, nil, err
	}
	base, version, versioned := strings.Cut(name, "@")
	version = strings.TrimPrefix(version, "@")
	var all []elf.Symbol
	var names []string
	current := map[uint64]bool{}    // addresses of default versions
	hidden := map[uint64][]string{} // those of others
	for _, s := range slices.Concat(symtab, dynsym) {
		typ := elf.ST_TYPE(s.Info)
		if s.Section == elf.SHN_UNDEF || typ != elf.STT_FUNC && typ != elf.STT_NOTYPE {
			continue
		}
		// In symtab linkers write the version behind the name, with @@ where it is the default.
		if n, v, ok := strings.Cut(s.Name, "@"); ok && !s.HasVersion {
			s.Name, s.Version, s.HasVersion = n, strings.TrimPrefix(v, "@"), true
			if !strings.HasPrefix(v, "@") {
				s.VersionIndex = 1 << 15
			}
		}
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
		all = append(all, s)
		switch {
		case versioned || !s.HasVersion:
		case s.VersionIndex.IsHidden():
			hidden[s.Value] = append(hidden[s.Value], s.Name+"@"+s.Version)
		default:
			current[s.Value] = true
		}
	}
	if len(all) == 0 {
		return elf.Symbol{}, nil, errkind.Errorf(os.ErrNotExist, "no function %q in symtab or dynsym%s", name, spelling.Question(spelling.Closest(name, names)))
	}
	maps.DeleteFunc(hidden, func(addr uint64, _ []string) bool { return current[addr] })
	isHidden := func(s elf.Symbol) bool { return hidden[s.Value] != nil }
	if visible := slices.DeleteFunc(slices.Clone(all), isHidden); len(visible) > 0 {
		all = visible
		others = slices.Concat(slices.Collect(maps.Values(hidden))...)
		slices.Sort(others)
		others = slices.Compact(others)
	}
	return all[0], others, nil
}

// otherVersions says which functions of p's name a probe of its default version does not see.
func otherVersions(p Probe) []string {
	f, err := openRegular(p.Path)
	if err != nil {
		return nil
	}
	defer f.Close() // read only: nothing to lose
	e, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
	_, others, err := findSymbol(e, p.Symbol)
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
