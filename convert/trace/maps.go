package trace

import "kprof/convert/trace/tracedat"

// placed are the maps of a process with their offsets in the files. A trace.dat has each line of
// /proc/PID/maps that has a path, but not its offset (trace-cmd's trace-record.c,
// get_pid_addr_maps), and so these are guessed: the lines of one loaded file lie one behind the
// other, the first of them holds the begin of the file, and each is as far behind that in the file
// as in memory.
//
//	7f1000-7f3000  R   0      7f3000-7f9000  R E  2000      7f9000-7fa000  RW   8000
//
// That is so of the code in what ld links, whose last segment only, that of data, is moved by a
// page.
func placed(maps []tracedat.Map) []Map {
	all := make([]Map, len(maps))
	first := 0
	for i, m := range maps {
		if m.Path != maps[first].Path || m.Start < maps[first].Start || loadedAgain(maps, first, i) {
			first = i
		}
		all[i] = Map{Start: m.Start, End: m.End, Offset: m.Start - maps[first].Start, Path: m.Path}
	}
	return all
}

// loadedAgain reports whether the file of the lines from first on is loaded once more at line i, as
// the copies of a library that dlmopen makes lie side by side: what lay before comes again.
// Fewer than 3 lines may be segments of equal size.
func loadedAgain(maps []tracedat.Map, first, i int) bool {
	n := i - first
	if n < 3 || len(maps)-i < n {
		return false
	}
	for j := range n {
		a, b := &maps[first+j], &maps[i+j]
		if a.Path != b.Path || b.Start-a.Start != maps[i].Start-maps[first].Start || b.End-b.Start != a.End-a.Start {
			return false
		}
	}
	return true
}
