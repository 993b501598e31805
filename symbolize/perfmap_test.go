package symbolize

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePerfMap(t *testing.T) {
	const text = "1000 100 first\n" +
		"0x2000 0x10 LazyCompile:~f /app/x.js:12\n" +
		"1080 20 replaces the middle\n" +
		"3000 10 gone\n3000 8 new\n" +
		"bad\n5000\n5000 10\n5000 zz name\n5000 0 empty\nffffffffffffffff 10 wraps\n" +
		"4000 10 unfinished"
	m, err := parsePerfMap(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint64]string{}
	for _, addr := range []uint64{0xfff, 0x1000, 0x107f, 0x1080, 0x109f, 0x10a0, 0x10ff, 0x1100,
		0x2000, 0x3000, 0x3008, 0x4000, 0x5000, ^uint64(0)} {
		for _, f := range m.Lookup(nil, addr) {
			got[addr] += f.Name
		}
	}
	want := map[uint64]string{
		0x1000: "first", 0x107f: "first", 0x1080: "replaces the middle", 0x109f: "replaces the middle",
		0x10a0: "first", 0x10ff: "first", 0x2000: "LazyCompile:~f /app/x.js:12", 0x3000: "new", 0x3008: "gone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestPerfMapOfAProcess(t *testing.T) {
	path, _, _ := program(t, waiting, "-DNUMBER=6")
	pid := start(t, path).Process.Pid
	m := Mapping{Kind: Anon, PID: pid}
	file := fmt.Sprintf("/tmp/perf-%d.map", pid)
	if _, err := os.Lstat(file); err == nil {
		t.Skipf("needs %s not to be there", file)
	}

	s := New(Options{})
	if got, err := names(t, s, m, 0x1010); got[0] != "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a map: %q (%v)", got[0], err)
	}
	if err := os.WriteFile(file, []byte("1000 20 jitted\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(file) })
	s = New(Options{})
	if got, err := names(t, s, m, 0x1010, 0x1020); got[0] != "jitted" || got[1] != "" || err != nil {
		t.Errorf("%q (%v), want jitted", got, err)
	}

	if os.Geteuid() != 0 {
		t.Skip("needs root to give a file away")
	}
	if err := os.Chown(file, 12345, 0); err != nil {
		t.Fatal(err)
	}
	s = New(Options{})
	if got, err := names(t, s, m, 0x1010); got[0] != "" || !errors.Is(err, ErrUntrusted) {
		t.Errorf("map of another user: %q (%v), want %v", got[0], err, ErrUntrusted)
	}
}

func TestPerfMapBelowRoot(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "tmp/perf-42.map"), []byte("1000 20 jitted\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Root: root, Foreign: true})
	if got, err := names(t, s, Mapping{Kind: Anon, PID: 42}, 0x1010); got[0] != "jitted" || err != nil {
		t.Errorf("%q (%v), want jitted", got[0], err)
	}
}

func FuzzParsePerfMap(f *testing.F) {
	f.Add([]byte("1000 100 first\n1080 20 second\n0x2000 0x10 third\n"))
	f.Add([]byte("ffffffffffffff00 ff last\n0 1 a b c\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := parsePerfMap(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range m.ranges {
			if frames := m.Lookup(nil, r.start); len(frames) != 1 || frames[0].Name == "" {
				t.Fatalf("entry %d: frames %v", i, frames)
			}
		}
	})
}
