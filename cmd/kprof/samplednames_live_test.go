//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// sampledProgram touches memory that it never touched before in a function of its own, and
// in code that it made, which its perf map calls made_NAME. Then it stays until there is a
// file "gone".
const sampledProgram = `
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
static const unsigned char code[] = {0xc6, 0x07, 1, 0xc3};            // movb $1, (%%rdi); ret
#else
static const unsigned code[] = {0x39000000, 0xd65f03c0};              // strb w0, [x0]; ret
#endif
static volatile char pages[32][4096], more[32][4096];
__attribute__((noinline)) void touch_%[1]s(void) {
	for (int i = 0; i < 32; i++)
		pages[i][0] = 1;
}
__attribute__((noinline)) void call_%[1]s(void (*made)(volatile char *)) {
	for (int i = 0; i < 32; i++)
		made(more[i]);
}
int main(void) {
	char map[64];
	char *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(made, code, sizeof code);
	__builtin___clear_cache(made, made + sizeof code);
	touch_%[1]s();
	call_%[1]s((void (*)(volatile char *))made);
	snprintf(map, sizeof map, "/tmp/perf-%%d.map", getpid());
	FILE *f = fopen(map, "w");
	fprintf(f, "%%lx %%zx made_%[1]s\n", (long)made, sizeof code);
	fclose(f);
	close(creat("%[1]s.done", 0600));
	for (int i = 0; i < 6000 && access("gone", F_OK) && !access("%[1]s.done", F_OK); i++)
		usleep(10000);
	unlink(map);
	return 0;
}
`

// TestLiveSampledNames records a program that was deleted, one in a container, one whose
// symbols are in a debug file, and code that these made: what this machine tells while all
// of it is there is what the recording alone tells where there is nothing else.
func TestLiveSampledNames(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	livetest.RequirePrograms(t, "gcc", "objcopy", "ldd", "unshare")
	for _, callGraph := range []string{"fp", "dwarf,4096"} {
		t.Run(callGraph, func(t *testing.T) { sampledNames1(t, callGraph) })
	}
}

func sampledNames1(t *testing.T, callGraph string) {
	dir := t.TempDir()
	names := []string{"deleted", "contained", "stripped"}
	for _, name := range names {
		s := source{fmt.Sprintf(sampledProgram, name), []string{"-O1", "-fasynchronous-unwind-tables"}}
		if err := s.compile("gcc", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	command(t, nil, "objcopy", "--only-keep-debug", filepath.Join(dir, "stripped"), filepath.Join(dir, "stripped.debug"))
	command(t, nil, "objcopy", "--strip-all", "--add-gnu-debuglink="+filepath.Join(dir, "stripped.debug"), filepath.Join(dir, "stripped"))
	gone := filepath.Join(dir, "gone")
	end := func() { os.WriteFile(gone, nil, 0o600) }
	defer end()
	data, bare := filepath.Join(dir, "perf.data"), filepath.Join(dir, "bare.data")
	// A thousand faults, of 5 KiB each: rings that hold all of them, however late they are read.
	c := kprof(t, "record", "-q", "-e", "page-faults:u", "-c", "1", "--call-graph", callGraph, "-m", "16M", "--max-lost", "0", "-o", data, "--", "sh", "-c", `
cd `+dir+` && mkdir box
unshare -m sh -c 'mount -t tmpfs none box && cp contained box/ && exec box/contained' >/dev/null 2>&1 &
./deleted >/dev/null 2>&1 &
./stripped >/dev/null 2>&1 &
until [ -e contained.done ] && [ -e deleted.done ] && [ -e stripped.done ]; do sleep 0.05; done
rm deleted; sleep 0.3`)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	// What the machine tells: of the same recording without the names, while all is there.
	withoutNames(t, data, bare)
	want, err := kprof(t, "convert", "-f", "folded", bare).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, leaf := range []string{";touch_" + name + " ", ";made_" + name + " "} {
			if !strings.Contains(string(want), leaf) {
				t.Errorf("this machine does not find %s:\n%s", leaf, want)
			}
		}
	}
	// Copies of stacks perf walks with what it has.
	script := []string{"script", "--no-inline", "-F", "comm,pid,event,ip", "-i"}
	if x, y := command(t, nil, "perf", append(script, data)...), command(t, nil, "perf", append(script, bare)...); len(x) == 0 || !bytes.Equal(x, y) {
		t.Errorf("perf script: %d bytes, without names %d", len(x), len(y))
	}

	end()
	root := emptyRoot(t, data)
	c = exec.Command("/kprof", "convert", "-f", "folded", "/perf.data")
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	c.Dir = "/"
	var said bytes.Buffer
	c.Stderr = &said
	got, err := c.Output()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("in an empty root: %v\n%s%s\nwant\n%s", err, said.Bytes(), got, want)
	}
}

// withoutNames copies a recording without the names of user code, which are its last.
func withoutNames(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	r := perftext.Open(t, from)
	if names, err := r.UserSymbols(); err != nil || len(names) == 0 {
		t.Fatalf("%d bytes of names, %v", len(names), err)
	}
	// The eight bytes before the last are the length, and a zero.
	n := r.Order().Uint32(b[len(b)-16:])
	livetest.WriteFile(t, to, b[:len(b)-int(n)])
	// It was written as long ago as the other, so that it is of this boot too.
	now := time.Now()
	if err := os.Chtimes(to, now, now); err != nil {
		t.Fatal(err)
	}
}

// emptyRoot makes a directory with nothing but a recording and this program, as /kprof.
func emptyRoot(t *testing.T, data string) string {
	t.Helper()
	root := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copies := map[string]string{self: "kprof", data: "perf.data"}
	out, _ := exec.Command("ldd", self).Output() // fails of one that needs no libraries
	for f := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(f, "/") {
			copies[f] = f
		}
	}
	for from, to := range copies {
		to = filepath.Join(root, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(from)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
		if err == nil {
			_, err = io.Copy(f, in)
			f.Close()
		}
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}
