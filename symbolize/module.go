package symbolize

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kprof/perfevent/procfs"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/regular"
)

type moduleKey struct{ name, id string }

// moduleTree is the modules in a directory tree: their paths, by name.
type moduleTree map[string][]string

// addModule adds the file of module m to t: its debug information and, where t
// has no names, these too.
func (s *Symbolizer) addModule(t *kernelTable, m Mapping) error {
	file, moved, err := s.moduleFile(m)
	if err != nil {
		return err
	}
	t.file, t.moved = file, moved
	t.byFile = len(t.names) == 0
	return nil
}

// moduleFile returns the file of module m, and what to add to an address of m to find it
// there.
func (s *Symbolizer) moduleFile(m Mapping) (file *elfsym.File, moved uint64, err error) {
	name, id := procfs.ModuleName(m.Path()), m.BuildID
	if name == "" || m.Start == 0 {
		return nil, 0, notFound("module of unknown name or address")
	}
	if trimBuildID(id) == "" && !s.opts.Foreign {
		id = ownBuildID(procfs.ModuleNotes(name))
	}
	if len(buildIDsOf(id)) == 0 {
		return nil, 0, notFound("file of module " + name + ", whose build id is not known")
	}
	file, err = s.modules.get(moduleKey{name, trimBuildID(id)}, func() (*elfsym.File, error) {
		return s.findModule(name, id, m.Path())
	})
	if err != nil {
		return nil, 0, err
	}
	text, ok := file.ModuleText()
	if !ok {
		return nil, 0, fmt.Errorf("module %s: no section .text", name)
	}
	moved = -m.Start
	if by, ok := s.movedBySymbols(file, m, name); ok {
		moved = by
	}
	if !s.opts.Foreign {
		if now, ok := ownModuleText(name); ok && now >= m.Start && now < m.Limit {
			moved = text - now
		}
	}
	return file, moved, nil
}

// movedBySymbols returns what to add to an address of a module to find it in its file, by the first function
// that has one name in the file, and where the kernel had that. What stands in front of .text is as large as
// the kernel found it to be when it loaded the module, such as the stubs of arm64.
func (s *Symbolizer) movedBySymbols(file *elfsym.File, m Mapping, module string) (moved uint64, ok bool) {
	names, _ := s.kallsymsTable(m) // without names there are none to go by
	if names == nil {
		return 0, false
	}
	type found struct {
		start uint64
		n     int
	}
	byName := map[string]found{}
	for f := range file.Functions() {
		byName[f.Name] = found{f.Start, byName[f.Name].n + 1}
	}
	for sym := range names.table.Within(m.Start, m.Limit) {
		if f := byName[sym.Name]; sym.Module == module && f.n == 1 {
			return f.start - sym.Start, true
		}
	}
	return 0, false
}

// ownModuleText returns where the kernel that runs here has .text of a module.
func ownModuleText(name string) (uint64, bool) {
	data, err := os.ReadFile(filepath.Join("/sys/module", name, "sections/.text"))
	if err != nil {
		return 0, false
	}
	addr, err := strconv.ParseUint(strings.TrimSpace(string(data)), 0, 64)
	return addr, err == nil && addr != 0
}

// findModule looks for the file of a module with a build id: in the debug trees
// by that id, where it was recorded, in the trees of the release by its name.
func (s *Symbolizer) findModule(name, id, recorded string) (*elfsym.File, error) {
	places := s.placesByID(id, "debug")
	if rel := s.release(); rel != "" {
		for _, dir := range append(s.debugDirs(), "/") {
			for _, path := range s.moduleTree(filepath.Join(dir, "lib/modules", rel))[name] {
				places = append(places, place{root: s.opts.Root, path: path})
			}
		}
	}
	if strings.HasPrefix(recorded, "/") {
		places = append(places, place{root: s.opts.Root, path: recorded})
	}
	var why error
	for _, p := range places {
		file, err := s.openModule(p, id)
		if err == nil {
			s.keep(file)
			return file, nil
		}
		why = moreTelling(why, err)
	}
	if f, path, err := s.servers.fetchRecorded(id, "debuginfo"); err == nil {
		f.Close() // it is opened again as any other
		file, err := s.openModule(place{path: path}, id)
		if err == nil {
			s.keep(file)
		}
		return file, err
	}
	if why == nil || errors.Is(why, fs.ErrNotExist) {
		why = notFound("file of module " + name + " with build id " + id)
	}
	return nil, why
}

// openModule opens the module at p, compressed or not, if it has the build id.
func (s *Symbolizer) openModule(p place, id string) (*elfsym.File, error) {
	f, _, err := regular.Open(p.root, p.path)
	if err != nil {
		return nil, err
	}
	opts := elfsym.Options{Root: s.opts.Root, DebugDirs: s.opts.DebugDirs, DWARF: s.opts.debug(), Module: true}
	file, err := elfsym.FromCompressed(f, p.path, opts)
	if err != nil {
		return nil, err
	}
	if found := hex.EncodeToString(file.BuildID()); !sameBuildID(id, found) {
		err = &BuildIDError{Path: p.String(), Recorded: id, Found: found}
	} else {
		err = file.Load()
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// maxModules bounds how many files of a tree are looked at. Distributions have
// some six thousand.
const maxModules = 1 << 17

// moduleTree lists the modules below dir, a path below Root.
func (s *Symbolizer) moduleTree(dir string) moduleTree {
	tree, _ := s.trees.get(dir, func() (moduleTree, error) {
		tree := moduleTree{}
		seen := 0
		base := filepath.Join(s.opts.Root, dir)
		// What cannot be read is not there.
		filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if seen++; seen > maxModules {
				return fs.SkipAll
			}
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			file, _, ok := strings.Cut(d.Name(), ".ko")
			if rel, err := filepath.Rel(base, path); ok && err == nil {
				name := strings.ReplaceAll(file, "-", "_")
				tree[name] = append(tree[name], filepath.Join(dir, rel))
			}
			return nil
		})
		return tree, nil
	})
	return tree
}
