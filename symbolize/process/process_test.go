package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
)

// nobody is the number of a process that there is not.
const nobody = 1 << 30

func TestOpen(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc")
	}
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.UID != uint32(os.Geteuid()) || p.InnerPID != os.Getpid() {
		t.Errorf("%+v", p)
	}
	here, err1 := os.Stat("/")
	root, err2 := os.Stat(p.Path("root"))
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(here, root) {
		t.Errorf("its root is another one: %v", err)
	}
	if _, err := Open(nobody); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process: %v", err)
	}
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil || c.Start() != nil {
		t.Fatal("no cat")
	}
	gone, err := Open(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	in.Close()
	_ = c.Wait()
	if _, err := os.Stat(gone.Path("status")); err == nil {
		t.Error("a process that is gone has a status")
	}
}

// TestOwner: of a process that lives, the files are its user's; of others this user's
// or root's, with one name.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	livetest.WriteFile(t, path, "")
	me := uint32(os.Geteuid())
	check := func(o Owner) error {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return o.Check(info)
	}
	if err := errors.Join(check(Owner{}), check(Owner{Known: true, UID: me})); err != nil {
		t.Error(err)
	}
	if err := check(Owner{Known: true, UID: me + 1}); !errors.Is(err, ErrUntrusted) {
		t.Errorf("another user's: %v", err)
	}
	// Of root's, what everybody may read, and nothing that has another name, or of another user.
	given := Owner{Known: true, UID: me + 1, OrRoot: true}
	if err := check(given); me == 0 && err != nil || me != 0 && !errors.Is(err, ErrUntrusted) {
		t.Errorf("given to root, by user %d: %v", me, err)
	}
	if err := errors.Join(os.Chmod(path, 0o640), check(given)); !errors.Is(err, ErrUntrusted) {
		t.Errorf("given to root, a secret: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if err := check(given); !errors.Is(err, ErrUntrusted) {
		t.Errorf("given to root, with two names: %v", err)
	}
	if err := check(Owner{}); !errors.Is(err, ErrUntrusted) {
		t.Errorf("with two names: %v", err)
	}
}

func TestIsDumpName(t *testing.T) {
	livetest.Table(t, IsDumpName, map[string]bool{
		"/tmp/jit-12.dump": true, "jit-1.dump": true, "/tmp/jit-.dump": false, "/tmp/jit-1x.dump": false,
		"/tmp/jit-12": false, "/jit-12.dump/a": false, "/tmp/xjit-12.dump": false,
	})
}
