//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// What a small file that was made to hurt may take.
const (
	bombMemory = 256 << 20
	bombTime   = 6 * time.Second // of CPU; it is 1 to 2.5 s, by the machine and what else it does
)

// TestBombs reports on small files that expand to a thousand times their size: what
// no profile is like is refused in one line, and none takes much of the machine.
func TestBombs(t *testing.T) {
	const mega, refused = 1 << 20, "no profile is like that"
	for _, c := range []struct {
		name string
		data [][]byte
		want string // in the one line; "" if it is a profile
	}{
		{"zeros", [][]byte{again(950, make([]byte, mega))}, refused},
		{"fields of no use", [][]byte{again(650, bytes.Repeat([]byte{30<<3&0x7f | 0x82, 1, 0}, mega/3))}, refused},
		{"empty strings", [][]byte{again(950, bytes.Repeat([]byte{6<<3 | 2, 0}, mega/2))}, refused},
		{"empty locations", [][]byte{again(950, bytes.Repeat([]byte{4<<3 | 2, 0}, mega/2))}, "id of 0"},
		{"locations of one id", [][]byte{again(950, bytes.Repeat([]byte{4<<3 | 2, 2, 8, 1}, mega/4))}, refused},
		{"functions of one id", [][]byte{again(950, bytes.Repeat([]byte{5<<3 | 2, 2, 8, 1}, mega/4))}, refused},
		{"mappings of one id", [][]byte{again(950, bytes.Repeat([]byte{3<<3 | 2, 2, 8, 1}, mega/4))}, refused},
		{"lines", [][]byte{again(1, fieldHead(4, 10*mega)), again(10, bytes.Repeat([]byte{4<<3 | 2, 0}, mega/2))}, refused},
		{"more lines", [][]byte{again(1, fieldHead(4, 100*mega)), again(100, bytes.Repeat([]byte{8, 1, 4<<3 | 2, 0}, mega/4))}, refused},
		{"sample types", [][]byte{again(950, bytes.Repeat([]byte{1<<3 | 2, 0}, mega/2))}, refused},
		{"comments", [][]byte{again(1, fieldHead(13, 300*mega)), again(300, make([]byte, mega))}, refused},
		{"empty samples", [][]byte{again(950, bytes.Repeat([]byte{2<<3 | 2, 0}, mega/2))}, "without values"},
		{"length", [][]byte{again(1, fieldHead(6, 1<<60))}, "unrecognized"},
		{"equal samples", [][]byte{again(1, oneLocation()), again(100, bytes.Repeat(field(2, []byte{1 << 3, 1, 2 << 3, 1}), mega/6))}, ""},
		{"deep stacks", [][]byte{again(1, append(oneLocation(), deepStacks(200)...))}, refused},
		{"too deep a stack", [][]byte{again(1, oneLocation()), again(1, fieldHead(2, 20*mega)), again(1, fieldHead(1, 20*mega-7)),
			again(19, bytes.Repeat([]byte{1}, mega)), again(1, append(bytes.Repeat([]byte{1}, mega-7), 2<<3, 1))}, "locations, at most 262142"},
		{"labels", [][]byte{again(1, oneLocation()), again(1, fieldHead(2, 30*mega)),
			again(29, bytes.Repeat([]byte{3<<3 | 2, 2, 2 << 3, 1}, mega/4)), again(1, bytes.Repeat([]byte{2 << 3, 1}, mega/2))}, "malformed"},
		{"legacy text", [][]byte{again(1, []byte("heap profile: 1: 1 [1: 1] @ heapprofile\n")),
			again(200, bytes.Repeat([]byte("1: 1 [1: 1] @ 0x1\n"), mega/18))}, "decompress it first"},
		{"compressed twice", [][]byte{again(1, again(900, make([]byte, mega)))}, "compressed twice"},
		{"empty lines", [][]byte{again(1, []byte("a 1\n")), again(600, bytes.Repeat([]byte{'\n'}, mega))}, ""},
		{"equal lines", [][]byte{again(100, bytes.Repeat([]byte("main;f;g 1\n"), mega/11))}, ""},
		{"one line", [][]byte{again(950, bytes.Repeat([]byte{'a'}, mega))}, "longer than 16 MiB"},
		{"deep lines", [][]byte{again(1, deepLines(200))}, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "bomb.gz")
			data := slices.Concat(c.data...)
			livetest.WriteFile(t, name, data)
			if len(data) > 1<<20 {
				t.Errorf("%d bytes, a bomb is small", len(data))
			}
			defuse(t, c.want, "report", name)
		})
	}
}

// defuse runs kprof on a bomb.
func defuse(t *testing.T, want string, args ...string) {
	t.Helper()
	cmd := measured(t, args...)
	cmd.Env = append(os.Environ(), "GOGC=50") // as main sets it
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	said := stderr.String()
	if want == "" && err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if want != "" && (err == nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, want)) {
		t.Errorf("%v, said %q, want %q in one line", err, said, want)
	}
	_, memory, took := measurement(t, stdout.Bytes())
	t.Logf("%d MiB, %v", memory>>20, took)
	if memory > bombMemory || took > bombTime {
		t.Errorf("took %d MiB and %v", memory>>20, took)
	}
}

// measured is kprof as measure runs it.
func measured(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := kprof(t, args...)
	cmd := exec.Command(filepath.Join(filepath.Dir(c.Path), "measure"), c.Args...)
	if err := os.Symlink(c.Path, cmd.Path); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// measurement takes what measure says from the end of what has been printed.
func measurement(t *testing.T, out []byte) (rest []byte, memory int64, took time.Duration) {
	t.Helper()
	i := bytes.LastIndexByte(bytes.TrimRight(out, "\n"), '\n') + 1
	if _, err := fmt.Sscan(string(out[i:]), &memory, &took); err != nil {
		t.Fatalf("%v: %q", err, out[i:])
	}
	return out[:i], memory, took
}

// measure runs a command and then prints how many bytes of memory it has taken, and
// how long it has kept a CPU busy. It is a process of its own, because what the
// process that starts another one has in memory counts for that too (getrusage(2)).
func measure() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Run() // its exit code tells
	p := cmd.ProcessState
	fmt.Println(p.SysUsage().(*syscall.Rusage).Maxrss<<10, int64(p.UserTime()+p.SystemTime()))
	os.Exit(p.ExitCode())
}

// again compresses data and repeats it n times, each a member of the gzip file.
func again(n int, data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return bytes.Repeat(b.Bytes(), n)
}

// field is one of a protobuf message.
func field(num byte, body []byte) []byte { return append(fieldHead(num, int64(len(body))), body...) }

func fieldHead(num byte, n int64) []byte { return binary.AppendUvarint([]byte{num<<3 | 2}, uint64(n)) }

// oneLocation is a profile with one sample type, no sample, and a location 1.
func oneLocation() []byte {
	var b []byte
	for _, s := range []string{"", "a", "count"} {
		b = append(b, field(6, []byte(s))...)
	}
	b = append(b, field(1, []byte{1 << 3, 1, 2 << 3, 2})...)
	return append(b, field(4, []byte{1 << 3, 1})...)
}

// deepStacks are n samples, each as deep as can be, of two locations.
func deepStacks(n int) (b []byte) {
	b = field(4, []byte{1 << 3, 2})
	for i := range n {
		stack := bytes.Repeat([]byte{1}, stacks.MaxDepth)
		for j := range 16 {
			stack[j] += byte(i >> j & 1)
		}
		b = append(b, field(2, append(field(1, stack), 2<<3, 1))...)
	}
	return b
}

// deepLines are n lines of folded stacks, none of them like another.
func deepLines(n int) (b []byte) {
	for i := range n {
		b = fmt.Appendf(b, "%s%d 1\n", strings.Repeat(";", stacks.MaxDepth-10), i)
	}
	return b
}
