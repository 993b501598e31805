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
	loaded   map[loadedModule]uint64 // now; the bytes that the text of each has at most
	gone     map[loadedModule]goneModule
}

// loadedModule is a module where it was loaded: base is where its text begins, size is
// of text and data together.
type loadedModule struct {
	name       string
	base, size uint64
}

// goneModule is what was known of a module.
type goneModule struct {
	lines    []byte // of kallsyms
	textSize uint64 // bytes, at most
}

// parseModules reads /proc/modules: name, size, uses, users, state, address. With each
// module is the size that its text has at most.
func parseModules(text []byte) map[loadedModule]uint64 {
	loaded := map[loadedModule]uint64{}
	modules, _ := procfs.ReadModules(bytes.NewReader(text)) // what of it can be read
	for _, m := range modules {
		loaded[loadedModule{m.Name, m.Addr, m.Size}] = m.TextSize
	}
	return loaded
}

// changedBy reports whether a list of modules differs from that of the last
// reading. How often they are used does not matter.
func (h *symbolHistory) changedBy(modules []byte) bool {
	sameModule := func(uint64, uint64) bool { return true } // what its text has at most follows from the others
	return !maps.EqualFunc(h.loaded, parseModules(modules), sameModule)
}

// add takes in a reading. A module that is gone has its symbols in the one before
// only. What is known of how long a module's text is at most holds as long as it is loaded.
func (h *symbolHistory) add(c perfdata.KernelSymbols) {
	loaded := parseModules(c.Modules)
	var lines map[string][]byte
	for m, textSize := range h.loaded {
		if now, still := loaded[m]; still {
			loaded[m] = min(now, textSize)
			continue
		}
		if lines == nil {
			lines = linesOfModules(h.now.Kallsyms)
		}
		if h.gone == nil {
			h.gone = map[loadedModule]goneModule{}
		}
		h.gone[m] = goneModule{lines[m.name], textSize}
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
	all := maps.Clone(h.loaded) // with the sizes of their texts
	for m, was := range h.gone {
		all[m] = was.textSize
	}
	doubtful := map[string]bool{} // of those still loaded
	var gone []loadedModule
	for m, was := range h.gone {
		clear := true
		for o, textSize := range all {
			if o == m || m.base >= o.base+textSize || o.base >= m.base+was.textSize {
				continue
			}
			clear = false
			_, loaded := h.loaded[o]
			doubtful[o.name] = doubtful[o.name] || loaded
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
		out = append(out, h.gone[m].lines...)
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
