package symbolize

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
	"kprof/symbolize/mapping"
)

func TestParsePerfMap(t *testing.T) {
	const text = "1000 100 first\n" +
		"0x2000 0x10 LazyCompile:~f /app/x.js:12\n" +
		"1080 20 replaces the middle\n" +
		"3000 10 gone\n3000 8 new\n" +
		"bad\n5000\n5000 10\n5000 zz name\n5000 0 empty\nffffffffffffffff 10 wraps\n" +
		"4000 10 unfinished"
	addrs := []uint64{0xfff, 0x1000, 0x107f, 0x1080, 0x109f, 0x10a0, 0x10ff, 0x1100,
		0x3000, 0x2000, 0x3008, 0x4000, 0x5000, ^uint64(0)}
	m, entries, err := readPerfMap(t.Context(), strings.NewReader(text), addrs, &budget{})
	if err != nil || entries != 5 {
		t.Fatalf("%d entries, %v", entries, err)
	}
	got := map[uint64]string{}
	for _, addr := range addrs {
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
	m := Mapping{Kind: mapping.Anon, PID: pid}
	file := fmt.Sprintf("/tmp/perf-%d.map", pid)
	if _, err := os.Lstat(file); err == nil {
		t.Skipf("needs %s not to be there", file)
	}

	s := New(Options{})
	if got, err := names(t, s, m, 0x1010); got[0] != "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a map: %q (%v)", got[0], err)
	}
	livetest.WriteFile(t, file, "1000 20 jitted\n")
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
	livetest.WriteFile(t, filepath.Join(root, "tmp/perf-42.map"), "1000 20 jitted\n")
	s := New(Options{Root: root, Foreign: true})
	if got, err := names(t, s, Mapping{Kind: mapping.Anon, PID: 42}, 0x1010); got[0] != "jitted" || err != nil {
		t.Errorf("%q (%v), want jitted", got[0], err)
	}
}

// TestPerfMapBudget: what is kept of all maps together is bounded, and told.
func TestPerfMapBudget(t *testing.T) {
	name := strings.Repeat("n", 100)
	text := "1000 10 " + name + "\n2000 10 " + name + "\n3000 10 short\n"
	b := budget{limit: 205}
	m, _, err := readPerfMap(t.Context(), strings.NewReader(text), []uint64{0x1000, 0x1001, 0x2000}, &b)
	if err != nil || len(m.Lookup(nil, 0x2000)) != 1 {
		t.Errorf("%v, %v", m, err)
	}
	if m, _, err = readPerfMap(t.Context(), strings.NewReader(text), []uint64{0x1000, 0x3000}, &b); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%v, %v, want %v", m, err, ErrTooMuch)
	}
	if m, _, err = readPerfMap(t.Context(), strings.NewReader(text), []uint64{0x3000}, &b); err != nil || len(m.Lookup(nil, 0x3000)) != 1 {
		t.Errorf("%v, %v", m, err)
	}
}

// TestPerfMapCosts reads a large map in which every line covers every address that was
// sampled: neither time nor memory are those of a map that is kept.
func TestPerfMapCosts(t *testing.T) {
	var text bytes.Buffer
	const lines = 1 << 20
	for i := range lines {
		fmt.Fprintf(&text, "1000 ffffff function%d\n", i)
	}
	addrs := make([]uint64, 1<<16)
	for i := range addrs {
		addrs[i] = 0x1000 + uint64(i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, entries, err := readPerfMap(t.Context(), bytes.NewReader(text.Bytes()), addrs, &budget{})
	runtime.ReadMemStats(&after)
	if want := fmt.Sprintf("function%d", lines-1); err != nil || entries != lines || m.Lookup(nil, 0x1fff)[0].Name != want {
		t.Errorf("%d entries, %v", entries, err)
	}
	// In proportion to what was sampled.
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20+256*uint64(len(addrs)) {
		t.Errorf("allocated %d bytes for a map of %d", used, text.Len())
	}
}

func FuzzParsePerfMap(f *testing.F) {
	f.Add([]byte("1000 100 first\n1080 20 second\n0x2000 0x10 third\n"))
	f.Add([]byte("ffffffffffffff00 ff last\n0 1 a b c\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		// What the reader says is what the lines say, looked at one by one.
		want := map[uint64]string{}
		var addrs []uint64
		for line := range bytes.Lines(in) {
			line, whole := bytes.CutSuffix(line, []byte("\n"))
			start, end, _, ok := perfMapLine(line)
			if whole && ok && len(line) < windowSize {
				addrs = append(addrs, start, end-1, end)
			}
		}
		for line := range bytes.Lines(in) {
			line, whole := bytes.CutSuffix(line, []byte("\n"))
			start, end, name, ok := perfMapLine(line)
			for _, addr := range addrs {
				if whole && ok && len(line) < windowSize && start <= addr && addr < end {
					want[addr] = string(name)
				}
			}
		}
		b := budget{}
		within := memtest.Within(t, 1<<20+500*len(in))
		m, _, err := readPerfMap(t.Context(), bytes.NewReader(in), addrs, &b)
		within()
		if err != nil {
			t.Fatal(err)
		}
		for _, addr := range addrs {
			got := ""
			for _, f := range m.Lookup(nil, addr) {
				got = f.Name
			}
			if got != want[addr] {
				t.Errorf("%#x: %q, want %q", addr, got, want[addr])
			}
		}
		if b.used.Load() > int64(len(in)) {
			t.Errorf("keeps %d bytes of %d", b.used.Load(), len(in))
		}
	})
}
