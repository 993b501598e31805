package elfsym

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kprof/perfevent/livetest"
)

// addr2line returns what a tool prints for each address with -f -i, a line
// "function file:line" for each frame.
func addr2line(t testing.TB, tool, path string, addrs []uint64) []string {
	t.Helper()
	livetest.RequirePrograms(t, tool)
	cmd := exec.Command(tool, "-a", "-f", "-i", "-e", path)
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	var all []string
	function := ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "0x") && function == "":
			all = append(all, "")
		case function == "":
			function = line
		default:
			line, _, _ = strings.Cut(line, " (discriminator")
			line = strings.ReplaceAll(line, "??:0", "??:?") // it has both
			all[len(all)-1] += function + " " + line + "\n"
			function = ""
		}
	}
	if len(all) != len(addrs) {
		t.Fatalf("addr2line answers %d of %d addresses", len(all), len(addrs))
	}
	return all
}

// frames returns what the file tells of vaddr, as addr2line prints it. The
// tools call the outermost function by its symbol in some cases and not in
// others: bySymbol has that.
func frames(f *File, vaddr uint64) (byDWARF, bySymbol string) {
	list := f.AppendFunctions(nil, vaddr, true)
	if len(list) == 0 {
		list = []Function{{}}
	}
	text := func() string {
		var b strings.Builder
		for _, fn := range list {
			fmt.Fprintf(&b, "%s %s:%s\n", cmp.Or(fn.Name, "??"), cmp.Or(fn.File, "??"), cmp.Or(strings.TrimPrefix(strconv.Itoa(fn.Line), "0"), "?"))
		}
		return b.String()
	}
	byDWARF = text()
	if sym, ok := f.Lookup(vaddr); ok {
		list[len(list)-1].Name = sym.Name
	}
	return byDWARF, text()
}

// spread returns n addresses inside the functions of f, at even distances.
func spread(t testing.TB, f *File, n int) []uint64 {
	t.Helper()
	syms, err := f.elf.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var code []Symbol
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 && s.Section != elf.SHN_UNDEF {
			code = append(code, Symbol{Start: s.Value, End: s.Value + s.Size})
		}
	}
	slices.SortFunc(code, func(a, b Symbol) int { return cmp.Compare(a.Start, b.Start) })
	var total uint64
	for _, c := range code {
		total += c.End - c.Start
	}
	step := max(total/uint64(n), 1)
	var addrs []uint64
	next := uint64(0)
	for _, c := range code {
		size := c.End - c.Start
		for ; next < size && len(addrs) < n; next += step {
			addrs = append(addrs, c.Start+next)
		}
		next -= min(next, size)
	}
	return addrs
}

// compareAddr2line compares all frames at n addresses of the file at path. Where
// addr2line says something else, llvm-addr2line decides: of several rows of the
// line table with one address, binutils 2.40 takes the line of the last one and
// the file of the first, calls inlined functions without a linkage name by the
// symbol around them, and reads no 64-bit DWARF.
func compareAddr2line(t *testing.T, path string, n int) (disputed int) {
	t.Helper()
	f := open(t, path, Options{DWARF: true})
	addrs := spread(t, f, n)
	want := addr2line(t, "addr2line", path, addrs)
	var asked []uint64
	var said []string
	compared := 0
	for i, addr := range addrs {
		byDWARF, bySymbol := frames(f, addr)
		if strings.Contains(byDWARF, "??:?") && strings.Contains(want[i], "??:?") {
			continue // code without debug information
		}
		compared++
		if byDWARF != want[i] && bySymbol != want[i] {
			asked = append(asked, addr)
			said = append(said, want[i])
		}
	}
	if len(asked) > 0 {
		// Complete and base object destructors may be one function; a unit made
		// by link-time optimization has a symbol where its first function is.
		suffix := regexp.MustCompile(`\.llvm\.\d+`)
		unit := regexp.MustCompile(`inline\.cc\.[0-9a-f]+ `)
		tidy := func(s string) string {
			s = strings.NewReplacer("//", "/", "D1Ev", "D2Ev", ":0\n", ":?\n").Replace(s)
			return unit.ReplaceAllString(suffix.ReplaceAllString(s, ""), "operator() ")
		}
		bad := 0
		for i, want := range addr2line(t, "llvm-addr2line", path, asked) {
			byDWARF, bySymbol := frames(f, asked[i])
			if strings.Contains(byDWARF, "??:?") && regexp.MustCompile(`:[0?]\n`).MatchString(want) {
				continue
			}
			if want := tidy(want); tidy(byDWARF) != want && tidy(bySymbol) != want {
				if bad++; bad <= 5 {
					t.Errorf("%#x: got\n%swant\n%sor as llvm-addr2line\n%s", asked[i], byDWARF, said[i], want)
				}
			}
		}
	}
	if err := f.DebugErr(); err != nil {
		t.Error(err)
	}
	if compared < 100 {
		t.Errorf("only %d addresses with debug information", compared)
	}
	t.Logf("%d addresses, %d of them decided by llvm-addr2line", compared, len(asked))
	return len(asked)
}

// compile compiles a program of testdata with debug information.
func compile(t testing.TB, compiler, source string, flags ...string) string {
	t.Helper()
	livetest.RequirePrograms(t, compiler)
	path := filepath.Join(t.TempDir(), "prog")
	out := []string{"-o", path, filepath.Join("testdata", source), "-g"}
	if compiler != "rustc" {
		out = append(out, "-Wl,--build-id")
	}
	livetest.Run(t, compiler, append(flags, out...)...)
	return path
}

func TestProgramsAgainstAddr2line(t *testing.T) {
	for _, test := range []struct {
		compiler, source string
		flags            string
	}{
		{"gcc", "inline.c", "-O2"},
		{"gcc", "inline.c", "-O2 -gdwarf-2"},
		{"gcc", "inline.c", "-O2 -gdwarf-3"},
		{"gcc", "inline.c", "-O2 -gdwarf-4"},
		{"gcc", "inline.c", "-O2 -gdwarf-5"},
		{"gcc", "inline.c", "-O2 -gdwarf64"},
		{"gcc", "inline.c", "-O2 -m32 -nostdlib -static -Wl,-e,main -Wl,--unresolved-symbols=ignore-all"},
		{"gcc", "inline.c", "-O1 -no-pie -static"},
		{"gcc", "inline.c", "-O0"},
		{"gcc", "inline.c", "-O2 -gz=zlib"},
		{"gcc", "inline.c", "-O2 -gz=zlib-gnu"},
		{"gcc", "inline.c", "-O2 -flto"},
		{"gcc", "inline.c", "-O2 -ffunction-sections -Wl,--gc-sections"},
		{"gcc", "inline.c", "-O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections"},
		{"gcc", "inline.c", "-O2 -gno-as-locview-support"},
		{"g++", "inline.cc", "-O2"},
		{"g++", "inline.cc", "-O2 -gdwarf-4"},
		{"g++", "inline.cc", "-O3 -gdwarf-5 -fdebug-types-section"},
		{"g++", "inline.cc", "-O3 -gdwarf-4 -fdebug-types-section"},
		{"g++", "inline.cc", "-O2 -flto"},
		{"clang++", "inline.cc", "-O2"},
		{"clang++", "inline.cc", "-O2 -gdwarf-4"},
		{"rustc", "names.rs", "-O"},
		{"rustc", "names.rs", "-O -C debuginfo=1"},
		{"rustc", "names.rs", "-O -C dwarf-version=5"},
		{"rustc", "names.rs", ""},
	} {
		t.Run(test.compiler+" "+test.flags, func(t *testing.T) {
			source := test.source
			if test.compiler == "rustc" {
				source = "../../testdata/" + source
			}
			compareAddr2line(t, compile(t, test.compiler, source, strings.Fields(test.flags)...), 3000)
		})
	}
}

// allFrames returns the frames at n addresses of f.
func allFrames(t testing.TB, f *File, n int) []string {
	t.Helper()
	var all []string
	for _, addr := range spread(t, f, n) {
		byDWARF, _ := frames(f, addr)
		all = append(all, byDWARF)
	}
	return all
}

// TestSeparateDebugInfo takes debug information out of a program into a file of
// its own, in each way there is.
func TestSeparateDebugInfo(t *testing.T) {
	livetest.RequirePrograms(t, "g++", "objcopy", "strip")
	dir := t.TempDir()
	path := filepath.Join(dir, "prog")
	livetest.Run(t, "g++", "-O2", "-g", "-Wl,--build-id", "-o", path, "testdata/inline.cc")
	addrs := spread(t, open(t, path, Options{}), 100)
	want := allFrames(t, open(t, path, Options{DWARF: true}), 100)
	if !strings.Contains(strings.Join(want, ""), "deepest") {
		t.Fatal("no inlined function found")
	}
	debug := path + ".debug"
	livetest.Run(t, "objcopy", "--only-keep-debug", path, debug)

	compare := func(t *testing.T, f *File) {
		t.Helper()
		for i, addr := range addrs {
			if got, _ := frames(f, addr); got != want[i] {
				t.Fatalf("%#x: got\n%swant\n%s", addr, got, want[i])
			}
		}
		if err := f.DebugErr(); err != nil {
			t.Error(err)
		}
	}
	for _, test := range []struct {
		name  string
		strip []string
		debug []string
	}{
		{"stripped", []string{"--strip-all"}, nil},
		{"with its symbols", []string{"--strip-debug"}, nil},
		{"zlib", []string{"--strip-all"}, []string{"--compress-debug-sections=zlib"}},
		{"zstd", []string{"--strip-all"}, []string{"--compress-debug-sections=zstd"}},
		{"of other sections", []string{"--strip-all"}, []string{"--rename-section", ".comment=.zdebug_info_old"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			stripped := filepath.Join(dir, "prog")
			livetest.Run(t, "strip", append(test.strip, "-o", stripped, path)...)
			livetest.Run(t, "objcopy", "--add-gnu-debuglink="+debug, stripped)
			if f := open(t, stripped, Options{DWARF: true}); !errors.Is(f.DebugErr(), ErrNoDebugInfo) {
				t.Errorf("without the debug file: %v, want %v", f.DebugErr(), ErrNoDebugInfo)
			}
			cmd := exec.Command("objcopy", append(test.debug, debug, filepath.Join(dir, "prog.debug"))...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("%s: %v\n%s", cmd, err, out)
			}
			compare(t, open(t, stripped, Options{DWARF: true}))
		})
	}
	for _, flags := range [][]string{nil, {"-5"}} {
		t.Run("what files share "+strings.Join(flags, ""), func(t *testing.T) {
			livetest.RequirePrograms(t, "dwz")
			dir := t.TempDir()
			one, two, shared := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "shared")
			for _, file := range []string{one, two} {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, data, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			livetest.Run(t, "dwz", append(flags, "-m", shared, "-M", shared, one, two)...)
			f := open(t, one, Options{DWARF: true})
			if f.elf.Section(".gnu_debugaltlink") == nil && f.elf.Section(".debug_sup") == nil {
				t.Fatal("dwz found nothing to share")
			}
			compare(t, f)
			if len(f.debug.images) != 2 {
				t.Error("the shared file was not opened")
			}
			elsewhere := filepath.Join(t.TempDir(), "fetched")
			if err := os.Rename(shared, elsewhere); err != nil {
				t.Fatal(err)
			}
			_, id := f.debug.images[0].sharedLink()
			for from, want := range map[string]bool{elsewhere: true, two: false} {
				fetched := open(t, one, Options{DWARF: true, Fetch: func(buildID []byte) (*os.File, string, error) {
					if !bytes.Equal(buildID, id) {
						return nil, "", fs.ErrNotExist
					}
					file, err := os.Open(from)
					return file, from, err
				}})
				if want {
					compare(t, fetched)
				} else if err := fetched.DebugErr(); !errors.Is(err, ErrNoShared) {
					t.Errorf("with another file than the shared one: %v, want %v", err, ErrNoShared)
				}
			}
			if f := open(t, one, Options{DWARF: true}); !errors.Is(f.DebugErr(), fs.ErrNotExist) {
				t.Errorf("without the shared file: %v, want %v", f.DebugErr(), fs.ErrNotExist)
			}
		})
	}
}

// TestTruncatedWhileMapped shortens a file under its reader, as whoever builds a
// program anew may do.
func TestTruncatedWhileMapped(t *testing.T) {
	path := compile(t, "gcc", "inline.c", "-O2")
	f := open(t, path, Options{DWARF: true})
	addrs := spread(t, f, 100)
	if err := f.DebugErr(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if f.debug.images[0].mapped == nil {
		return // it has been read, as a whole
	}
	for _, addr := range addrs {
		if got := f.AppendFunctions(nil, addr, true); len(got) != 0 {
			t.Errorf("%#x: %+v from a file that is gone", addr, got)
		}
	}
	if err := f.DebugErr(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

// TestDebugInfoConcurrently looks addresses up while others do, and while the
// file is closed.
func TestDebugInfoConcurrently(t *testing.T) {
	path, _ := compileSplit(t, "g++", "inline.cc", "-O2")
	f := open(t, path, Options{DWARF: true})
	want := allFrames(t, f, 300)
	addrs := spread(t, f, 300)
	again := open(t, f.path, Options{DWARF: true})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, addr := range addrs {
				if got, _ := frames(again, addr); got != want[i] {
					t.Errorf("%#x: got\n%swant\n%s", addr, got, want[i])
				}
			}
			for _, addr := range addrs {
				f.AppendFunctions(nil, addr, true)
			}
		})
	}
	f.Close()
	wg.Wait()
	if got := f.AppendFunctions(nil, addrs[0], true); len(got) != 0 {
		t.Errorf("a closed file tells %+v", got)
	}
}

// TestNamesAloneLoadNoDebugInfo looks at what is mapped.
func TestNamesAloneLoadNoDebugInfo(t *testing.T) {
	f := open(t, compile(t, "gcc", "inline.c", "-O2"), Options{})
	for _, addr := range spread(t, f, 10) {
		if got := f.AppendFunctions(nil, addr, true); len(got) != 0 {
			t.Errorf("%#x: %+v", addr, got)
		}
	}
	if len(f.debug.images) != 0 {
		t.Error("the file was mapped")
	}
}

func TestKernelAgainstAddr2line(t *testing.T) {
	if n := compareAddr2line(t, livetest.DebugKernel(t), 10000); n > 100 {
		t.Errorf("%d addresses differ from what addr2line says", n)
	}
}

// BenchmarkKernel names 10,000 addresses of a kernel with their inlined frames,
// beside the tools that do that. Memory is what the process takes at most.
func BenchmarkKernel(b *testing.B) {
	path := livetest.DebugKernel(b)
	addrs := spread(b, open(b, path, Options{}), 10000)
	b.Run("kprof", func(b *testing.B) {
		for b.Loop() {
			f, err := Open(path, Options{DWARF: true})
			if err != nil {
				b.Fatal(err)
			}
			var dst []Function
			for _, a := range addrs {
				dst = f.AppendFunctions(dst[:0], a, true)
			}
			f.Close()
		}
	})
	for _, tool := range []string{"addr2line", "llvm-addr2line"} {
		b.Run(tool, func(b *testing.B) {
			for b.Loop() {
				addr2line(b, tool, path, addrs)
			}
		})
	}
}
