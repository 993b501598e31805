package main

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/perfdata"
)

// symbolHistory is the kernel's symbols over the time of a recording.
type symbolHistory struct {
	readings int
	now      perfdata.Capsule
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
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		size, err1 := strconv.ParseUint(f[1], 10, 64)
		base, err2 := strconv.ParseUint(f[5], 0, 64)
		if err1 == nil && err2 == nil {
			loaded[loadedModule{f[0], base, size}] = true
		}
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
func (h *symbolHistory) add(c perfdata.Capsule) {
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
	_, module, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t["))
	if !ok {
		return ""
	}
	return string(bytes.TrimSuffix(module, []byte("]")))
}
