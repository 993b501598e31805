package symbolize

import (
	"bufio"
	"context"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
)

// record samples a program with perf, and skips the test where perf may not.
func record(t *testing.T, program ...string) string {
	t.Helper()
	livetest.RequirePrograms(t, "perf")
	data := filepath.Join(t.TempDir(), "perf.data")
	args := append([]string{"record", "-q", "-e", "cpu-clock", "-F", "20000", "-g", "-o", data, "--"}, program...)
	out, err := livetest.PerfCommand(t, args...).CombinedOutput()
	switch {
	case err != nil && os.Geteuid() == 0:
		t.Fatalf("%v: %.300s", err, out)
	case err != nil:
		t.Skipf("needs permission to record with perf: %v: %.300s", err, out)
	}
	return data
}

// perfName is what perf shows for an address; a file offset in all mappings
// but the kernel's.
type perfName struct {
	addr uint64
	name string
}

// perfNames returns what perf script shows, by mapping.
func perfNames(t *testing.T, data string) map[string][]perfName {
	t.Helper()
	out := livetest.Run(t, "perf", "script", "-i", data, "-F", "ip,sym,dso", "--no-inline")
	names := map[string][]perfName{}
	sc := bufio.NewScanner(strings.NewReader(out))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		addr, rest, ok1 := strings.Cut(line, " ")
		i := strings.LastIndex(rest, " (")
		if !ok1 || i < 0 {
			continue
		}
		n := perfName{name: rest[:i]}
		var err error
		if n.addr, err = strconv.ParseUint(addr, 16, 64); err != nil {
			t.Fatal(err)
		}
		path := strings.TrimSuffix(rest[i+2:], ")")
		names[path] = append(names[path], n)
	}
	for path, list := range names {
		slices.SortFunc(list, func(a, b perfName) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		names[path] = slices.Compact(list)
	}
	return names
}

// TestNamesOfPerfScript records programs and compares each name that perf
// script shows.
func TestNamesOfPerfScript(t *testing.T) {
	dir := t.TempDir()
	cc := func(name string, args ...string) func(t *testing.T) string {
		return func(t *testing.T) string {
			livetest.RequirePrograms(t, args[0])
			path := filepath.Join(dir, name)
			livetest.Run(t, args[0], append(args[1:], "-o", path)...)
			return path
		}
	}
	tests := []struct {
		name  string
		build func(t *testing.T) string
	}{
		{"c++ pie", cc("a", "g++", "-O1", "-fno-omit-frame-pointer", "testdata/names.cc")},
		{"c++ static", cc("b", "g++", "-O1", "-fno-omit-frame-pointer", "-static", "testdata/names.cc")},
		{"c++ fixed elsewhere", cc("c", "g++", "-O2", "-fno-omit-frame-pointer", "-no-pie", "-Wl,-Ttext-segment=0x10000000", "testdata/names.cc")},
		{"c++ prelinked", cc("d", "g++", "-O1", "-pie", "-Wl,-Ttext-segment=0x3000000000", "-Wl,-z,noseparate-code", "testdata/names.cc")},
		{"c++ stripped", cc("e", "g++", "-O1", "-s", "-rdynamic", "testdata/names.cc")},
		{"rust", cc("f", "rustc", "-O", "-C", "force-frame-pointers=yes", "testdata/names.rs")},
		{"rust v0", cc("h", "rustc", "-O", "-C", "force-frame-pointers=yes", "-C", "symbol-mangling-version=v0", "testdata/names.rs")},
		{"go", func(t *testing.T) string {
			livetest.RequirePrograms(t, "go")
			path := filepath.Join(dir, "g")
			livetest.Run(t, "go", "build", "-o", path, "testdata/names.go")
			return path
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			program := test.build(t)
			names := perfNames(t, record(t, program))
			s := New(Options{})
			defer s.Close()
			compared := 0
			for path, list := range names {
				m := Mapping{Kind: mapping.User, File: path}
				switch path {
				case "[kernel.kallsyms]":
					m.Kind = mapping.Kernel
				case "[vdso]":
					if strconv.IntSize == 32 {
						continue // that of the program has 64
					}
					m.Kind = mapping.VDSO
				case "[unknown]":
					continue
				}
				var addrs []uint64
				for _, n := range list {
					addrs = append(addrs, n.addr)
				}
				frames, err := s.Resolve(context.Background(), m, addrs)
				if errors.Is(err, ErrRestricted) {
					continue
				}
				for i, want := range list {
					got := "[unknown]"
					if len(frames[i]) > 0 {
						got = frames[i][0].Name
					}
					if strings.HasSuffix(want.name, "@plt") && strings.HasSuffix(got, "@plt") {
						continue // perf before 6.3 takes relocations of IFUNCs for being in the order of the stubs
					}
					if want.name == "[unknown]" && strings.HasSuffix(got, "@plt") && got == otherStub(t, path, want.addr) {
						continue // perf before 6.3 names those of .plt alone
					}
					if got != want.name && !strings.HasPrefix(want.name, "__pfx_") && want.name != "_init" {
						t.Errorf("%s %#x: %q, perf says %q (%v)", path, want.addr, got, want.name, err)
					}
					if path == program && want.name != "[unknown]" {
						compared++
					}
				}
			}
			if compared < 20 {
				t.Errorf("perf names only %d addresses of the program", compared)
			}
		})
	}
}

// otherStub returns how objdump names the stub at an offset in a file, such as
// "malloc@plt", if it is in none of perf's: in .plt.got or .plt.sec.
func otherStub(t *testing.T, path string, off uint64) string {
	t.Helper()
	file := livetest.Open(t, elf.Open, path)
	for _, s := range file.Sections {
		if s.Name != ".plt.got" && s.Name != ".plt.sec" || off-s.Offset >= s.Size {
			continue
		}
		entry := max(s.Entsize, 8)
		start := s.Addr + (off-s.Offset)/entry*entry
		out := livetest.Run(t, "objdump", "-d", "-j", s.Name, fmt.Sprintf("--start-address=%#x", start), fmt.Sprintf("--stop-address=%#x", start+1), path)
		_, name, _ := strings.Cut(out, fmt.Sprintf("%016x <", start))
		name, _, _ = strings.Cut(name, ">")
		return name
	}
	return ""
}

// TestSymbolsApart names every function of programs that were stripped, by their
// debug files, as nm does of what they were. (perf 6.1 gives functions of a static
// program the names of others.)
func TestSymbolsApart(t *testing.T) {
	for name, command := range map[string][]string{
		"c++ pie":    {"g++", "-O1", "testdata/names.cc"},
		"c++ static": {"g++", "-O1", "-static", "testdata/names.cc"},
		"rust":       {"rustc", "-g", "-O", "-C", "link-arg=-Wl,--build-id", "testdata/names.rs"},
		"rust v0":    {"rustc", "-g", "-O", "-C", "link-arg=-Wl,--build-id", "-C", "symbol-mangling-version=v0", "testdata/names.rs"},
	} {
		t.Run(name, func(t *testing.T) {
			livetest.RequirePrograms(t, command[0], "objcopy", "strip", "nm")
			path := filepath.Join(t.TempDir(), "prog")
			livetest.Run(t, command[0], append(command[1:], "-o", path)...)
			stripped, debug := strippedCopy(t, path)
			file, err := elfsym.Open(path, elfsym.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			headers := livetest.Open(t, elf.Open, path)
			id := hex.EncodeToString(file.BuildID())
			dirs := t.TempDir()
			install(t, debug, dirs, "/.build-id/"+id[:2]+"/"+id[2:]+".debug")

			at := map[uint64][]string{} // names, by offset in the file
			var offs []uint64
			for line := range strings.Lines(string(livetest.Run(t, "nm", path))) {
				f := strings.Fields(line)
				if len(f) != 3 || !strings.Contains("tTwWi", f[1]) {
					continue
				}
				addr, err := strconv.ParseUint(f[0], 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				code := slices.ContainsFunc(headers.Progs, func(p *elf.Prog) bool {
					return p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && addr-p.Vaddr < p.Filesz
				})
				if off, ok := file.Offset(addr); ok && code {
					at[off] = append(at[off], f[2])
					offs = append(offs, off)
				}
			}
			s := New(Options{DebugDirs: []string{dirs}, Demangle: DemangleNone})
			defer s.Close()
			m := Mapping{Kind: mapping.User, File: stripped, BuildID: id}
			frames, err := s.Resolve(context.Background(), m, offs)
			if err != nil {
				t.Fatal(err)
			}
			wrong := 0
			for i, off := range offs {
				if len(frames[i]) != 1 || !slices.Contains(at[off], frames[i][0].Name) {
					if wrong++; wrong < 10 {
						t.Errorf("%#x: %v, nm says %q", off, frames[i], at[off])
					}
				}
			}
			if len(offs) < 20 || wrong > 0 {
				t.Errorf("of %d functions %d have another name", len(offs), wrong)
			}
			bare := New(Options{DebugDirs: []string{}, Demangle: DemangleNone})
			defer bare.Close()
			if _, err := bare.Resolve(context.Background(), m, offs); !errors.Is(err, ErrStripped) {
				t.Errorf("without its debug file: %v", err)
			}
		})
	}
}
