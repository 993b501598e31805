package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLiveKept records programs that nobody finds any more when they are to be
// named: one that was deleted while it ran; one whose path leads to another
// program by then; one that ran for an instant, in a container that is gone.
func TestLiveKept(t *testing.T) {
	livetest.Require(t, livetest.Root)
	livetest.RequirePrograms(t, "gcc")
	dir := t.TempDir()
	for _, name := range []string{"deleted", "replaced", "contained", "impostor"} {
		source := filepath.Join(dir, name+".c")
		text := fmt.Sprintf(`
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void spin_%s(int ms) {
	while (clock() < ms * (CLOCKS_PER_SEC / 1000))
		;
}
int main(int argc, char **argv) { spin_%[1]s(argc > 1 ? 50 : 400); return argc > 1 ? 0 : sleep(2); }
`, name)
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// Without a build id, only what was mapped tells one program from another.
		cmd := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", "-static", "-Wl,--build-id=none", "-o", filepath.Join(dir, name), source)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	// The recorder looks at new maps four times a second; all that has to be there
	// when it does stays for two.
	script := `
cd ` + dir + `
mkdir box
unshare -m sh -c 'mount -t tmpfs none box && cp contained box/ && for i in 1 2 3 4 5 6 7 8; do box/contained briefly; done; sleep 2' &
./deleted &
./replaced &
sleep 0.5
rm deleted
mv impostor replaced
wait`
	out := filepath.Join(dir, "x.folded")
	c := kprof(t, "record", "-F", "999", "-o", out, "--", "sh", "-c", script)
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	folded, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deleted", "replaced", "contained"} {
		if !strings.Contains(string(folded), ";spin_"+name) {
			t.Errorf("no spin_%s in\n%s%s", name, folded, said)
		}
	}
	if strings.Contains(string(folded), "impostor") {
		t.Errorf("named by a program that never ran:\n%s", folded)
	}
}
