package naming

import (
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// TestRecorded finds the symbols of a recording by where code is in a file,
// in a module, in the kernel.
func TestRecorded(t *testing.T) {
	symbols := []perfdata.FileSymbol{{VAddr: 0x1200, Len: 0x10, Name: "g"}, {VAddr: 0x1100, Len: 0x20, Name: "_Z1fi"}}
	for _, c := range []struct {
		file perfdata.FileSymbols
		addr uint64 // in a mapping at 0x70000 of what begins at 0x900 of the file
		want string
	}{
		// 0x70000 is offset 0x900 of the file, 0x800 is linked at 0x1000.
		{perfdata.FileSymbols{Kind: perfdata.FileELF, VAddr: 0x1000, Offset: 0x800, HasOffset: true}, 0x70000, "f"},
		{perfdata.FileSymbols{Kind: perfdata.FileELF, VAddr: 0x1000, Offset: 0x800, HasOffset: true}, 0x7001f, "f"},
		{perfdata.FileSymbols{Kind: perfdata.FileELF, VAddr: 0x1000, Offset: 0x800, HasOffset: true}, 0x70020, ""},
		{perfdata.FileSymbols{Kind: perfdata.FileELF, VAddr: 0x1000, Offset: 0x800, HasOffset: true}, 0x70100, "g"},
		{perfdata.FileSymbols{Kind: perfdata.FileELF, VAddr: 0x1000}, 0x70205, "g"},
		{perfdata.FileSymbols{Kind: perfdata.FileDex}, 0x70801, "f"},
		{perfdata.FileSymbols{Kind: perfdata.FileModule, VAddr: 0x1180, Offset: 0x80}, 0x70100, "g"},
		{perfdata.FileSymbols{Kind: perfdata.FileKernel}, 0x1101, "f"},
	} {
		set := stacks.New()
		m := set.AddMapping(stacks.Mapping{Start: 0x70000, Limit: 0x71000, Offset: 0x900, File: "/f", Kind: stacks.KindUser})
		loc := set.AddLocation(m, c.addr, stacks.KindUser)
		c.file.Path, c.file.Symbols = "/f", append([]perfdata.FileSymbol(nil), symbols...)
		Recorded(set, []perfdata.FileSymbols{c.file}, symbolize.DemangleSimple)
		got := ""
		if l := set.Lines(loc); len(l) > 0 {
			got = set.Functions[l[0].Function].Name
		}
		if got != c.want {
			t.Errorf("%+v: %#x is %q, want %q", c.file, c.addr, got, c.want)
		}
	}
}

// TestRecordedModule: kallsyms knows what the file of a module does not.
func TestRecordedModule(t *testing.T) {
	set := stacks.New()
	m := set.AddMapping(stacks.Mapping{Start: 0x70000, Limit: 0x71000, File: "[m]", Kind: stacks.KindModule})
	loc := set.AddLocation(m, 0x70010, stacks.KindModule)
	Recorded(set, []perfdata.FileSymbols{
		{Path: "[m]", Kind: perfdata.FileModule},
		{Path: "[kernel.kallsyms]", Kind: perfdata.FileKernel, Symbols: []perfdata.FileSymbol{{VAddr: 0x70000, Len: 0x20, Name: "f [m]"}}},
	}, symbolize.DemangleSimple)
	if l := set.Lines(loc); len(l) != 1 || set.Functions[l[0].Function].Name != "f [m]" {
		t.Errorf("named %+v of %+v", l, set.Functions)
	}
}
