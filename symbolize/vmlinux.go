package symbolize

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"kprof/perfevent/procfs"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/kallsyms"
	"kprof/symbolize/regular"
)

// errUnplaced: a kernel's file has the addresses it was linked for.
var errUnplaced = errors.New("the recording does not say where the kernel was loaded (KASLR)")

// vmlinux is the kernel's file with symbols.
type vmlinux struct {
	path  string
	at    string // path, with what it is below
	file  *elfsym.File
	table *kallsyms.Table // at the addresses it was linked for
}

// loadVmlinux takes over f, and reads the names of the functions in it.
func (s *Symbolizer) loadVmlinux(f *os.File, path string) (*vmlinux, error) {
	file, err := elfsym.FromFile(f, path, elfsym.Options{
		Root: s.opts.Root, DebugDirs: s.opts.DebugDirs, DWARF: s.opts.debug(),
	})
	if err != nil {
		return nil, err
	}
	s.keep(file)
	symbols, err := file.KernelSymbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var seq iter.Seq[kallsyms.RawSymbol] = func(yield func(kallsyms.RawSymbol) bool) {
		for _, s := range symbols {
			if !yield(kallsyms.RawSymbol(s)) {
				return
			}
		}
	}
	table, err := kallsyms.New(seq)
	if table == nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &vmlinux{path: path, at: path, file: file, table: table}, nil
}

// givenVmlinux names m by Options.Vmlinux, and what that does not cover (BPF
// programs, say) by kallsyms.
func (s *Symbolizer) givenVmlinux(m Mapping) (Table, error) {
	v, err := s.checkedVmlinux(m)
	if err != nil {
		return nil, err
	}
	names, _ := s.kallsymsTable(m) // its errors matter only without a vmlinux
	shift, err := s.shift(v, m)
	if err != nil {
		return nil, err
	}
	t := kernelTable{names: []movedTable{{table: v.table, moved: shift}}, file: v.file, moved: shift, inline: s.opts.Inline}
	if names != nil {
		t.names = append(t.names, *names)
	}
	if !s.opts.debug() {
		t.file = nil
	}
	return t, nil
}

// checkedVmlinux is Options.Vmlinux, if it is of the kernel of m.
func (s *Symbolizer) checkedVmlinux(m Mapping) (*vmlinux, error) {
	v, err := s.kernels.get("", s.openVmlinux)
	id := s.kernelBuildID(m)
	if err != nil {
		var image *BootImageError
		if errors.As(err, &image) && id != "" && !sameBuildID(id, image.BuildID) {
			err = &BuildIDError{Path: image.Path, Recorded: id, Found: image.BuildID}
		}
		return nil, &VmlinuxError{s.opts.Vmlinux, err}
	}
	if found := hex.EncodeToString(v.file.BuildID()); id != "" && !sameBuildID(id, found) {
		wrong := &BuildIDError{Path: v.path, Recorded: id, Found: found}
		if !s.opts.Force {
			return nil, &VmlinuxError{s.opts.Vmlinux, wrong}
		}
		s.override(wrong)
	}
	return v, nil
}

// openVmlinux reads Options.Vmlinux.
func (s *Symbolizer) openVmlinux() (*vmlinux, error) {
	path := s.opts.Vmlinux
	f, _, err := regular.Open("", path)
	if err != nil {
		return nil, err
	}
	v, err := s.loadVmlinux(f, path)
	if !errors.Is(err, elfsym.ErrNotELF) {
		return v, err
	}
	if f, _, err = regular.Open("", path); err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	image, err := elfsym.ReadBootImage(f)
	if err != nil {
		return nil, fmt.Errorf("%s: not an ELF file, nor a kernel to boot: %w", path, err)
	}
	return nil, &BootImageError{path, image.Format, hex.EncodeToString(image.BuildID)}
}

// override notes once that a file was used although it is another one.
func (s *Symbolizer) override(wrong *BuildIDError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.overridden {
		if *o == *wrong {
			return
		}
	}
	s.overridden = append(s.overridden, wrong)
}

// kernelBuildID returns the build id of the recorded kernel, empty if it is not
// known.
func (s *Symbolizer) kernelBuildID(m Mapping) string {
	if m.BuildID == "" && !s.opts.Foreign {
		return ownBuildID(procfs.KernelNotes)
	}
	return m.BuildID
}

// shift returns what to add to an address of m to find it in v.
func (s *Symbolizer) shift(v *vmlinux, m Mapping) (uint64, error) {
	if m.Offset == 0 && !s.opts.Foreign && s.kernel.own && s.kernel.table != nil {
		m.Symbol = "_stext"
		_, m.Offset = s.kernel.table.Text()
	}
	if m.Offset == 0 {
		return 0, errUnplaced
	}
	return moved(v.table, m), nil
}

// addVmlinux adds the vmlinux with the build id of m to t: its debug information
// and, where t has no names yet, these too.
func (s *Symbolizer) addVmlinux(t *kernelTable, m Mapping) error {
	v, err := s.foundVmlinux(m)
	if err != nil {
		return err
	}
	shift, err := s.shift(v, m)
	if err != nil {
		return err
	}
	if len(t.names) == 0 {
		t.names = []movedTable{{table: v.table, moved: shift}}
	}
	if s.opts.debug() {
		t.file, t.moved = v.file, shift
	}
	return nil
}

// foundVmlinux is the vmlinux with the build id of m.
func (s *Symbolizer) foundVmlinux(m Mapping) (*vmlinux, error) {
	id := s.kernelBuildID(m)
	if len(buildIDsOf(id)) == 0 {
		return nil, notFound("vmlinux of a kernel whose build id is not known")
	}
	return s.kernels.get(trimBuildID(id), func() (*vmlinux, error) { return s.findVmlinux(id) })
}

// findVmlinux looks for the vmlinux with a build id.
func (s *Symbolizer) findVmlinux(id string) (*vmlinux, error) {
	var why error
	for _, p := range s.vmlinuxPlaces(id) {
		f, _, err := regular.Open(p.root, p.path)
		if err != nil {
			why = moreTelling(why, err)
			continue
		}
		v, err := s.tryVmlinux(f, p, id)
		if v != nil {
			return v, nil
		}
		why = moreTelling(why, err)
	}
	if f, path, err := s.servers.fetchRecorded(id, "debuginfo"); err == nil {
		return s.tryVmlinux(f, place{path: path}, id)
	}
	if why == nil || errors.Is(why, fs.ErrNotExist) {
		why = notFound("vmlinux with build id " + id)
	}
	return nil, why
}

// tryVmlinux loads f if it has the build id.
func (s *Symbolizer) tryVmlinux(f *os.File, p place, id string) (*vmlinux, error) {
	head, err := elfsym.New(f, elfsym.Options{})
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", p, err)
	}
	if found := hex.EncodeToString(head.BuildID()); !sameBuildID(id, found) {
		f.Close()
		return nil, &BuildIDError{Path: p.String(), Recorded: id, Found: found}
	}
	v, err := s.loadVmlinux(f, p.path)
	if v != nil {
		v.at = p.String()
	}
	return v, err
}

// placesByID lists where a file of the kernel with a recorded build id may be by that id: in the
// debug trees, and in perf's cache, under the name that it has there or as "elf".
func (s *Symbolizer) placesByID(recorded, cached string) (places []place) {
	for _, id := range buildIDsOf(recorded) {
		for _, dir := range s.debugDirs() {
			places = append(places, place{root: s.opts.Root, path: filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")})
		}
		if cache := s.opts.BuildIDCache; cache != "" {
			dir := filepath.Join(cache, ".build-id", id[:2], id[2:])
			places = append(places, place{path: filepath.Join(dir, cached)}, place{path: filepath.Join(dir, "elf")})
		}
	}
	return places
}

// vmlinuxPlaces lists where the vmlinux with a build id may be: by that id, by
// the kernel's release, under any release.
func (s *Symbolizer) vmlinuxPlaces(id string) []place {
	places := s.placesByID(id, "vmlinux")
	patterns := []string{
		"/usr/lib/debug/lib/modules/%s/vmlinux",
		"/usr/lib/debug/boot/vmlinux-%s",
		"/boot/vmlinux-%s",
		"/lib/modules/%s/vmlinux",
		"/lib/modules/%s/build/vmlinux",
		"/usr/lib/debug/lib/modules/%s/vmlinux.debug",
	}
	if rel := s.release(); rel != "" {
		for _, pattern := range patterns {
			places = append(places, place{root: s.opts.Root, path: fmt.Sprintf(pattern, rel)})
		}
	}
	places = append(places, place{root: s.opts.Root, path: "/boot/vmlinux"}, place{root: s.opts.Root, path: "/usr/lib/debug/boot/vmlinux"})
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(s.opts.Root, fmt.Sprintf(pattern, "*")))
		if err != nil {
			continue // Root is no pattern
		}
		for _, path := range found {
			places = append(places, place{root: s.opts.Root, path: "/" + strings.TrimPrefix(strings.TrimPrefix(path, filepath.Clean(s.opts.Root)), "/")})
		}
	}
	return places
}

func (s *Symbolizer) debugDirs() []string {
	if s.opts.DebugDirs == nil {
		return []string{"/usr/lib/debug"}
	}
	return s.opts.DebugDirs
}

// release returns the recorded kernel's release, if it can be part of a path.
func (s *Symbolizer) release() string {
	rel := s.opts.Release
	if rel == "" && !s.opts.Foreign {
		b, _ := os.ReadFile("/proc/sys/kernel/osrelease") // without it, it is not known
		rel = strings.TrimSuffix(string(b), "\n")
	}
	if strings.Contains(rel, "/") || rel == "." || rel == ".." {
		return ""
	}
	return rel
}
