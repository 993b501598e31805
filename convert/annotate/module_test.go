package annotate

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
	"kprof/symbolize"
	"kprof/symbolize/elfsym"
)

// TestModule: a kernel module's instructions have their lines whether the module is
// compressed, as distributions have it, or not.
func TestModule(t *testing.T) {
	livetest.RequirePrograms(t, "xz")
	ko := filepath.Join(t.TempDir(), "ext4.ko")
	livetest.KernelModule(t, "../../symbolize/testdata/module.c", ko)
	file, err := elfsym.Open(ko, elfsym.Options{Module: true})
	if err != nil {
		t.Fatal(err)
	}
	id := hex.EncodeToString(file.BuildID())
	file.Close()
	for suffix, compress := range map[string][]string{"": {"cat"}, ".xz": {"xz", "-c"}} {
		root := t.TempDir()
		modules := filepath.Join(root, "lib/modules/6.1.0-99-test/kernel/fs/ext4")
		if err := os.MkdirAll(modules, 0o700); err != nil {
			t.Fatal(err)
		}
		contents := livetest.Run(t, compress[0], append(compress[1:], ko)...)
		livetest.WriteFile(t, filepath.Join(modules, "ext4.ko"+suffix), contents)
		const base = 0xffffffffc0a00000
		s := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
		m := s.AddMapping(stacks.Mapping{Kind: stacks.KindModule, File: "[ext4]", BuildID: id, Start: base, Limit: base + 0x10000})
		loc := s.AddLocation(m, base+3, stacks.KindModule)
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "ext4_map"})})
		s.Add(0, s.Intern([]uint32{loc}), s.InternLabels(nil), 5)
		files := symbolize.New(symbolize.Options{Root: root, Foreign: true, Release: "6.1.0-99-test"})
		a, err := Function(s, "ext4_map", files, Options{})
		if err != nil || len(a.Listings) != 1 {
			t.Fatalf("%q: %+v, %v", suffix, a, err)
		}
		for _, r := range a.Listings[0].Rows {
			if !strings.HasSuffix(r.Source.File, "testdata/module.c") || r.Source.Line == 0 {
				t.Errorf("%q: +%#x %s: %+v", suffix, r.Off, r.Text, r.Source)
			}
		}
		files.Close()
	}
}
