package elfsym

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"kprof/symbolize/internal/srcline"
	"kprof/symbolize/regular"
)

// splitFiles are the files with the functions of a file whose debug information is
// split (-gsplit-dwarf): .dwo files, of which each compiler run leaves one, and packages
// of these (.dwp).
type splitFiles struct {
	mu       sync.Mutex
	packages []*srcline.Package
	looked   bool              // for packages
	images   map[string]*image // of mapped files, by path
	refused  error             // why not the first package found
}

// maxSplitMapped bounds how many files are mapped at once, of the 65530 mappings that
// Linux by default lets a process have. The sections of more are read.
const maxSplitMapped = 1 << 14

func (s *splitFiles) close() {
	for _, im := range s.images {
		im.close()
	}
	s.images, s.packages = nil, nil
}

// openSplit returns the sections with a unit of f, of a package or of a .dwo file.
func (f *File) openSplit(u srcline.SplitUnit) (srcline.Sections, error) {
	s := &f.debug.split
	s.mu.Lock()
	defer s.mu.Unlock()
	packages := f.packagePaths()
	if !s.looked {
		s.looked = true
		for _, path := range packages {
			f.openPackage(path)
		}
	}
	for _, p := range s.packages {
		if sections, ok := p.Unit(u.ID); ok && sections.HasSplit(u.ID) {
			return sections, nil
		}
	}
	paths := f.splitPaths(u)
	var refused error
	for _, path := range paths {
		var sections srcline.Sections
		err := f.withSplit(path, func(im *image) (err error) {
			sections, err = im.splitSections(u.ID)
			return err
		})
		if err == nil {
			return sections, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			refused = cmp.Or(refused, err)
		}
	}
	refused = cmp.Or(refused, s.refused, error(fs.ErrNotExist))
	return srcline.Sections{}, fmt.Errorf("%s with id %016x: %w", strings.Join(slices.Concat(paths[:1], packages[:min(1, len(packages))]), " or "), u.ID, refused)
}

var errOtherBuild = errors.New("it is of another build")

// splitSections returns the sections of a .dwo file, with the unit that has id. Of type
// units, each may be in a .debug_info.dwo of its own: these are passed over.
func (im *image) splitSections(id uint64) (srcline.Sections, error) {
	s, err := im.sections(".dwo")
	if err != nil || s.HasSplit(id) {
		return s, err
	}
	left := im.size // sections that do not overlap have no more
	first := true
	for i, sec := range im.elf.Sections {
		if sec.Type == elf.SHT_NOBITS || sec.Name != ".debug_info.dwo" {
			continue
		}
		if left -= int64(min(sec.FileSize, math.MaxInt64)); left < 0 {
			break
		}
		if first {
			first = false
			continue
		}
		var mapped bool
		if s.Info, mapped, err = im.contents(i); err != nil {
			return s, err
		}
		if s.HasSplit(id) {
			if !mapped {
				s.Memory += len(s.Info)
			}
			return s, nil
		}
	}
	return s, errOtherBuild
}

// splitPaths returns where the .dwo file of a unit may be: where it was built, else
// beside f or its debug file. It is one path at least.
func (f *File) splitPaths(u srcline.SplitUnit) []string {
	built := u.Name
	if !filepath.IsAbs(built) {
		built = filepath.Join(u.Dir, built)
	}
	var paths []string
	add := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	if filepath.IsAbs(built) {
		add(built)
	}
	for _, own := range f.ownPaths() {
		dir := filepath.Dir(own)
		add(filepath.Join(dir, filepath.Base(u.Name)))
		if !filepath.IsAbs(u.Name) {
			add(filepath.Join(dir, u.Name))
			if !filepath.IsAbs(u.Dir) {
				add(filepath.Join(dir, built))
			}
		}
	}
	add(built)
	return paths
}

// packagePaths returns where a package of .dwo files may be: beside f and its debug file,
// and in the directories of debug files.
func (f *File) packagePaths() []string {
	var paths []string
	for _, own := range f.ownPaths() {
		paths = append(paths, own+".dwp")
		if base, ok := strings.CutSuffix(own, ".debug"); ok {
			paths = append(paths, base+".dwp")
		}
	}
	if f.path != "" {
		for _, dir := range f.debugDirs() {
			paths = append(paths, filepath.Join(dir, f.path+".dwp"))
		}
	}
	for _, path := range f.byBuildID(f.buildID) {
		paths = append(paths, strings.TrimSuffix(path, ".debug")+".dwp")
	}
	return paths
}

// ownPaths returns the paths of f and of the file with its DWARF.
func (f *File) ownPaths() []string {
	var paths []string
	if f.path != "" {
		paths = append(paths, f.path)
	}
	if path := f.debug.images[0].path; path != "" && path != f.path {
		paths = append(paths, path)
	}
	return paths
}

// openPackage adds the package of .dwo files at path, if there is one.
func (f *File) openPackage(path string) {
	s := &f.debug.split
	err := f.withSplit(path, func(im *image) error {
		sections, err := im.sections(".dwo")
		if err != nil {
			return err
		}
		index, _, err := im.debugSection("cu_index")
		if err != nil {
			return err
		}
		p, err := srcline.NewPackage(sections, index)
		if err == nil {
			s.packages = append(s.packages, p)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.refused = cmp.Or(s.refused, err)
	}
}

// withSplit opens the file at path for use, which takes sections from it. If use
// succeeds, these stay readable until f is closed.
func (f *File) withSplit(path string, use func(*image) error) error {
	s := &f.debug.split
	if im := s.images[path]; im != nil {
		return wrapPath(path, use(im))
	}
	file, info, err := regular.Open(f.opts.Root, path)
	if err != nil {
		return err
	}
	defer file.Close() // only read, and mapped
	var r io.ReaderAt = file
	var mapped []byte
	if size := info.Size(); len(s.images) < maxSplitMapped && size > 0 && int64(int(size)) == size {
		if mapped = mapFile(file, int(size)); mapped != nil {
			r = bytes.NewReader(mapped)
		}
	}
	im := &image{path: path, mapped: mapped, size: info.Size()}
	if err = checkHeader(r); err == nil {
		im.elf, err = elf.NewFile(r)
	}
	if err == nil {
		err = use(im)
	}
	switch {
	case err != nil:
		im.close()
	case mapped != nil:
		if s.images == nil {
			s.images = map[string]*image{}
		}
		s.images[path] = im
	}
	return wrapPath(path, err)
}

func wrapPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}
