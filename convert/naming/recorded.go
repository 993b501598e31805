package naming

import (
	"cmp"
	"slices"

	"kprof/convert/stacks"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// Recorded fills in the functions of locations in files whose symbols the
// recording brings along, as simpleperf's do: they were read from the very files
// that ran. Name leaves these locations as they are.
func Recorded(set *stacks.Set, files []perfdata.FileSymbols, mode symbolize.Demangle) {
	RecordedFrom(set, 0, files, mode)
}

// RecordedFrom is Recorded for the locations from the given one on.
func RecordedFrom(set *stacks.Set, from int, files []perfdata.FileSymbols, mode symbolize.Demangle) {
	if len(files) == 0 {
		return
	}
	byPath := make(map[string]*perfdata.FileSymbols, len(files))
	for i := range files {
		f := &files[i]
		slices.SortStableFunc(f.Symbols, func(a, b perfdata.FileSymbol) int { return cmp.Compare(a.VAddr, b.VAddr) })
		byPath[f.Path] = f
	}
	for i := from; i < len(set.Locations); i++ {
		l := &set.Locations[i]
		if l.Mapping < 0 {
			continue
		}
		m := &set.Mappings[l.Mapping]
		f := byPath[m.File]
		if f == nil {
			continue
		}
		name := symbolAt(f, linkedAddr(f, m, l.Addr))
		if name == "" && f.Kind == perfdata.FileModule && byPath["[kernel.kallsyms]"] != nil {
			name = symbolAt(byPath["[kernel.kallsyms]"], l.Addr) // kallsyms has modules too
		}
		if name != "" {
			fn := stacks.Function{Name: mode.Readable(name), SystemName: name}
			set.SetLines(uint32(i), stacks.Line{Function: set.AddFunction(fn)})
			set.Mappings[l.Mapping].HasFunctions = true
		}
	}
}

// linkedAddr is the address that a location's has in its file as it was linked
// (simpleperf's dso.cpp, IpToVaddrInFile).
func linkedAddr(f *perfdata.FileSymbols, m *stacks.Mapping, addr uint64) uint64 {
	inMap := addr - m.Start
	switch {
	case f.Kind == perfdata.FileDex:
		return inMap + m.Offset
	case f.Kind == perfdata.FileModule:
		return inMap - f.Offset + f.VAddr
	case f.Kind != perfdata.FileELF, m.Kind == stacks.KindAnon: // told apart by address: see timeline.Object
		return addr
	case f.HasOffset:
		return inMap + m.Offset - f.Offset + f.VAddr
	}
	return inMap + f.VAddr
}

// symbolAt returns the name of the symbol that covers an address, or "".
func symbolAt(f *perfdata.FileSymbols, addr uint64) string {
	i, found := slices.BinarySearchFunc(f.Symbols, addr, func(s perfdata.FileSymbol, addr uint64) int {
		return cmp.Compare(s.VAddr, addr)
	})
	if !found {
		i--
	}
	if i < 0 || addr-f.Symbols[i].VAddr >= uint64(f.Symbols[i].Len) {
		return ""
	}
	return f.Symbols[i].Name
}
