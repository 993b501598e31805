package annotate

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
	"kprof/symbolize"
	"kprof/symbolize/elfsym"
)

// TestStub: a stub through which a program calls a library is a function like any other, where objdump
// has it.
func TestStub(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "objdump")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "prog.c"), filepath.Join(dir, "prog")
	livetest.WriteFile(t, source, "int getpid(void); int main(void) { return getpid() + 1; }")
	livetest.Run(t, "gcc", "-O1", "-o", program, source, "-Wl,-z,lazy")
	at := regexp.MustCompile(`(?m)^([0-9a-f]+) <getpid@plt>:`).FindStringSubmatch(livetest.Run(t, "objdump", "-d", program))
	if at == nil {
		t.Fatal("objdump shows no stub")
	}
	vaddr, err := strconv.ParseUint(at[1], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elfsym.Open(program, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	off, ok := file.Offset(vaddr)
	file.Close()
	if !ok {
		t.Fatalf("%#x is nowhere", vaddr)
	}
	s := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
	const start = 0x400000
	m := s.AddMapping(stacks.Mapping{Kind: stacks.KindUser, File: program, Start: start, Limit: start + 1<<20})
	loc := s.AddLocation(m, start+off, stacks.KindUser)
	s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "getpid@plt"})})
	s.Add(0, s.Intern([]uint32{loc}), s.InternLabels(nil), 5)
	files := symbolize.New(symbolize.Options{})
	defer files.Close()
	a, err := Function(s, "getpid@plt", files, Options{})
	if err != nil || len(a.Listings) != 1 || len(a.Missing) > 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	l := a.Listings[0]
	if l.Function != "getpid@plt" || len(l.Rows) == 0 || l.Rows[0].Self != 5 {
		t.Errorf("%+v", l)
	}
	if last := l.Rows[len(l.Rows)-1].Text; strings.Contains(last, "ret") {
		t.Errorf("the stub ends in %s, in another function", last)
	}
}
