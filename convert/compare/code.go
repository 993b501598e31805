package compare

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"kprof/convert"
	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/stacks"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
	"kprof/symbolize/kallsyms"
	"kprof/symbolize/regular"
)

// kernelCode is the key of a kernel among the files that functions are in; those
// of others are the base names of their files.
const kernelCode = "[kernel]"

// shownCode is of how many functions the code is looked up where no limit says.
const shownCode = 100

// Code returns what the builds themselves say of the functions that changed, of the
// first limit ones (0 for as many as are worth it), and of those with samples on one
// side only: the sizes of their code, from the ELF files of the Options or found by
// build id, or from the symbols of a kernel that was recorded. nil where no build is at
// hand.
func (c *Comparison) Code(r *diff.Result, limit int) (map[string]diffreport.Code, error) {
	if limit <= 0 {
		limit = shownCode
	}
	code := map[string]diffreport.Code{}
	w := newWantedCode(&r.Options.Names)
	for i := range r.Functions {
		switch fn := &r.Functions[i]; {
		case fn.Verdict != diff.Noise && i < limit:
			w.changed[fn.Name] = true
			code[fn.Name] = diffreport.Code{}
		case fn.Verdict == diff.Noise && (fn.BaseCum == 0 || fn.NewCum == 0):
			code[fn.Name] = diffreport.Code{} // may be there in one build only
		}
	}
	asked := maps.Clone(code)
	for i := range r.Functions[:min(len(r.Functions), mostCompared)] {
		code[r.Functions[i].Name] = diffreport.Code{} // the code of which may differ
	}
	if len(code) == 0 {
		return nil, nil
	}
	defer c.release()
	w.addAll(c.Profiles, code)
	known := false
	for side := range c.Profiles {
		found, err := c.codeOf(side, w)
		if err != nil {
			return nil, err
		}
		for name, both := range code {
			of := found[name]
			if known = known || of.Known; side == 0 {
				both.Base = of
			} else {
				both.New = of
			}
			code[name] = both
		}
	}
	if !known {
		return nil, nil
	}
	c.compareCode(w, code)
	maps.DeleteFunc(code, func(name string, of diffreport.Code) bool {
		_, is := asked[name]
		return !is && !of.Differs
	})
	return code, nil
}

// builds tells of functions which builds have them, as far as these are at hand.
func (c *Comparison) builds(functions []string) map[string]diff.Presence {
	defer c.release()
	w := newWantedCode(&c.o.Diff.Names)
	code := map[string]diffreport.Code{}
	for _, name := range functions {
		w.changed[name] = true
		code[name] = diffreport.Code{}
	}
	w.addAll(c.Profiles, code)
	presence := map[string]diff.Presence{}
	for side := range c.Profiles {
		found, err := c.codeOf(side, w)
		if err != nil {
			return nil // Code will tell
		}
		c.sizes[side] = found
		for _, name := range functions {
			p, of := presence[name], found[name]
			p.In[side], p.Known[side] = of.Size > 0, of.Size > 0 || of.Without()
			presence[name] = p
		}
	}
	return presence
}

// sizesAlike is what functions of the same size are alike by that alone.
const sizesAlike = 0.7

// similarCode says how like the sizes are of two functions that builds was asked for.
func (c *Comparison) similarCode(base, new string) (alike float64, known bool) {
	a, b := float64(c.sizes[0][base].Size), float64(c.sizes[1][new].Size)
	if a == 0 || b == 0 {
		return 0, false
	}
	return sizesAlike * min(a, b) / max(a, b), true
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
func (w *wantedCode) addAll(profiles [2][]*convert.Profile, code map[string]diffreport.Code) {
	for side := range profiles {
		for _, p := range profiles[side] {
			w.add(p.Set, code)
		}
	}
	w.rename(profiles)
}

// add finds the functions of a profile in it. A function of folded stacks may be
// in any file.
func (w *wantedCode) add(s *stacks.Set, code map[string]diffreport.Code) {
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
func (w *wantedCode) rename(profiles [2][]*convert.Profile) {
	var has [2]map[string]bool
	for side := range profiles {
		has[side] = map[string]bool{}
		for _, p := range profiles[side] {
			for i := range p.Set.Mappings {
				has[side][codeKey(&p.Set.Mappings[i])] = true
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

// codeOf looks up the code of one side. Its caller calls release when it needs the files no more.
func (c *Comparison) codeOf(side int, w *wantedCode) (map[string]diffreport.CodeOf, error) {
	found := map[string]diffreport.CodeOf{}
	opened := map[string]bool{}
	look := func(key string, file codeFile, given bool) error {
		if opened[key] {
			return nil
		}
		ok, err := w.look(key, file, found)
		if err != nil && given {
			return err
		}
		opened[key] = ok
		if ok {
			c.files[side][key] = file
		}
		return nil
	}
	c.files[side] = map[string]codeFile{}
	of := &c.o.Sides[side]
	if of.Vmlinux != "" {
		if err := look(kernelCode, named(of.Vmlinux, false), true); err != nil {
			return nil, err
		}
	}
	if of.ELF != "" {
		if err := look(filepath.Base(of.ELF), named(of.ELF, true), true); err != nil {
			return nil, err
		}
	}
	tried := map[[2]string]bool{} // key and build id
	for _, p := range c.Profiles[side] {
		var names *symbolize.Symbolizer
		for i := range p.Set.Mappings {
			m := &p.Set.Mappings[i]
			key := codeKey(m)
			if m.BuildID == "" || !w.isIn(key) || opened[key] || tried[[2]string{key, m.BuildID}] {
				continue
			}
			tried[[2]string{key, m.BuildID}] = true
			if names == nil {
				names = p.Symbolizer()
				c.open = append(c.open, names)
			}
			for _, file := range c.filesOf(m, names, of.Root) {
				// A file that cannot be read is one that is not at hand.
				_ = look(key, file, false)
			}
		}
	}
	if len(w.kernel) > 0 && !opened[kernelCode] {
		w.list(c.kernelFunctions(side), found)
	}
	return found, nil
}

// kernelFunctions returns the functions of a side's kernel, from the file that the
// Options name, else from what a recording brings along; nil if neither is there. They
// are read once.
func (c *Comparison) kernelFunctions(side int) *kallsyms.Table {
	k := &c.kernels[side]
	if !k.read {
		k.read, k.table = true, c.readKernel(side)
	}
	return k.table
}

func (c *Comparison) readKernel(side int) *kallsyms.Table {
	if path := c.o.Sides[side].Kallsyms; path != "" {
		file, _, err := regular.OpenWith(path, regular.Options{Kernel: true}) // as naming does
		if err != nil {
			return nil // naming has told
		}
		defer file.Close()
		t, _ := kallsyms.Parse(file)
		return t
	}
	for _, p := range c.Profiles[side] {
		if t := recordedFunctions(p); t != nil {
			return t
		}
	}
	return nil
}

// recordedFunctions returns the kernel's functions that a recording in a file or a directory
// brings along, nil if there are none.
func recordedFunctions(p *convert.Profile) *kallsyms.Table {
	st, err := os.Stat(p.Source)
	if p.Events == nil || err != nil || !st.Mode().IsRegular() && !st.IsDir() {
		return nil
	}
	file, err := os.Open(p.Source)
	if err != nil {
		return nil
	}
	defer file.Close()
	r, err := perfdata.NewReader(file)
	if err != nil {
		return nil
	}
	defer r.Close()
	recorded, _ := r.KernelSymbols() // what is damaged has been told
	if recorded == nil {
		return nil
	}
	t, _ := kallsyms.Parse(bytes.NewReader(recorded.Kallsyms))
	return t
}

// list adds what a kernel's symbols say of the functions in it: sizes reach up to
// the next symbol.
func (w *wantedCode) list(t *kallsyms.Table, found map[string]diffreport.CodeOf) {
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

// look adds the code that a file has of the functions in it.
func (w *wantedCode) look(key string, of codeFile, found map[string]diffreport.CodeOf) (bool, error) {
	file, err := of.open()
	if err != nil {
		return false, err
	}
	defer file.Close()
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
			name, _ = w.names.Fold(s.Name, of.user)
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
