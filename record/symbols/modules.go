package symbols

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs"
)

// symbolHistory is the kernel's symbols over the time of a recording.
type symbolHistory struct {
	readings int
	now      perfdata.KernelSymbols
	loaded   map[loadedModule]bool   // now
	gone     map[loadedModule][]byte // lines of kallsyms of modules that were
}

// loadedModule is a module where it was loaded: [base, base+size).
type loadedModule struct {
	name       string
	base, size uint64
}

// parseModules reads /proc/modules: name, size, uses, users, state, address.
func parseModules(text []byte) map[loadedModule]bool {
	loaded := map[loadedModule]bool{}
	modules, _ := procfs.ReadModules(bytes.NewReader(text)) // what of it can be read
	for _, m := range modules {
		loaded[loadedModule{m.Name, m.Addr, m.Size}] = true
	}
	return loaded
}

// changedBy reports whether a list of modules differs from that of the last
// reading. How often they are used does not matter.
func (h *symbolHistory) changedBy(modules []byte) bool {
	return !maps.Equal(h.loaded, parseModules(modules))
}

// add takes in a reading. A module that is gone has its symbols in the one before
// only.
func (h *symbolHistory) add(c perfdata.KernelSymbols) {
	loaded := parseModules(c.Modules)
	var lines map[string][]byte
	for m := range h.loaded {
		if loaded[m] {
			continue
		}
		if lines == nil {
			lines = linesOfModules(h.now.Kallsyms)
		}
		if h.gone == nil {
			h.gone = map[loadedModule][]byte{}
		}
		h.gone[m] = lines[m.name]
	}
	for m := range loaded {
		delete(h.gone, m) // back at its place
	}
	h.now, h.loaded = c, loaded
	h.readings++
}

// kallsyms returns the symbols of the kernel and of all modules that there were.
// Where one module lay in the place of another nobody knows whose an address was:
// neither is named.
func (h *symbolHistory) kallsyms() []byte {
	all := slices.Collect(maps.Keys(h.gone))
	for m := range h.loaded {
		all = append(all, m)
	}
	doubtful := map[string]bool{} // of those still loaded
	var gone []loadedModule
	for m := range h.gone {
		clear := true
		for _, o := range all {
			if o == m || m.base >= o.base+o.size || o.base >= m.base+m.size {
				continue
			}
			clear = false
			doubtful[o.name] = doubtful[o.name] || h.loaded[o]
		}
		if clear {
			gone = append(gone, m)
		}
	}
	var out []byte
	for line := range bytes.Lines(h.now.Kallsyms) {
		if len(doubtful) == 0 || !doubtful[moduleOfLine(line)] {
			out = append(out, line...)
		}
	}
	slices.SortFunc(gone, func(a, b loadedModule) int { return strings.Compare(a.name, b.name) })
	for _, m := range gone {
		out = append(out, h.gone[m]...)
	}
	return out
}

// linesOfModules returns the lines of kallsyms of each module.
func linesOfModules(kallsyms []byte) map[string][]byte {
	lines := map[string][]byte{}
	for line := range bytes.Lines(kallsyms) {
		if m := moduleOfLine(line); m != "" {
			lines[m] = append(lines[m], line...)
		}
	}
	return lines
}

// moduleOfLine returns the module that a line of kallsyms is of, empty for the
// kernel itself.
func moduleOfLine(line []byte) string {
	sym, _ := procfs.ParseSymbol(line)
	return string(sym.Module)
}
