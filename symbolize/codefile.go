package symbolize

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
	"kprof/symbolize/regular"
)

// ErrNoCodeFile reports code that is in no file: that of BPF programs, of JIT compilers, of
// the vdso.
var ErrNoCodeFile = errors.New("its code is in no file")

// Code is an ELF file with the code of a mapping.
type Code struct {
	Path string
	// Vaddr returns the address in the file of an address of the mapping as Resolve takes
	// them; ok is false outside of the file.
	Vaddr func(addr uint64) (vaddr uint64, ok bool)
	// Unplaced is why Vaddr knows no address: of a kernel of which is not known where it was.
	Unplaced error
	// Open opens it, with the symbols and debug information that Resolve finds of it, which
	// may be in another file. Its caller closes it.
	Open func() (*elfsym.File, error)
}

// Code finds the file with the code of m, among those that Resolve takes names from: with
// the recorded build id, where there is one. It lasts until Close.
func (s *Symbolizer) Code(m Mapping) (*Code, error) {
	switch m.Kind {
	case mapping.User:
		return s.userCode(m)
	case mapping.Kernel:
		return s.kernelCode(m)
	case mapping.Module:
		file, moved, err := s.moduleFile(m)
		if err != nil {
			return nil, s.foreign(err)
		}
		open := func() (*elfsym.File, error) {
			f, _, err := regular.Open(s.opts.Root, file.Path())
			if err != nil {
				return nil, err
			}
			o := s.codeOptions(m)
			o.Module = true
			return elfsym.FromCompressed(f, file.Path(), o)
		}
		return &Code{Path: s.path(file.Path()), Vaddr: movedInto(file, moved), Open: open}, nil
	}
	return nil, ErrNoCodeFile
}

// codeOptions say where the file of m has its symbols and debug information, as for names.
func (s *Symbolizer) codeOptions(m Mapping) elfsym.Options {
	return elfsym.Options{Root: s.opts.Root, DebugDirs: s.opts.DebugDirs, DWARF: true, Fetch: s.fetchDebug(m)}
}

// movedInto returns what finds addresses in a file that is loaded as a whole.
func movedInto(file *elfsym.File, moved uint64) func(addr uint64) (uint64, bool) {
	return func(addr uint64) (uint64, bool) {
		_, ok := file.Offset(addr + moved)
		return addr + moved, ok
	}
}

func (s *Symbolizer) kernelCode(m Mapping) (*Code, error) {
	v, err := s.vmlinuxOf(m)
	if err != nil {
		return nil, s.foreign(err)
	}
	s.kernel.load(s.opts) // tells where the kernel that runs here is
	shift, unplaced := s.shift(v, m)
	// A profile that does not say which of the two was at Offset leaves open where the rest is.
	if text, stext := v.table.Text(); m.Symbol == "" && m.Offset != 0 && text != 0 && stext != 0 && text != stext {
		unplaced = errUnplaced
	}
	vaddr := movedInto(v.file, shift)
	if unplaced != nil {
		vaddr = func(uint64) (uint64, bool) { return 0, false }
	}
	open := func() (*elfsym.File, error) {
		f, _, err := regular.Open("", v.at)
		if err != nil {
			return nil, err
		}
		return elfsym.FromFile(f, v.path, s.codeOptions(m))
	}
	return &Code{v.at, vaddr, unplaced, open}, nil
}

// vmlinuxOf returns the vmlinux that Options name, else one with the build id of m.
func (s *Symbolizer) vmlinuxOf(m Mapping) (*vmlinux, error) {
	if s.opts.Vmlinux != "" {
		return s.checkedVmlinux(m)
	}
	return s.foundVmlinux(m)
}

func (s *Symbolizer) userCode(m Mapping) (*Code, error) {
	if err := s.checkKnown(m); err != nil {
		return nil, err
	}
	var why error
	for _, p := range s.places(m) {
		if p.link {
			continue // it leads to the file as long as the process lives
		}
		code, err := s.codeAt(p, m)
		if err == nil {
			return code, nil
		}
		why = moreTelling(why, err)
	}
	if f, path, err := s.servers.fetchRecorded(m.BuildID, "executable"); err == nil {
		f.Close() // it is opened again as any other
		if code, err := s.codeAt(place{path: path}, m); err == nil {
			return code, nil
		}
	}
	if why == nil {
		why = fmt.Errorf("find %q: %w", m.Path(), fs.ErrNotExist)
	}
	return nil, s.elsewhere(why)
}

// codeAt returns the program or library at p, if it is that of m.
func (s *Symbolizer) codeAt(p place, m Mapping) (*Code, error) {
	open := func(o elfsym.Options) (*elfsym.File, error) {
		f, info, err := p.open(m.Path(), nil)
		if err != nil {
			return nil, err
		}
		file, err := elfsym.FromFile(f, m.Path(), o)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", p, err)
		}
		if err := p.checkBuild(m, info, hex.EncodeToString(file.BuildID())); err != nil {
			file.Close()
			return nil, err
		}
		return file, nil
	}
	file, err := open(elfsym.Options{}) // to know it takes no debug information
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return &Code{Path: p.String(), Vaddr: file.Vaddr, Open: func() (*elfsym.File, error) { return open(s.codeOptions(m)) }}, nil
}

// path is where a file below Root is.
func (s *Symbolizer) path(name string) string { return place{root: s.opts.Root, path: name}.String() }
