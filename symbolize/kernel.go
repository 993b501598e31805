package symbolize

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"kprof/perfevent/procfs"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/kallsyms"
	"kprof/symbolize/mapping"
	"kprof/symbolize/regular"
)

const (
	ownKallsyms = "/proc/kallsyms"
	sysfs       = "/sys"
)

// kernel is the symbol table of the recorded kernel, read once.
type kernel struct {
	once  sync.Once
	table *kallsyms.Table
	err   error // also beside a table, of which then some lines are missing
	own   bool  // the table is this machine's, now
	id    string
}

// load reads the table that opts name.
func (k *kernel) load(opts Options) {
	k.once.Do(func() {
		r := opts.Kallsyms
		name, parse := "kallsyms", kallsyms.Parse
		if r == nil {
			name = opts.KallsymsPath
			if name == "" {
				k.own, name = true, ownKallsyms
				r = opts.RunningKallsyms
			}
		}
		switch {
		case r != nil && opts.EveryName:
			parse = kallsyms.ParseAll
		case r != nil && opts.ParseKallsyms != nil:
			parse = opts.ParseKallsyms
		}
		if r == nil {
			f, _, err := regular.OpenWith(name, regular.Options{Kernel: true})
			if err != nil {
				if k.err = err; !k.own {
					k.err = &KallsymsError{name, err}
				}
				return
			}
			defer f.Close()
			r = f
		}
		k.table, k.err = parse(r)
		if k.err != nil {
			k.err = fmt.Errorf("%s: %w", name, k.err)
		}
		if k.own {
			k.id = ownBuildID(procfs.KernelNotes)
		}
	})
}

// ownBuildID returns the build id in a file of notes of this machine's sysfs, empty if
// it cannot be read.
func ownBuildID(name string) string {
	return hex.EncodeToString(procfs.ReadBuildID(os.DirFS(sysfs), name))
}

// kernelTable names addresses of the kernel and its modules, by kallsyms, or by
// files with symbols where these are asked for, tell more, or are all there is.
func (s *Symbolizer) kernelTable(m Mapping) (Table, error) {
	if m.Kind == mapping.Kernel && s.opts.Vmlinux != "" {
		return s.givenVmlinux(m)
	}
	names, err := s.kallsymsTable(m)
	if names != nil && !s.opts.debug() || m.Kind == mapping.BPF {
		return asTable(names), err
	}
	t := kernelTable{inline: s.opts.Inline}
	if names != nil {
		t.names = []movedTable{*names}
	}
	var more error
	if m.Kind == mapping.Kernel {
		more = s.addVmlinux(&t, m)
	} else {
		more = s.addModule(&t, m)
	}
	if len(t.names) == 0 && t.file == nil {
		return nil, moreTelling(err, more)
	}
	t.why = more
	if names != nil {
		return t, err
	}
	return t, nil
}

// asTable is nil for a nil *movedTable.
func asTable(t *movedTable) Table {
	if t == nil {
		return nil
	}
	return kernelTable{names: []movedTable{*t}}
}

// kallsymsTable returns the names of kallsyms for m. This machine's symbols are
// used only for the kernel that runs here: build ids must agree where both are
// known.
func (s *Symbolizer) kallsymsTable(m Mapping) (*movedTable, error) {
	s.kernel.load(s.opts)
	k := &s.kernel
	if k.table == nil {
		return nil, k.err
	}

	t := movedTable{table: k.table}
	switch m.Kind {
	case mapping.Module:
		t.module = procfs.ModuleName(m.Path())
	case mapping.BPF:
		t.module = "bpf"
	}
	verified := !k.own
	if k.own {
		notes, id := procfs.KernelNotes, k.id
		if m.Kind == mapping.Module && t.module != "" && m.BuildID != "" {
			notes = procfs.ModuleNotes(t.module)
			id = ownBuildID(notes)
		}
		if id != "" && m.BuildID != "" {
			if !sameBuildID(m.BuildID, id) {
				return nil, s.foreign(&BuildIDError{Path: sysfs + "/" + notes, Recorded: m.BuildID, Found: id})
			}
			verified = true
		}
		if s.opts.Foreign && (!verified || m.Kind != mapping.Kernel || m.Offset == 0) {
			return nil, s.errForeign()
		}
	}
	if m.Kind == mapping.Kernel {
		t.moved = moved(k.table, m)
		if t.moved != 0 && !verified {
			return nil, fmt.Errorf("%w: the kernel started at another address", ErrForeign)
		}
	}
	return &t, k.err
}

// guestTable names addresses of the kernel of a virtual machine.
func (s *Symbolizer) guestTable(m Mapping) (Table, error) {
	g := &s.guest
	g.once.Do(func() {
		switch {
		case s.opts.GuestVmlinux != "":
			f, _, err := regular.Open("", s.opts.GuestVmlinux)
			if err == nil {
				g.file, err = s.loadVmlinux(f, s.opts.GuestVmlinux)
			}
			if g.err = err; err == nil {
				g.table = g.file.table
			}
		case s.opts.GuestKallsyms != "":
			f, _, err := regular.OpenWith(s.opts.GuestKallsyms, regular.Options{})
			if err != nil {
				g.err = err
				return
			}
			defer f.Close()
			if g.table, g.err = kallsyms.Parse(f); g.err != nil {
				g.err = fmt.Errorf("%s: %w", s.opts.GuestKallsyms, g.err)
			}
		default:
			g.err = ErrGuest
		}
	})
	if g.table == nil {
		return nil, g.err
	}
	t := movedTable{table: g.table, moved: moved(g.table, m)}
	k := kernelTable{names: []movedTable{t}, moved: t.moved, inline: s.opts.Inline}
	if g.file != nil && s.opts.debug() {
		k.file = g.file.file
	}
	return guestNames{k}, g.err
}

// GuestSuffix is what stands behind the names of functions of a virtual machine's kernel, since the
// host's are called the same: as flamegraph.pl's annotations are written, with perf report's letter.
const GuestSuffix = "_[g]"

// guestNames are names of the kernel of a virtual machine.
type guestNames struct{ kernelTable }

func (t guestNames) Lookup(dst []Frame, addr uint64) []Frame {
	from := len(dst)
	dst = t.kernelTable.Lookup(dst, addr)
	for i := from; i < len(dst); i++ {
		dst[i].Name += GuestSuffix
	}
	return dst
}

// guest is the symbol table of the kernel of a virtual machine, read once.
type guest struct {
	once  sync.Once
	table *kallsyms.Table
	file  *vmlinux // nil for kallsyms
	err   error
}

// FindCode finds the function at a run-time address of a kernel, and how far into it the
// address is; ok is false where there is none.
type FindCode func(addr uint64) (name string, offset uint64, ok bool)

// KernelCode returns what finds the function at a run-time address of the recorded kernel
// and its modules, and how far into it the address is: nil where its symbols are not to be
// had, for which the error has the reason. m is the kernel's own mapping.
func (s *Symbolizer) KernelCode(m Mapping) (FindCode, error) {
	t, err := s.kallsymsTable(m)
	if t == nil {
		return nil, err
	}
	return func(addr uint64) (string, uint64, bool) {
		sym, ok := t.table.Lookup(addr + t.moved)
		if !ok || t.moved != 0 && sym.Module != "" {
			return "", 0, false
		}
		return sym.Name, addr + t.moved - sym.Start, true
	}, nil
}

// moved returns what to add to a recorded address to find it in the table: a
// kernel is placed anew at each boot (KASLR).
func moved(table *kallsyms.Table, m Mapping) uint64 {
	text, stext := table.Text()
	now := text
	if m.Symbol == "_stext" || text == 0 && m.Symbol != "_text" {
		now = stext
	}
	if m.Offset == 0 || now == 0 {
		return 0
	}
	return now - m.Offset
}

// movedTable is a kallsyms table seen from one mapping.
type movedTable struct {
	table  *kallsyms.Table
	module string // the only one whose names may appear; empty for any
	moved  uint64 // to add to an address of the mapping
}

func (t *movedTable) name(addr uint64) string {
	sym, ok := t.table.Lookup(addr + t.moved)
	// A module is not where it was when the kernel was elsewhere.
	if !ok || t.module != "" && sym.Module != t.module || t.moved != 0 && sym.Module != "" {
		return ""
	}
	return sym.Name
}

// kernelTable names addresses of the kernel or of a module.
type kernelTable struct {
	names  []movedTable // the first that knows an address counts
	file   *elfsym.File // vmlinux or module, nil if there is none
	moved  uint64       // to add to an address to find it in file
	byFile bool         // file has names too
	inline bool
	why    error // there is no file
}

func (t kernelTable) debugErr() error {
	if t.file == nil {
		return t.why
	}
	return t.file.DebugErr()
}

func (t kernelTable) Lookup(dst []Frame, addr uint64) []Frame {
	var sym elfsym.Symbol
	for i := range t.names {
		if sym.Name = t.names[i].name(addr); sym.Name != "" {
			break
		}
	}
	if sym.Name == "" {
		if !t.byFile {
			return dst
		}
		sym, _ = t.file.Lookup(addr + t.moved)
	}
	return appendNamed(dst, t.file, addr+t.moved, t.inline, sym, undemangled)
}

// undemangled leaves names of the kernel as they are.
var undemangled = newDemangler(DemangleNone)

// vdso is the vdso of this machine, read once.
type vdso struct {
	once  sync.Once
	table *fileTable
	err   error
}

var (
	errNoVDSO     = errors.New("this machine has no vdso")
	errWideVDSO   = errors.New("a vdso of 64 bits, of which a program of 32 bits has no copy")
	errNarrowVDSO = errors.New("a vdso of 32 bits, of which a program of 64 bits has no copy")
)

// vdsoTable names offsets of the vdso. The kernel carries it, so that there is
// no file; but every process has a copy, this one too. Perf keeps one of each in its cache.
func (s *Symbolizer) vdsoTable(m Mapping) (Table, error) {
	if s.opts.Foreign && m.BuildID == "" {
		return nil, s.errForeign()
	}
	switch narrow := m.Limit != 0 && m.Limit-1 <= math.MaxUint32; {
	case strconv.IntSize == 32 && m.Start > math.MaxUint32:
		return nil, errWideVDSO
	case strconv.IntSize == 64 && narrow:
		return nil, errNarrowVDSO
	}
	v := &s.vdso
	v.once.Do(func() {
		file, err := ownVDSO()
		if err != nil {
			v.err = err
			return
		}
		v.table = &fileTable{file: file, demangle: newDemangler(DemangleNone), frames: s.callFrames(file)}
		if err := file.Load(); !errors.Is(err, ErrStripped) {
			v.table.why = err // it has .dynsym only, with all that it exports
		}
	})
	var found string
	if v.err == nil {
		found = hex.EncodeToString(v.table.file.BuildID())
	}
	if m.BuildID != "" && !sameBuildID(m.BuildID, found) {
		if t := s.cachedVDSO(m); t != nil {
			return t, nil
		}
	}
	if v.err != nil {
		return nil, v.err
	}
	if m.BuildID != "" && !sameBuildID(m.BuildID, found) {
		return nil, s.foreign(&BuildIDError{Path: "this machine's vdso", Recorded: m.BuildID, Found: found})
	}
	return v.table, v.table.why
}

// cachedVDSO returns the vdso of m as perf has kept it, nil if it has not.
func (s *Symbolizer) cachedVDSO(m Mapping) *fileTable {
	for _, p := range s.placesByID(m.BuildID, "vdso") {
		if t, err := s.file(p, m); err == nil && t.file != nil && (t.why == nil || errors.Is(t.why, ErrStripped)) {
			return t
		}
	}
	return nil
}

// ownVDSO reads the vdso of this process out of its memory.
func ownVDSO() (*elfsym.File, error) {
	start, end, err := ownMapping("[vdso]")
	if err != nil {
		return nil, err
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	image := make([]byte, end-start)
	if _, err := io.ReadFull(io.NewSectionReader(mem, int64(start), int64(end-start)), image); err != nil {
		return nil, fmt.Errorf("read vdso at %#x: %w", start, err)
	}
	return elfsym.New(bytes.NewReader(image), elfsym.Options{DebugDirs: []string{}})
}

// ownMapping returns where this process has the named mapping.
func ownMapping(name string) (start, end uint64, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasSuffix(line, " "+name) {
			continue
		}
		const limit = 1 << 20 // a vdso is a few pages
		if _, err := fmt.Sscanf(line, "%x-%x ", &start, &end); err != nil || end <= start || end-start > limit {
			return 0, 0, fmt.Errorf("mapping %q: %w", line, fs.ErrInvalid)
		}
		return start, end, nil
	}
	return 0, 0, errNoVDSO
}
