package main

import (
	"bytes"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/render"
	"kprof/convert/stacks"
	"kprof/perfevent/perfdata"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/kallsyms"
)

// kernelCode is the key of a kernel among the files that functions are in; those
// of others are the base names of their files.
const kernelCode = "[kernel]"

// shownCode is of how many functions the code is looked up where no limit says.
const shownCode = 100

// code returns what the builds themselves say of the functions that changed, and of
// those with samples on one side only: the sizes of their code, from the ELF files
// given by flags or found by build id, or from the symbols of a kernel that was
// recorded.
func (f *diffFlags) code(r *diff.Result, profiles [2][]*profile) (map[string]render.DiffCode, error) {
	limit := f.limit
	if limit <= 0 {
		limit = shownCode
	}
	code := map[string]render.DiffCode{}
	w := newWantedCode(&r.Options.Names)
	for i := range r.Functions {
		switch fn := &r.Functions[i]; {
		case fn.Verdict != diff.Noise && i < limit:
			w.changed[fn.Name] = true
			code[fn.Name] = render.DiffCode{}
		case fn.Verdict == diff.Noise && (fn.BaseCum == 0 || fn.NewCum == 0):
			code[fn.Name] = render.DiffCode{} // may be there in one build only
		}
	}
	if len(code) == 0 {
		return nil, nil
	}
	w.addAll(profiles, code)
	known := false
	for side := range profiles {
		found, err := f.codeOf(side, profiles[side], w)
		if err != nil {
			return nil, err
		}
		for name, c := range code {
			of := found[name]
			if known = known || of.Known; side == 0 {
				c.Base = of
			} else {
				c.New = of
			}
			code[name] = c
		}
	}
	if !known {
		return nil, nil
	}
	return code, nil
}

// onlyOn tells of functions which of both builds alone has them.
func (f *diffFlags) onlyOn(names *diff.Names, profiles [2][]*profile) func([]string) map[string]int {
	return func(functions []string) map[string]int {
		w := newWantedCode(names)
		code := map[string]render.DiffCode{}
		for _, name := range functions {
			w.changed[name] = true
			code[name] = render.DiffCode{}
		}
		w.addAll(profiles, code)
		var found [2]map[string]render.CodeOf
		for side := range profiles {
			var err error
			if found[side], err = f.codeOf(side, profiles[side], w); err != nil {
				return nil // code will tell
			}
		}
		only := map[string]int{}
		for _, name := range functions {
			for side := range found {
				if has, lacks := found[side][name], found[1-side][name]; has.Size > 0 && lacks.Without() {
					only[name] = side
				}
			}
		}
		return only
	}
}

// wantedCode is the functions whose code is looked for.
type wantedCode struct {
	names *diff.Names
	raw   map[string]string          // the names by which functions are matched, by those of linkers
	in    map[string]map[string]bool // keys of the files that have a function, by name
	// kernel are the names of functions that are known to be of a kernel or module.
	kernel map[string]bool
	// changed are those of which the debug information is searched too.
	changed map[string]bool
}

func newWantedCode(names *diff.Names) *wantedCode {
	return &wantedCode{
		names: names, raw: map[string]string{}, in: map[string]map[string]bool{},
		kernel: map[string]bool{}, changed: map[string]bool{},
	}
}

// addAll finds the functions in code in all profiles.
func (w *wantedCode) addAll(profiles [2][]*profile, code map[string]render.DiffCode) {
	for side := range profiles {
		for _, p := range profiles[side] {
			w.add(p.set, code)
		}
	}
	w.rename(profiles)
}

// add finds the functions of a profile in it. A function of folded stacks may be
// in any file.
func (w *wantedCode) add(s *stacks.Set, code map[string]render.DiffCode) {
	for loc := range s.Locations {
		l := &s.Locations[loc]
		for _, line := range s.Lines(uint32(loc)) {
			fn := &s.Functions[line.Function]
			name, _ := w.names.Fold(fn.Name, l.Kind == stacks.KindUser)
			if _, ok := code[name]; !ok {
				continue
			}
			if fn.SystemName != "" {
				w.raw[fn.SystemName] = name
			}
			if l.Kind == stacks.KindKernel {
				w.kernel[name] = true
			}
			if w.in[name] == nil {
				w.in[name] = map[string]bool{}
			}
			if l.Mapping >= 0 {
				w.in[name][codeKey(&s.Mappings[l.Mapping])] = true
			}
		}
	}
}

// rename has the functions of files that only one side has be looked for in those
// that only the other has: programs may be built under different names.
func (w *wantedCode) rename(profiles [2][]*profile) {
	var has [2]map[string]bool
	for side := range profiles {
		has[side] = map[string]bool{}
		for _, p := range profiles[side] {
			for i := range p.set.Mappings {
				has[side][codeKey(&p.set.Mappings[i])] = true
			}
		}
	}
	for side := range has {
		maps.DeleteFunc(has[side], func(key string, _ bool) bool { return key == kernelCode })
	}
	both := func(key string) bool { return has[0][key] && has[1][key] }
	for _, keys := range w.in {
		for side := range has {
			for key := range keys {
				if !has[side][key] || both(key) {
					continue
				}
				for other := range has[1-side] {
					if !both(other) {
						keys[other] = true
					}
				}
				break
			}
		}
	}
}

func codeKey(m *stacks.Mapping) string {
	if m.Kind == stacks.KindKernel {
		return kernelCode
	}
	return filepath.Base(m.File)
}

// codeOf looks up the code of one side.
func (f *diffFlags) codeOf(side int, profiles []*profile, w *wantedCode) (map[string]render.CodeOf, error) {
	found := map[string]render.CodeOf{}
	opened := map[string]bool{}
	look := func(key, path, buildID string, given bool) error {
		if opened[key] {
			return nil
		}
		ok, err := w.look(key, path, buildID, found)
		if err != nil && given {
			return err
		}
		opened[key] = ok
		return nil
	}
	vmlinux := f.sym.vmlinux
	override(&vmlinux, f.vmlinux[side])
	if vmlinux != "" {
		if err := look(kernelCode, vmlinux, "", true); err != nil {
			return nil, err
		}
	}
	if f.elf[side] != "" {
		if err := look(filepath.Base(f.elf[side]), f.elf[side], "", true); err != nil {
			return nil, err
		}
	}
	symfs := f.sym.symfs
	override(&symfs, f.symfs[side])
	for _, p := range profiles {
		for i := range p.set.Mappings {
			m := &p.set.Mappings[i]
			if m.BuildID == "" || !w.isIn(codeKey(m)) {
				continue
			}
			for _, path := range codePaths(m, symfs) {
				// A file that cannot be read is one that is not at hand.
				_ = look(codeKey(m), path, m.BuildID, false)
			}
		}
	}
	if len(w.kernel) > 0 && !opened[kernelCode] {
		w.list(f.kernelFunctions(side, profiles), found)
	}
	return found, nil
}

// kernelFunctions returns the functions of a side's kernel, from the file that a
// flag names, else from what a recording brings along; nil if neither is there.
// They are read once.
func (f *diffFlags) kernelFunctions(side int, profiles []*profile) *kallsyms.Table {
	k := &f.kernels[side]
	if !k.read {
		k.read, k.table = true, f.readKernel(side, profiles)
	}
	return k.table
}

func (f *diffFlags) readKernel(side int, profiles []*profile) *kallsyms.Table {
	path := f.sym.kallsyms
	override(&path, f.kallsyms[side])
	if path != "" {
		file, err := os.Open(path)
		if err != nil {
			return nil // naming has told
		}
		defer file.Close()
		t, _ := kallsyms.Parse(file)
		return t
	}
	for _, p := range profiles {
		if t := p.kernelFunctions(); t != nil {
			return t
		}
	}
	return nil
}

// kernelFunctions returns the kernel's functions from the capsule of a recording
// in a file, nil if there is none.
func (p *profile) kernelFunctions() *kallsyms.Table {
	st, err := os.Stat(p.source)
	if p.events == nil || err != nil || !st.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(p.source)
	if err != nil {
		return nil
	}
	defer file.Close()
	r, err := perfdata.NewReader(file)
	if err != nil {
		return nil
	}
	defer r.Close()
	c, err := r.Capsule()
	if err != nil || c == nil {
		return nil
	}
	t, _ := kallsyms.Parse(bytes.NewReader(c.Kallsyms))
	return t
}

// list adds what a kernel's symbols say of the functions in it: sizes reach up to
// the next symbol.
func (w *wantedCode) list(t *kallsyms.Table, found map[string]render.CodeOf) {
	if t == nil {
		return
	}
	for name := range w.kernel {
		c := found[name]
		c.Known, c.Padded = true, true
		found[name] = c
	}
	for s := range t.Symbols {
		name, _ := w.names.Fold(s.Name, false)
		if c, ok := found[name]; ok && w.kernel[name] && s.End > s.Start {
			c.Size += s.End - s.Start
			found[name] = c
		}
	}
}

func (w *wantedCode) isIn(key string) bool {
	for _, keys := range w.in {
		if keys[key] {
			return true
		}
	}
	return false
}

// codePaths are the places where a file with a build id is looked for.
func codePaths(m *stacks.Mapping, root string) []string {
	var paths []string
	if len(m.BuildID) > 2 {
		dir, rest := m.BuildID[:2], m.BuildID[2:]
		paths = append(paths, filepath.Join(root, "/usr/lib/debug/.build-id", dir, rest+".debug"))
		if cache := buildIDCache(); cache != "" {
			paths = append(paths, filepath.Join(cache, ".build-id", dir, rest, "elf"))
		}
	}
	if m.Kind == stacks.KindUser && strings.HasPrefix(m.File, "/") {
		paths = append(paths, filepath.Join(root, m.File))
	}
	return paths
}

// look adds the code that a file has of the functions in it. The file must have
// the build id, if one is given.
func (w *wantedCode) look(key, path, buildID string, found map[string]render.CodeOf) (bool, error) {
	file, err := elfsym.Open(path, elfsym.Options{DWARF: true})
	if err != nil {
		return false, err
	}
	defer file.Close()
	if id := hex.EncodeToString(file.BuildID()); buildID != "" && !strings.HasPrefix(id, buildID) {
		return false, os.ErrNotExist
	}
	if err := file.Load(); err != nil {
		return false, err
	}
	here := map[string]bool{}
	for name, keys := range w.in {
		if keys[key] || len(keys) == 0 {
			c := found[name]
			c.Known = true
			found[name] = c
			here[name] = true
		}
	}
	for s := range file.Functions() {
		name, ok := w.raw[s.Name]
		if !ok {
			name, _ = w.names.Fold(s.Name, key != kernelCode)
		}
		if c := found[name]; here[name] && !s.PLT {
			c.Size += s.End - s.Start
			found[name] = c
		}
	}
	maps.DeleteFunc(here, func(name string, _ bool) bool { return !w.changed[name] })
	mentioned, searched := file.Mentions(slices.Collect(maps.Keys(here)))
	for name := range here {
		c := found[name]
		// Compilers keep shorter names elsewhere.
		c.Searched = searched && len(name) >= shortestMention
		c.Inlined = mentioned[name] && c.Size == 0
		found[name] = c
	}
	return true, nil
}

// shortestMention is the length of the shortest names in .debug_str: those of up
// to three letters take less room in place (gcc's find_string_form).
const shortestMention = 4
