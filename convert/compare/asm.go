package compare

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kprof/convert/diffreport"
	"kprof/convert/stacks"
	"kprof/symbolize/disasm"
)

// mostCompared is of how many functions the instructions of both builds are compared.
const mostCompared = 5000

// compareCode marks the functions whose instructions differ between the builds, where the
// files of both are at hand.
func (c *Comparison) compareCode(w *wantedCode, code map[string]diffreport.Code) {
	var builds [2]map[string][]disasm.Instruction
	for side := range builds {
		if len(c.files[1-side]) == 0 || c.sameFiles() {
			return
		}
		builds[side] = c.instructions(side, w, func(name string) bool { _, ok := code[name]; return ok })
	}
	for name, of := range code {
		base, new := builds[0][name], builds[1][name]
		if len(base) == 0 || len(new) == 0 || disasm.Equal(base, new) {
			continue
		}
		of.Differs = true
		was := callees(base, w)
		for callee := range callees(new, w) {
			if !was[callee] && callee != name {
				of.Calls = append(of.Calls, callee)
			}
		}
		slices.Sort(of.Calls)
		code[name] = of
	}
}

// sameFiles tells whether the files of both sides are the same builds.
func (c *Comparison) sameFiles() bool {
	var ids [2][]string
	for side, files := range c.files {
		for _, key := range slices.Sorted(maps.Keys(files)) {
			f, err := files[key].open()
			if err != nil {
				continue
			}
			ids[side] = append(ids[side], fmt.Sprintf("%x", f.BuildID()))
			f.Close()
		}
	}
	return slices.Equal(ids[0], ids[1]) && !slices.Contains(ids[0], "")
}

// instructions disassembles functions of a side by the names that they are compared by,
// each with all its parts, in the order of their addresses.
func (c *Comparison) instructions(side int, w *wantedCode, wanted func(name string) bool) map[string][]disasm.Instruction {
	found := map[string][]disasm.Instruction{}
	for _, key := range slices.Sorted(maps.Keys(c.files[side])) {
		file := c.files[side][key]
		symbols, err := file.open()
		if err != nil {
			continue // sizes are known all the same
		}
		f, err := disasm.New(symbols)
		if err != nil {
			continue
		}
		for s := range f.Functions() {
			name, ok := w.raw[s.Name]
			if !ok {
				name, _ = w.names.Fold(s.Name, file.user)
			}
			if !wanted(name) || len(w.in[name]) > 0 && !w.in[name][key] {
				continue
			}
			if list, err := f.Function(s); err == nil {
				found[name] = append(found[name], list...)
			}
		}
		f.Close()
	}
	return found
}

// callees are the functions that instructions call or jump to.
func callees(list []disasm.Instruction, w *wantedCode) map[string]bool {
	found := map[string]bool{}
	for _, x := range list {
		op, to, _ := strings.Cut(x.Key, " ")
		if !strings.HasPrefix(op, "call") && !strings.HasPrefix(op, "jmp") && op != "bl" && op != "b" || strings.ContainsAny(to, "·*%#") {
			continue
		}
		to, _, _ = strings.Cut(strings.TrimSpace(to), "+")
		name, ok := w.raw[to]
		if !ok {
			name, _ = w.names.Fold(to, false)
		}
		found[name] = true
	}
	return found
}

// NoCodeError says that a function has no code to show on a side.
type NoCodeError struct {
	Function string
	Side     int  // 0 base, 1 new
	Files    bool // whether there was a file to look into
}

func (e *NoCodeError) Error() string {
	if !e.Files {
		return fmt.Sprintf("no file with the code of the %s side is at hand", sideNames[e.Side])
	}
	return fmt.Sprintf("the files of the %s side have no code of %s", sideNames[e.Side], e.Function)
}

// Asm returns the instructions of a function in both builds, side by side. The files are
// those of the Options, else those of the profiles' mappings. One side may lack the function;
// where both do, or one has no files, that is a *NoCodeError.
func (c *Comparison) Asm(function string) ([]diffreport.AsmRow, error) {
	defer c.release()
	names := &c.o.Diff.Names
	name, _ := names.Fold(function, false)
	w := newWantedCode(names)
	w.addAll(c.Profiles, map[string]diffreport.Code{name: {}, function: {}})
	if len(w.in) == 0 { // without samples: it may be anywhere
		w.in[name] = map[string]bool{}
		for side := range c.Profiles {
			for _, p := range c.Profiles[side] {
				for i := range p.Set.Mappings {
					w.in[name][codeKey(&p.Set.Mappings[i])] = true
					w.kernel[name] = w.kernel[name] || p.Set.Mappings[i].Kind == stacks.KindKernel
				}
			}
		}
		w.rename(c.Profiles)
	}
	for _, of := range c.o.Sides { // what was named has it, whatever samples say
		if of.ELF != "" && len(w.in[name]) > 0 {
			w.in[name][codeKey(&stacks.Mapping{File: of.ELF})] = true
		}
	}
	var both [2][]disasm.Instruction
	var errs []error
	for side := range both {
		if _, err := c.codeOf(side, w); err != nil {
			return nil, err
		}
		if len(c.files[side]) == 0 {
			return nil, &NoCodeError{function, side, false}
		}
		all := c.instructions(side, w, func(n string) bool { return n == name || n == function })
		if both[side] = append(all[name], all[function]...); name == function {
			both[side] = all[name]
		}
		if len(both[side]) == 0 {
			errs = append(errs, &NoCodeError{function, side, true})
		}
	}
	if len(errs) == 2 {
		return nil, errors.Join(errs...)
	}
	var rows []diffreport.AsmRow
	for _, r := range disasm.Align(both[0], both[1]) {
		row := diffreport.AsmRow{Changed: r.Changed()}
		if r.Base != nil {
			row.Base = diffreport.Instruction{Off: r.Base.Off, Text: r.Base.Text}
		}
		if r.New != nil {
			row.New = diffreport.Instruction{Off: r.New.Off, Text: r.New.Text}
		}
		rows = append(rows, row)
	}
	return rows, nil
}
