//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// runQuietly runs a command line in this process and returns its exit code and
// what it wrote to standard error. A panic becomes a test failure that says at
// what.
func runQuietly(t *testing.T, stderr *os.File, what string, args ...string) (code int, said string) {
	t.Helper()
	if err := stderr.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, err := stderr.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	was := os.Stderr
	os.Stderr = stderr
	defer func() {
		os.Stderr = was
		if p := recover(); p != nil {
			t.Fatalf("%s: panic: %v", what, p)
		}
	}()
	code = run(args)
	b, err := os.ReadFile(stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, string(b)
}

func demo(t *testing.T) (data []byte, name string, convert []string, stderr *os.File) {
	t.Helper()
	testdata := filepath.Join(root, "testdata")
	data, err := os.ReadFile(filepath.Join(testdata, "demo.data"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if stderr, err = os.Create(filepath.Join(dir, "stderr")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stderr.Close() })
	name = filepath.Join(dir, "cut.data")
	return data, name, []string{
		"convert", name, "-o", os.DevNull, "-f", "folded",
		"--kallsyms", filepath.Join(testdata, "demo.kallsyms"), "--symfs", filepath.Join(testdata, "symfs"),
	}, stderr
}

// small returns the first records of a recording as one of its own, without
// features (struct perf_file_header, tools/perf/util/header.h).
func small(t *testing.T, data []byte, records int) []byte {
	t.Helper()
	const dataOffset, dataSize, features, featuresEnd = 40, 48, 72, 104
	le := binary.LittleEndian
	start := le.Uint64(data[dataOffset:])
	end := start
	for range records {
		end += uint64(le.Uint16(data[end+6:]))
	}
	b := bytes.Clone(data[:end])
	le.PutUint64(b[dataSize:], end-start)
	clear(b[features:featuresEnd])
	return b
}

// TestTruncated converts a recording cut at every third byte, which is each of a word's:
// one line says what is wrong, and nothing worse happens.
func TestTruncated(t *testing.T) {
	data, name, convert, stderr := demo(t)
	t.Run("small", func(t *testing.T) {
		b := small(t, data, 30)
		code, said := testCuts(t, b, name, convert, stderr, 3)
		if code != 0 || strings.Contains(said, "offset") {
			t.Errorf("whole: exit code %d, %q", code, said)
		}
	})
	t.Run("with features", func(t *testing.T) { testCuts(t, data, name, convert, stderr, 97) })
}

// testCuts converts data whole, then cut shorter by step each time, and returns
// the outcome of the former.
func testCuts(t *testing.T, data []byte, name string, convert []string, stderr *os.File, step int) (code int, said string) {
	t.Helper()
	if testing.Short() {
		step *= 23
	}
	le := binary.LittleEndian
	recordsEnd := int(le.Uint64(data[40:]) + le.Uint64(data[48:]))
	livetest.WriteFile(t, name, data)
	code, said = runQuietly(t, stderr, "whole", convert...)
	converted, refused := 0, 0
	for n := len(data) - 1; n >= 0; n -= step {
		if err := os.Truncate(name, int64(n)); err != nil {
			t.Fatal(err)
		}
		code, said := runQuietly(t, stderr, fmt.Sprintf("cut to %d bytes", n), convert...)
		switch {
		case code == 0:
			converted++
			if n < recordsEnd && !strings.Contains(said, "offset") {
				t.Fatalf("cut to %d bytes: converted in silence: %q", n, said)
			}
		case code == exitFailed && strings.HasPrefix(said, "kprof: ") && strings.Count(said, "\n") == 1,
			code == exitFailed && strings.Contains(said, "offset") && strings.Contains(said, "it has no samples") && strings.Count(said, "\n") == 2:
			refused++
		default:
			t.Fatalf("cut to %d bytes: exit code %d, %q", n, code, said)
		}
		if strings.Count(said, "\n") > 6 {
			t.Fatalf("cut to %d bytes: too much is said: %q", n, said)
		}
	}
	t.Logf("%d converted, %d refused", converted, refused)
	if converted < refused {
		t.Error("most of the cuts lie behind samples, which can be converted")
	}
	return code, said
}

// TestDamaged converts a recording with random bytes changed.
func TestDamaged(t *testing.T) {
	data, name, convert, stderr := demo(t)
	rounds := 700
	if testing.Short() {
		rounds = 100
	}
	rng := rand.New(rand.NewPCG(7, 11))
	for i := range rounds {
		bad := bytes.Clone(data)
		for range 1 + rng.IntN(8) {
			at := rng.IntN(len(bad))
			if rng.IntN(2) == 0 {
				at = rng.IntN(600) // header, attributes, first records
			}
			bad[at] ^= byte(1 + rng.IntN(255))
		}
		livetest.WriteFile(t, name, bad)
		code, said := runQuietly(t, stderr, fmt.Sprintf("round %d", i), convert...)
		if code != 0 && (code != exitFailed || !strings.HasPrefix(said, "kprof: ")) {
			t.Fatalf("round %d: exit code %d, %q", i, code, said)
		}
	}
}

// A recording of statistics (perf sched stats record) has no events: its records can
// be counted, but nothing can be made of it.
func TestWithoutEvents(t *testing.T) {
	b, err := perftext.MustParse("record type=85 data=0000000000000000\nrecord type=86 data=00\n").Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "perf.data")
	livetest.WriteFile(t, name, b)
	out, err := kprof(t, "report", "--stats", name).Output()
	if err != nil || !bytes.Contains(out, []byte("SCHEDSTAT_CPU events:          1  (50.0%)")) {
		t.Errorf("report --stats: %v: %s", err, out)
	}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	for _, args := range [][]string{{"report", name}, {"convert", name, "-o", os.DevNull, "-f", "folded"}} {
		if code, said := runQuietly(t, stderr, args[0], args...); code != 1 || !strings.HasPrefix(said, "kprof: "+name+": it has no samples, only records of other kinds: ") {
			t.Errorf("%s: exit code %d: %s", args[0], code, said)
		}
	}
}

// TestWithoutKernelMap names the frames of a kernel that the recording says nothing
// of by symbols that are given, and asks for them where none are.
func TestWithoutKernelMap(t *testing.T) {
	dir := t.TempDir()
	b, err := perftext.MustParse(`event cycles type=hardware
comm t=0 pid=7 comm=x
sample t=1 pid=7 kernel 0xffffffff81000010 0xffffffff81000121
`).Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	name, symbols := filepath.Join(dir, "perf.data"), filepath.Join(dir, "kallsyms")
	if err := errors.Join(os.WriteFile(name, b, 0o600),
		os.WriteFile(symbols, []byte("ffffffff81000000 T f\nffffffff81000100 T g\nffffffff81000200 T h\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags []string
		want  string
		told  bool
	}{
		{[]string{"--kallsyms", symbols}, "x;g;f 1\n", false},
		{nil, "x;[unknown];[unknown] 1\n", true},
	} {
		cmd := kprof(t, append([]string{"convert", name, "-f", "folded", "-o", "-"}, c.flags...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		told := strings.Contains(stderr.String(), "does not say where its kernel was")
		if err != nil || string(out) != c.want || told != c.told {
			t.Errorf("%q: %v: %s%s", c.flags, err, out, stderr.String())
		}
	}
}
