package compare

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/pprof"
	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
	"kprof/symbolize"
	"kprof/symbolize/elfsym"
)

// TestStrippedBuilds compares the instructions of programs whose symbols are in debug files, which have
// no code: with the debug file in the tree of build ids, or beside the program.
func TestStrippedBuilds(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "objcopy", "strip")
	source := filepath.Join(t.TempDir(), "prog.c")
	livetest.WriteFile(t, source, `
		__attribute__((noinline)) int work(int n) { return n BY 3; }
		__attribute__((noinline)) int same(int n) { return n ^ 5; }
		int main(int argc, char **argv) { return work(argc) + same(argc); }`)
	build := func(root, by, debugPath string) *convert.Profile {
		program := filepath.Join(root, "/usr/bin/prog")
		if err := os.MkdirAll(filepath.Dir(program), 0o777); err != nil {
			t.Fatal(err)
		}
		livetest.Run(t, "gcc", "-O1", "-g", "-Wl,--build-id", "-DBY="+by, "-o", program, source)
		file, err := elfsym.Open(program, elfsym.Options{})
		if err != nil {
			t.Fatal(err)
		}
		id := hex.EncodeToString(file.BuildID())
		file.Close()
		debug := filepath.Join(root, strings.NewReplacer("ID", id[:2]+"/"+id[2:]).Replace(debugPath))
		if err := os.MkdirAll(filepath.Dir(debug), 0o777); err != nil {
			t.Fatal(err)
		}
		livetest.Run(t, "objcopy", "--only-keep-debug", program, debug)
		livetest.Run(t, "strip", "--strip-all", program)
		livetest.Run(t, "objcopy", "--add-gnu-debuglink="+debug, program)

		s := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
		m := s.AddMapping(stacks.Mapping{Kind: stacks.KindUser, File: "/usr/bin/prog", BuildID: id, Start: 0x400000, Limit: 0x500000})
		for i, name := range []string{"work", "same"} {
			loc := s.AddLocation(m, 0x401000+uint64(i), stacks.KindUser)
			s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name, SystemName: name})})
			s.Add(0, s.Intern([]uint32{loc}), s.InternLabels(nil), int64(1000+len(by)*i))
		}
		var b bytes.Buffer
		if err := pprof.Write(&b, s, pprof.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		p, err := convert.Read(t.Context(), &b, convert.Options{Name: by, Symbols: symbolize.Options{Root: root}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, debugPath := range []string{"/usr/lib/debug/.build-id/ID.debug", "/usr/bin/.debug/prog.debug"} {
		roots := [2]string{t.TempDir(), t.TempDir()}
		c, err := New([2][]*convert.Profile{{build(roots[0], "+", debugPath)}, {build(roots[1], "<<", debugPath)}},
			Options{Diff: diff.Defaults, Sides: [2]Side{{Root: roots[0]}, {Root: roots[1]}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Compare()
		if err != nil {
			t.Fatal(err)
		}
		code, err := c.Code(r, 0)
		if err != nil || !code["work"].Differs || code["same"].Differs || code["main"].Differs {
			t.Errorf("%s: %+v, %v", debugPath, code, err)
		}
		changed := func(row diffreport.AsmRow) bool { return row.Changed }
		if rows, err := c.Asm("work"); err != nil || !slices.ContainsFunc(rows, changed) {
			t.Errorf("%s: work: %+v, %v", debugPath, rows, err)
		}
		if rows, err := c.Asm("same"); err != nil || len(rows) == 0 || slices.ContainsFunc(rows, changed) {
			t.Errorf("%s: same: %+v, %v", debugPath, rows, err)
		}
	}
}
