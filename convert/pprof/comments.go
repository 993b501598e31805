package pprof

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// inRuntime is the name of frames of Go's runtime that its text leaves out.
const inRuntime = "[runtime]"

// addNames names the locations of a profile in Go's text format (debug=1) by its comments, which
// google/pprof passes over. Behind each stack they have its frames, the innermost first and several
// of an address where functions were inlined, but for those of the runtime at its inner end, and
// runtime.goexit at the outer one, which is left out as in Go's profile.proto (Go's
// runtime/pprof/pprof.go, printStackRecord):
//
//	#	0x4d9dd2	main.wait+0x32	/src/main.go:9
func addNames(p *profile.Profile, text []byte) {
	locations := make(map[uint64]*profile.Location, len(p.Location))
	for _, loc := range p.Location {
		if len(loc.Line) == 0 {
			locations[loc.Address] = loc
		}
	}
	functions := map[[2]string]*profile.Function{}
	function := func(name, file string) *profile.Function {
		f := functions[[2]string{name, file}]
		if f == nil {
			f = &profile.Function{ID: uint64(len(p.Function)) + 1, Name: name, SystemName: name, Filename: file}
			p.Function = append(p.Function, f)
			functions[[2]string{name, file}] = f
		}
		return f
	}
	var loc *profile.Location // whose frames are being read
	for line := range bytes.Lines(text) {
		addr, name, file, number, ok := frameComment(string(line))
		if !ok {
			loc = nil
			continue
		}
		if loc == nil || loc.Address != addr {
			loc = locations[addr]
			delete(locations, addr) // of other stacks the same
		}
		if loc == nil {
			continue
		}
		l := profile.Line{Function: function(name, file), Line: number}
		if len(loc.Line) > 0 && loc.Line[0] == l { // it calls itself
			loc = nil
			continue
		}
		loc.Line = append(loc.Line, l)
	}
	named := func(loc *profile.Location) bool { return len(loc.Line) > 0 && loc.Line[0].Function.Name != inRuntime }
	for _, x := range p.Sample {
		first := slices.IndexFunc(x.Location, named)
		if first < 0 {
			continue
		}
		for _, loc := range x.Location[:first] {
			loc.Line = []profile.Line{{Function: function(inRuntime, "")}}
		}
		if last := len(x.Location) - 1; !named(x.Location[last]) {
			x.Location = x.Location[:last]
		}
	}
}

// frameComment takes a comment with a frame apart.
func frameComment(line string) (addr uint64, name, file string, number int64, ok bool) {
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == '\t' || r == '\r' || r == '\n' })
	if len(fields) != 4 || fields[0] != "#" {
		return 0, "", "", 0, false
	}
	addr, err := strconv.ParseUint(fields[1], 0, 64)
	plus, colon := strings.LastIndex(fields[2], "+0x"), strings.LastIndexByte(fields[3], ':')
	if err != nil || plus <= 0 || colon < 0 {
		return 0, "", "", 0, false
	}
	number, err = strconv.ParseInt(fields[3][colon+1:], 10, 64)
	return addr, fields[2][:plus], fields[3][:colon], number, err == nil
}
