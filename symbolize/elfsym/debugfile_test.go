package elfsym

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

func TestStrippedFile(t *testing.T) {
	livetest.RequirePrograms(t, "strip")
	path := build(t, "-rdynamic")
	livetest.Run(t, "strip", path)
	f := open(t, path, Options{DebugDirs: []string{}})
	if err := f.Load(); !errors.Is(err, ErrStripped) {
		t.Errorf("Load: %v, want %v", err, ErrStripped)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	found := map[string]bool{}
	for _, s := range f.table.symbols {
		found[f.table.name(&s)] = true
	}
	if !found["main"] || found["local"] {
		t.Errorf("exported main: %v, local: %v; want true, false", found["main"], found["local"])
	}
}

func TestDebugFile(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "objcopy", "strip", "nm")
	path := build(t)
	original := livetest.Run(t, "nm", path)
	id := hex.EncodeToString(open(t, path, Options{}).BuildID())
	dir := t.TempDir()
	debug := filepath.Join(dir, "prog.debug")
	livetest.Run(t, "objcopy", "--only-keep-debug", path, debug)
	livetest.Run(t, "strip", path)
	livetest.Run(t, "objcopy", "--add-gnu-debuglink="+debug, path)
	other := build(t, "-DOTHER", "-O2", "-static")

	read := func(file string) []byte {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	write := func(file string, data []byte) {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, file, data)
	}
	byID := filepath.Join(".build-id", id[:2], id[2:]+".debug")
	tests := []struct {
		name  string
		place func(root, own string) (dirs []string) // puts the debug file
		found bool
	}{
		{"nowhere", func(root, own string) []string { return nil }, false},
		{"by build id", func(root, own string) []string {
			write(filepath.Join(root, "/usr/lib/debug", byID), read(debug))
			return nil
		}, true},
		{"by build id in another directory", func(root, own string) []string {
			write(filepath.Join(root, "/dbg", byID), read(debug))
			return []string{"/none", "/dbg"}
		}, true},
		{"by link beside it", func(root, own string) []string {
			write(filepath.Join(root, own, "prog.debug"), read(debug))
			return nil
		}, true},
		{"by link in .debug", func(root, own string) []string {
			write(filepath.Join(root, own, ".debug/prog.debug"), read(debug))
			return nil
		}, true},
		{"by link below the debug directory", func(root, own string) []string {
			write(filepath.Join(root, "/usr/lib/debug", own, "prog.debug"), read(debug))
			return nil
		}, true},
		{"of another build", func(root, own string) []string {
			write(filepath.Join(root, "/usr/lib/debug", byID), read(other))
			write(filepath.Join(root, own, "prog.debug"), read(other))
			return nil
		}, false},
		{"a FIFO", func(root, own string) []string {
			fifo := filepath.Join(root, "/usr/lib/debug", byID)
			if err := os.MkdirAll(filepath.Dir(fifo), 0o700); err != nil {
				t.Fatal(err)
			}
			livetest.MakeFIFO(t, fifo)
			return nil
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			dirs := test.place(root, "/opt/app")
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := FromFile(file, "/opt/app/prog", Options{Root: root, DebugDirs: dirs})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			err = f.Load()
			if found := err == nil; found != test.found {
				t.Errorf("Load: %v, want symbols: %v", err, test.found)
			}
			if refused := err != nil && strings.Contains(err.Error(), ".debug is of another build, "); refused != (test.name == "of another build") || err != nil && !errors.Is(err, ErrStripped) {
				t.Errorf("Load: %v, want to be told of a debug file that was refused", err)
			}
			if !test.found {
				return
			}
			for line := range strings.Lines(original) {
				fields := strings.Fields(line)
				if len(fields) != 3 || fields[2] != "local" {
					continue
				}
				addr, err := strconv.ParseUint(fields[0], 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				if sym, _ := f.Lookup(addr); sym.Name != "local" {
					t.Errorf("Lookup(%#x) = %+v, want local", addr, sym)
				}
			}
		})
	}
}

// TestDebugFileByChecksum: what LLVM's linker makes, and toolchains that were not told otherwise,
// has no build id.
func TestDebugFileByChecksum(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "objcopy", "strip")
	path := build(t, "-Wl,--build-id=none")
	debug := filepath.Join(filepath.Dir(path), "prog.dbg")
	livetest.Run(t, "objcopy", "--only-keep-debug", path, debug)
	livetest.Run(t, "strip", path)
	livetest.Run(t, "objcopy", "--add-gnu-debuglink="+debug, path)
	local := func() (found bool, err error) {
		f := open(t, path, Options{DebugDirs: []string{}})
		err = f.Load()
		for s := range f.Functions() {
			found = found || s.Name == "local"
		}
		return found, err
	}
	if found, err := local(); !found || err != nil {
		t.Errorf("found %v: %v", found, err)
	}
	data, err := os.ReadFile(debug)
	if err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, debug, append(data, 0))
	if found, err := local(); found || !errors.Is(err, ErrStripped) || !strings.Contains(err.Error(), "by its checksum") {
		t.Errorf("of another build: %v, %v", found, err)
	}
}
