package trace

import (
	"bytes"
	"cmp"
	"slices"

	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs"
)

// kernelMap is where a part of the kernel is.
type kernelMap struct {
	start, end, pgoff uint64
	name              string
}

// kernelMaps finds the kernel and its modules by their symbols. Modules come later, and cut
// the kernel where it is not known how long that is.
func kernelMaps(k *perfdata.KernelSymbols) []kernelMap {
	var text procfs.KernelText
	modules := map[string]*kernelMap{}
	_ = procfs.ReadSymbols(bytes.NewReader(k.Kallsyms), func(s *procfs.Symbol) bool { // bad lines are left out
		switch {
		case s.Module != nil:
			if s.Addr == 0 || len(modules) >= maxModules {
				return true
			}
			m := modules[string(s.Module)]
			if m == nil {
				m = &kernelMap{start: s.Addr, end: s.Addr, name: "[" + string(s.Module) + "]"}
				modules[m.name[1:len(m.name)-1]] = m
			}
			if code := s.Type == 't' || s.Type == 'T'; code || m.start == m.end {
				m.start, m.end = min(m.start, s.Addr), max(m.end, s.Addr)
			}
		default:
			text.Add(s)
		}
		return true
	})
	var maps []kernelMap
	if start, end, symbol := text.Range(); start != 0 {
		maps = append(maps, kernelMap{start, end, start, "[kernel.kallsyms]" + symbol})
	}
	for name, m := range modules {
		if name == "bpf" || len(name) > 2 && name[:2] == "__" {
			continue // programs, trampolines: no place of their own
		}
		m.start &^= 0xfff
		m.end = m.end&^0xfff + 0x1000 // the last function ends in its page, as far as is known
		maps = append(maps, *m)
	}
	slices.SortFunc(maps[min(len(maps), 1):], func(a, b kernelMap) int { return cmp.Compare(a.start, b.start) })
	return maps
}

const maxModules = 1 << 14
