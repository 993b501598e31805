//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

// keptProgram touches memory that it never touched before, which is a page fault
// in spin_NAME itself, so that each is a sample whose leaf is that function,
// however fast the machine is. Then it stays until there is a file "gone", or
// ends at once if it has an argument.
const keptProgram = `
#include <unistd.h>
static volatile char pages[32][4096];
__attribute__((noinline)) void spin_%s(void) {
	for (int i = 0; i < 32; i++)
		pages[i][0] = 1;
}
int main(int argc, char **argv) {
	spin_%[1]s();
	while (argc == 1 && access("gone", F_OK))
		usleep(10000);
	return 0;
}
`

// keptSource has no build id: only what was mapped tells one program from another.
func keptSource(name string) source {
	return source{fmt.Sprintf(keptProgram, name), []string{"-O1", "-Wl,--build-id=none"}}
}

// TestLiveKept records programs that nobody finds any more when they are to be
// named: one that was deleted while it ran; one whose path leads to another
// program by then; one that ran for an instant, in a container that is gone.
func TestLiveKept(t *testing.T) {
	livetest.Require(t, livetest.Root)
	dir := t.TempDir()
	compile(t, dir, "deleted", "replaced", "contained", "impostor")
	// The one in the container runs again and again: a map whose process is gone is
	// found in its parent's root directory, if that is known by then.
	script := `
cd ` + dir + `
mkdir box
unshare -m sh -c 'mount -t tmpfs none box && cp contained box/ && until [ -e gone ]; do box/contained briefly; sleep 0.05; done' &
./deleted &
./replaced &
wait`
	out := filepath.Join(dir, "x.folded")
	c := kprof(t, "record", "-e", "page-faults:u", "-c", "1", "-o", out, "--", "sh", "-c", script)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// The recorder looks at new maps four times a second, and later on a machine
	// with much to do. Nothing goes before it has, but what counts are the names.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if holds(c.Process.Pid, dir+"/deleted", dir+"/replaced", dir+"/box/contained") {
			break
		}
	}
	for _, err := range []error{
		os.Remove(filepath.Join(dir, "deleted")),
		os.Rename(filepath.Join(dir, "impostor"), filepath.Join(dir, "replaced")),
		os.WriteFile(filepath.Join(dir, "gone"), nil, 0o600),
		c.Wait(),
	} {
		if err != nil {
			t.Fatalf("%v\n%s", err, said.Bytes())
		}
	}
	folded, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deleted", "replaced", "contained"} {
		if !strings.Contains(string(folded), ";spin_"+name) {
			t.Errorf("no spin_%s in\n%s%s", name, folded, said.Bytes())
		}
	}
	if strings.Contains(string(folded), "impostor") {
		t.Errorf("named by a program that never ran:\n%s", folded)
	}
}

// holds reports whether a process has all these files open.
func holds(pid int, files ...string) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	open := map[string]bool{}
	for _, fd := range fds {
		if name, err := os.Readlink(fd); err == nil {
			open[name] = true
		}
	}
	for _, f := range files {
		if !open[f] {
			return false
		}
	}
	return true
}
