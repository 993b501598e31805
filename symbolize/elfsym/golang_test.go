package elfsym

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// buildGo compiles testdata/goprog.
func buildGo(t testing.TB, flags ...string) string {
	t.Helper()
	livetest.RequirePrograms(t, "go")
	path := filepath.Join(t.TempDir(), "prog")
	args := append([]string{"build", "-o", path}, flags...)
	livetest.Run(t, "go", append(args, "testdata/goprog/main.go")...)
	return path
}

// typeArgs matches what the runtime leaves out of the names it shows.
var typeArgs = regexp.MustCompile(`\[.*\]`)

// TestGoFunctions compares with what the runtime of a program says about each
// byte of its code.
func TestGoFunctions(t *testing.T) {
	const external = "-ldflags=-linkmode=external"
	const strip = "-ldflags=-s -w"
	for _, flags := range [][]string{
		nil, {"-buildmode=pie"}, {strip}, {strip, "-buildmode=pie"}, {"-gcflags=-N -l"},
		{external}, {external + " -s -w"}, {external + " -s -w", "-buildmode=pie"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			if strings.Contains(strings.Join(flags, " "), external) {
				livetest.RequirePrograms(t, "gcc")
				t.Setenv("CGO_ENABLED", "1")
			}
			path := buildGo(t, flags...)
			f := open(t, path, Options{})
			if err := f.Load(); err != nil {
				t.Fatal(err)
			}
			base, end := goFunctionRange(t, f, "main.main")
			from, to := int64(-4096), int64(end-base)
			lines := strings.Split(livetest.Run(t, path, strconv.FormatInt(from, 10), strconv.FormatInt(to, 10)), "\n")
			compared, deep := 0, 0
			for i, line := range lines[:to-from] {
				var (
					off  int64
					want Function
				)
				if _, err := fmt.Sscan(line, &off, &want.Name, &want.StartLine, &want.File, &want.Line); err != nil {
					continue // between functions the runtime names none
				}
				if want.File == "?" {
					continue // padding behind a function has no position
				}
				got := f.AppendFunctions(nil, base+uint64(off), true)
				if len(got) == 0 {
					t.Fatalf("line %d: nothing at %d, want %+v", i, off, want)
				}
				deep = max(deep, len(got))
				outer := f.AppendFunctions(nil, base+uint64(off), false)
				if diff := cmp.Diff(got[len(got)-1:], outer); diff != "" {
					t.Fatalf("outermost at %d (-with inlined +without):\n%s", off, diff)
				}
				got[0].Name = typeArgs.ReplaceAllString(got[0].Name, "[...]")
				if diff := cmp.Diff(want, got[0]); diff != "" {
					t.Fatalf("innermost at %d (-runtime +ours):\n%s", off, diff)
				}
				compared++
			}
			if compared < 1000 {
				t.Errorf("compared %d addresses of %d", compared, to-from)
			}
			if wantDeep := !strings.Contains(strings.Join(flags, " "), "-N"); wantDeep && deep < 3 {
				t.Errorf("at most %d functions at one address", deep)
			}
		})
	}
}

// goFunctionRange finds a function in the table of f, vaddr.
func goFunctionRange(t *testing.T, f *File, name string) (start, end uint64) {
	t.Helper()
	g := f.table.golang
	if g == nil {
		t.Fatal("no Go function table")
	}
	for i := range g.count {
		if fn, ok := g.function(i); ok && fn.name == name {
			return g.text + g.entry(i), g.text + g.entry(i+1)
		}
	}
	t.Fatalf("no function %s", name)
	return 0, 0
}

// TestGoNamesOnly: where only names are wanted, the function table is left out of programs whose
// symbols name all functions, and of no others: of one with few symbols it is what names the rest.
func TestGoNamesOnly(t *testing.T) {
	livetest.RequirePrograms(t, "objcopy")
	whole := buildGo(t)
	few := filepath.Join(t.TempDir(), "few")
	livetest.Run(t, "objcopy", "--strip-all", "--keep-symbol=runtime.text", "--keep-symbol=main.main", whole, few)
	all := open(t, whole, Options{})
	if err := all.Load(); err != nil {
		t.Fatal(err)
	}
	for path, leftOut := range map[string]bool{whole: true, few: false, buildGo(t, "-ldflags=-s -w"): false} {
		f := open(t, path, Options{NamesOnly: true})
		if err := f.Load(); err != nil {
			t.Fatal(err)
		}
		if got := f.table.golang == nil; got != leftOut || leftOut && f.Memory() >= all.Memory() {
			t.Errorf("%s: the table is left out: %v; it takes %d bytes, %d with it", path, got, f.Memory(), all.Memory())
		}
		g := all.table.golang
		for i := range g.count {
			at := g.text + g.entry(i)
			sym, _ := f.Lookup(at)
			if sym.Name == "" && len(f.AppendFunctions(nil, at, false)) == 0 {
				t.Fatalf("%s: no name at %#x", path, at)
			}
		}
	}
}

func TestGoInlineChain(t *testing.T) {
	checkInlineChain(t, open(t, buildGo(t), Options{}))
}

func checkInlineChain(t *testing.T, f *File) {
	t.Helper()
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	start, end := goFunctionRange(t, f, "main.main")
	want := []string{"main.deepest 30", "main.deeper 23", "main.inlined 21", "main.main 35"}
	for vaddr := start; vaddr < end; vaddr++ {
		var got []string
		for _, fn := range f.AppendFunctions(nil, vaddr, true) {
			got = append(got, fmt.Sprint(fn.Name, " ", fn.StartLine))
		}
		if cmp.Equal(got, want) {
			return
		}
	}
	t.Errorf("nowhere in main.main is the chain %q", want)
}

// TestGoOfNarrowPrograms: in a program of 32 bits the table has words of four bytes. What it says when
// the program is stripped is held against the symbols that it has when it is not.
func TestGoOfNarrowPrograms(t *testing.T) {
	t.Setenv("GOARCH", "386")
	whole, err := elf.Open(buildGo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	symbols, err := whole.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	f := open(t, buildGo(t, "-ldflags=-s -w"), Options{})
	checkInlineChain(t, f)
	compared := 0
	for _, sym := range symbols {
		if elf.ST_TYPE(sym.Info) != elf.STT_FUNC || sym.Size == 0 {
			continue
		}
		compared++
		for _, vaddr := range []uint64{sym.Value, sym.Value + sym.Size - 1} {
			got, ok := f.GoFunction(vaddr)
			name := strings.ReplaceAll(got.Name, "·", ".") // as the linker writes it
			if !ok || name != sym.Name || got.Start != sym.Value {
				t.Errorf("%#x is %+v, want %s at %#x", vaddr, got, sym.Name, sym.Value)
			}
		}
	}
	if compared < 1000 {
		t.Errorf("compared %d functions", compared)
	}
}

func FuzzGoTable(f *testing.F) {
	file := open(f, buildGo(f), Options{})
	sec := goSection(file.elf)
	data, err := sectionData(sec, maxGoTable)
	if err != nil {
		f.Fatal(err)
	}
	// A table of a dozen functions is enough to start from.
	small := make([]byte, 4096)
	copy(small, data[:72])
	binary.LittleEndian.PutUint64(small[8:], 12)
	for i, off := range []uint64{100, 600, 700, 800, 1500} {
		src := binary.LittleEndian.Uint64(data[8+8*(3+i):])
		copy(small[off:], data[src:src+700])
		binary.LittleEndian.PutUint64(small[8+8*(3+i):], off)
	}
	f.Add(small)
	f.Fuzz(func(t *testing.T, data []byte) {
		defer memtest.Within(t, 1<<20+500*len(data))()
		table, err := parseGoTable(data, goWord{binary.LittleEndian, 8})
		if table == nil || err != nil {
			return
		}
		table.inline = data
		for vaddr := uint64(0); vaddr < 4096; vaddr += 16 {
			table.appendFunctions(nil, table.text+vaddr, true)
		}
	})
}

func TestGoTableOfAnUnknownVersion(t *testing.T) {
	data, err := os.ReadFile(buildGo(t))
	if err != nil {
		t.Fatal(err)
	}
	data = data[:100]
	binary.LittleEndian.PutUint32(data, 0xfffffff2)
	if table, err := parseGoTable(data, goWord{binary.LittleEndian, 8}); table != nil || err != nil {
		t.Errorf("parseGoTable = %v, %v, want nothing", table, err)
	}
}
