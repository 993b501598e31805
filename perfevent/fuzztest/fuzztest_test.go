package fuzztest

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"kprof/perfevent/livetest"
)

// FuzzArguments has an argument of each type that a target may have, and reads the
// text that Go writes for them.
func FuzzArguments(f *testing.F) {
	Add(f)
	f.Fuzz(func(t *testing.T, b []byte, s string, ok bool, u8 byte, u16 uint16, u32 uint32, u64 uint64, u uint,
		i8 int8, i16 int16, i32 int32, i64 int64, i int, f32 float32, f64 float64) {
		if f32 != f32 || f64 != f64 {
			t.Skip("a NaN equals none")
		}
		char := fmt.Sprintf("rune(%q)", i32)
		if !utf8.ValidRune(i32) {
			char = fmt.Sprintf("int32(%d)", i32)
		}
		text := fmt.Sprintf(header+"[]byte(%q)\nstring(%q)\nbool(%v)\nbyte(%q)\nuint16(%v)\nuint32(%v)\nuint64(%v)\nuint(%v)\n"+
			"int8(%v)\nint16(%v)\n%s\nint64(%v)\nint(%v)\nfloat32(%v)\nfloat64(%v)",
			b, s, ok, u8, u16, u32, u64, u, i8, i16, char, i64, i, f32, f64)
		want := []any{b, s, ok, u8, u16, u32, u64, u, i8, i16, i32, i64, i, f32, f64}
		if got, err := parse([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nread as %#v, %v", text, got, err)
		}
	})
}

// TestParse reads what internal/fuzz of Go writes (encoding_test.go there).
func TestParse(t *testing.T) {
	for line, want := range map[string]any{
		`[]byte("\x00\xff(\")\n")`:     []byte("\x00\xff(\")\n"),
		`string("a) => \u00e9")`:       "a) => é",
		"string(`a\\n`)":               `a\n`,
		`bool(true)`:                   true,
		`byte('\xff')`:                 byte(255),
		`byte('(')`:                    byte('('),
		`byte('\'')`:                   byte('\''),
		`uint8(7)`:                     uint8(7),
		`uint16(65535)`:                uint16(65535),
		`uint32(0x10)`:                 uint32(16),
		`uint64(18446744073709551615)`: uint64(math.MaxUint64),
		`uint(1)`:                      uint(1),
		`int8(-128)`:                   int8(-128),
		`int16(-3)`:                    int16(-3),
		`rune('é')`:                    'é',
		`int32(-1)`:                    int32(-1),
		`int64(-9223372036854775808)`:  int64(math.MinInt64),
		`int(-1)`:                      -1,
		`float32(-1.5)`:                float32(-1.5),
		`float64(+Inf)`:                math.Inf(1),
		`math.Float64frombits(0x4000000000000000)`: 2.0,
	} {
		got, err := parse([]byte("go test fuzz v1\n" + line + "\n"))
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: %#v, %v; want %#v", line, got, err, want)
		}
	}
	for _, bad := range []string{"", "go test fuzz v2\nint(1)\n", "go test fuzz v1\n", "go test fuzz v1\nint8(128)\n",
		"go test fuzz v1\nbyte('\\u0100x')\n", "go test fuzz v1\nerror(1)\n", "go test fuzz v1\nint(1\n", "go test fuzz v1\nstring(a)\n"} {
		if got, err := parse([]byte(bad)); err == nil {
			t.Errorf("%q: %#v", bad, got)
		}
	}
}

// TestPack finds every input of the folders in the archives, whose bytes do not depend
// on how often they were packed, and leaves what it cannot read.
func TestPack(t *testing.T) {
	pkg := t.TempDir()
	put := func(name, values string) {
		t.Helper()
		name = filepath.Join(pkg, dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, name, header+values)
	}
	pack := func(want int) string {
		t.Helper()
		packed, err := Pack(pkg)
		if err != nil || len(packed) != want {
			t.Fatalf("%q, %v; want %d", packed, err, want)
		}
		b, err := os.ReadFile(filepath.Join(pkg, dir, "FuzzA.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	put("FuzzA/b", "int(1)\nstring(\"-- x --\\n\")\n")
	put("FuzzA/a", "int(2)\nstring(\"\")\n")
	put("FuzzB/a", "[]byte(\"\")\n")
	first := pack(3)
	put("FuzzA/c", "int(3)\nstring(\"c\")\n")
	put("FuzzA/b", "int(1)\nstring(\"-- x --\\n\")\n")
	both := pack(2)
	if !strings.HasPrefix(both, first) || pack(0) != both {
		t.Errorf("first %q, then %q", first, both)
	}
	got, err := read(filepath.Join(pkg, dir, "FuzzA.txtar"))
	if want := [][]any{{2, ""}, {1, "-- x --\n"}, {3, "c"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, %v; want %#v", got, err, want)
	}

	put("FuzzA/c", "int(4)\nstring(\"c\")\n")
	if packed, err := Pack(pkg); err == nil || !strings.Contains(err.Error(), "other values") {
		t.Errorf("the same name with other values: %q, %v", packed, err)
	}
	put("FuzzA/c", "int(4)\n-- d --\n")
	if packed, err := Pack(pkg); err == nil {
		t.Errorf("not an input: %q", packed)
	}
	if _, err := os.Stat(filepath.Join(pkg, dir, "FuzzA/c")); err != nil {
		t.Error("what was not packed is gone")
	}
}

// TestArchives has each archive of the module added by its target: one whose target
// has another name, or moved, would silently test nothing.
func TestArchives(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && len(e.Name()) > 2 {
			return fs.SkipDir
		}
		target, ok := strings.CutSuffix(e.Name(), ".txtar")
		pkg, inside := strings.CutSuffix(filepath.Dir(name), "/"+dir)
		if !ok || !inside {
			return nil
		}
		n++
		adds := regexp.MustCompile(fmt.Sprintf(`(?m)^func %s\(f \*testing\.F\) \{\n\t(fuzztest\.)?Add\(f\)$`, target))
		tests, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
		for _, test := range tests {
			b, err := os.ReadFile(test)
			if err != nil {
				return err
			}
			if adds.Match(b) {
				return nil
			}
		}
		t.Errorf("%s: no %s in %s begins with fuzztest.Add(f)", name, target, pkg)
		return err
	})
	if err != nil || n < 2 {
		t.Errorf("%d archives, %v", n, err)
	}
}
