package elfsym

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// withMiniDebugInfo returns a stripped program that carries its symbol table
// compressed, made as Fedora's build tools do.
func withMiniDebugInfo(t testing.TB, xzFlags ...string) (path, original string) {
	t.Helper()
	livetest.RequirePrograms(t, "gcc", "objcopy", "strip", "xz")
	original = build(t)
	dir := t.TempDir()
	mini := filepath.Join(dir, "mini")
	path = filepath.Join(dir, "prog")
	livetest.Run(t, "objcopy", "--only-keep-debug", original, mini)
	livetest.Run(t, "strip", "--strip-debug", mini)
	livetest.Run(t, "xz", append(xzFlags, mini)...)
	livetest.Run(t, "strip", "-o", path, original)
	livetest.Run(t, "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", path)
	return path, original
}

func TestMiniDebugInfo(t *testing.T) {
	for _, flags := range [][]string{nil, {"-9e"}, {"--block-size=4096", "-T2"}} {
		path, original := withMiniDebugInfo(t, flags...)
		f := open(t, path, Options{DebugDirs: []string{}})
		if err := f.Load(); err != nil {
			t.Errorf("%v: %v", flags, err)
		}
		want := open(t, original, Options{})
		for _, name := range []string{"local", "elsewhere", "main"} {
			found := false
			for line := range strings.Lines(livetest.Run(t, "nm", original)) {
				if !strings.HasSuffix(line, " "+name+"\n") {
					continue
				}
				found = true
			}
			if !found {
				t.Fatalf("nm lists no %s", name)
			}
		}
		want.Load()
		for _, s := range want.table.symbols {
			for _, addr := range []uint64{s.start, s.end - 1} {
				if a, _ := want.Lookup(addr); a.Name != "" {
					if b, _ := f.Lookup(addr); b.Name != a.Name && want.elf.Section(sectionAt(want.elf, addr)) != nil && want.elf.Section(sectionAt(want.elf, addr)).Flags&4 != 0 {
						t.Errorf("%v: Lookup(%#x) = %q, want %q", flags, addr, b.Name, a.Name)
					}
				}
			}
		}
	}
}

func TestMiniDebugInfoMalformed(t *testing.T) {
	path, _ := withMiniDebugInfo(t)
	dir := t.TempDir()
	for name, data := range map[string]string{
		"no xz":    "nothing of the kind",
		"no end":   "\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46",
		"too long": "",
	} {
		section := filepath.Join(dir, "section")
		if name == "too long" {
			zeros := filepath.Join(dir, "zeros")
			livetest.WriteFile(t, zeros, make([]byte, 1<<24))
			packed, err := exec.Command("xz", "-c", zeros).Output()
			if err != nil {
				t.Fatal(err)
			}
			data = string(packed)
		}
		livetest.WriteFile(t, section, data)
		broken := filepath.Join(dir, "broken")
		livetest.Run(t, "objcopy", "--remove-section", ".gnu_debugdata", path, broken)
		livetest.Run(t, "objcopy", "--add-section", ".gnu_debugdata="+section, broken)
		f := open(t, broken, Options{DebugDirs: []string{}})
		if err := f.Load(); err == nil || errors.Is(err, ErrStripped) {
			t.Errorf("%s: error %v", name, err)
		}
		if sym, ok := f.Lookup(f.elf.Entry); ok && sym.Name == "" {
			t.Errorf("%s: %+v", name, sym)
		}
	}
}
