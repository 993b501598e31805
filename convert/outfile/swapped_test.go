//go:build linux && !portable

package outfile

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"

	"golang.org/x/sys/unix"
)

func mustHold(t *testing.T, name, want string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil || string(b) != want {
		t.Errorf("%s holds %q, %v, want %q", name, b, err, want)
	}
}

// TestReplaceBeside: on file systems without O_TMPFILE nothing is left of a file that was not
// published, and what is published stays.
func TestReplaceBeside(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "counts")
	livetest.WriteFile(t, name, "before")
	for _, want := range []string{"before", "after"} {
		p, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		f, publish, err := p.replaceBeside()
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("after")
		if want == "after" {
			err = cmp.Or(err, publish())
		}
		if err := cmp.Or(err, f.Close()); err != nil {
			t.Error(err)
		}
		p.Close()
		mustHold(t, name, want)
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Errorf("there are %q", left)
		}
	}
}

// TestSwapped: what is put in the way after the place was found is replaced,
// not followed, and neither is a pipe that was not there before.
func TestSwapped(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	livetest.WriteFile(t, victim, "before\n")
	for what, swap := range map[string]func(name string) error{
		"a link": func(name string) error { return os.Symlink(victim, name) },
		"a pipe": func(name string) error { return unix.Mkfifo(name, 0o600) },
		"a file": func(name string) error { return os.Link(victim, name) },
		"a link in place of the directory": func(name string) error {
			d := filepath.Dir(name)
			return cmp.Or(os.Rename(d, d+".moved"), os.Symlink(dir, d))
		},
	} {
		work := filepath.Join(t.TempDir(), "work")
		if err := os.Mkdir(work, 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := Find(filepath.Join(work, "victim"))
		if err != nil {
			t.Fatal(err)
		}
		if err := swap(p.Name()); err != nil {
			t.Fatal(err)
		}
		err = p.Write(nil, func(f *os.File, stream bool) error {
			if stream {
				t.Errorf("%s: what was no pipe is written as one", what)
			}
			_, err := f.WriteString("new\n")
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		mustHold(t, victim, "before\n")
		if _, err := os.Stat(work + ".moved"); err == nil {
			work += ".moved"
		}
		mustHold(t, filepath.Join(work, "victim"), "new\n")
	}
	// And a pipe that became another one, or a device, is not written to.
	fifo := filepath.Join(dir, "fifo")
	for what, swap := range map[string]func() error{
		"a link":       func() error { return cmp.Or(os.Remove(fifo), os.Symlink(victim, fifo)) },
		"another pipe": func() error { return cmp.Or(unix.Mkfifo(fifo+"2", 0o600), os.Rename(fifo+"2", fifo)) },
	} {
		if err := cmp.Or(os.RemoveAll(fifo), unix.Mkfifo(fifo, 0o600)); err != nil {
			t.Fatal(err)
		}
		p, err := Find(fifo)
		if err := cmp.Or(err, swap()); err != nil {
			t.Fatal(err)
		}
		if err := p.Write(nil, func(*os.File, bool) error { return nil }); err == nil || !strings.Contains(err.Error(), "is not what it was before") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
