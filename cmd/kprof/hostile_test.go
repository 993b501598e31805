//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// TestHostilePaths names a recording of this machine that maps what nobody can
// map, or should not be opened: nothing waits, and nothing of it reaches the
// terminal.
func TestHostilePaths(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := unix.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"loop": "loop", "to-fifo": "fifo", "to-zero": "/dev/zero"} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	livetest.WriteFile(t, at("sparse"), "\x7fELF\x02\x01\x01")
	if err := os.Truncate(at("sparse"), 1<<40); err != nil {
		t.Fatal(err)
	}
	paths := []string{
		at("fifo"), at("loop"), at("to-fifo"), at("to-zero"), at("sparse"), dir,
		"/dev/zero", "/dev/tty", "/dev/random", "/proc/kmsg", "/proc/self/mem", "/proc/self/fd/0",
		"/sys/kernel/tracing/trace_pipe", "/../../etc/shadow", "..", "/a\nb", "/\x1b]0;title\x07\x1b[2J", "/\xff\xfe", "/\u202e\u2028",
		"/" + strings.Repeat("a/", 2000),
	}
	for _, path := range paths {
		name := at("one.data")
		livetest.WriteFile(t, name, recordedHereOf(t, path))
		stderr, err := os.Create(at("stderr"))
		if err != nil {
			t.Fatal(err)
		}
		code, said := runQuietly(t, stderr, path, "convert", name, "-f", "pprof", "-o", at("out"))
		stderr.Close()
		if code != 0 || said == "" {
			t.Errorf("%q: exit code %d, said %q", path, code, said)
		}
		if path == paths[0] && !strings.Contains(said, "not a regular file") {
			t.Errorf("%q: said %q", path, said)
		}
		for line := range strings.Lines(said) {
			line = strings.TrimSuffix(line, "\n")
			if !strings.HasPrefix(line, "kprof: ") || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e || r == 0x2028 }) {
				t.Errorf("%q: said %q", path, line)
			}
		}
	}
}

// recordedHereOf is a recording of this process and kernel with one sample, in a
// file that is called path.
func recordedHereOf(t *testing.T, path string) []byte {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	b, err := perftext.MustParse(fmt.Sprintf(`event cpu-clock type=software config=0
comm t=1 pid=%d comm=x
mmap t=1 pid=%[1]d addr=0x1000 len=0x1000 file=%q
sample t=2 pid=%[1]d user 0x1010
`, pid, path)).Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	var f perfdata.Features
	f.Hostname, f.OSRelease = unix.ByteSliceToString(u.Nodename[:]), unix.ByteSliceToString(u.Release[:])
	const bits, entry = 72, 16
	o := abi.LittleEndian
	data := binary.LittleEndian.Uint64(b[40:]) + binary.LittleEndian.Uint64(b[48:])
	b = b[:data]
	binary.LittleEndian.PutUint64(b[bits:], 1<<perfdata.FeatureHostname|1<<perfdata.FeatureOSRelease)
	var bodies []byte
	for _, id := range []perfdata.Feature{perfdata.FeatureHostname, perfdata.FeatureOSRelease} {
		body := f.Append(nil, id, o)
		b = o.AppendUint64(o.AppendUint64(b, data+2*entry+uint64(len(bodies))), uint64(len(body)))
		bodies = append(bodies, body...)
	}
	return append(b, bodies...)
}
