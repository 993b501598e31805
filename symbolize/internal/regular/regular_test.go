package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestOpenNeverWaits(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("fifo", link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ root, path string }{
		{"", fifo}, {"", link}, {"", "/dev/zero"}, {"", "/dev/tty"}, {"", dir},
		{dir, "/fifo"}, {dir, "link"}, {dir, "/"}, {"/dev", "zero"},
	} {
		done := make(chan error, 1)
		go func() {
			f, _, err := Open(test.root, test.path)
			if err == nil {
				f.Close()
			}
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, ErrNotRegular) && test.path != "/dev/tty" || err == nil {
				t.Errorf("Open(%q, %q): %v, want %v", test.root, test.path, err, ErrNotRegular)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("Open(%q, %q) waits", test.root, test.path)
		}
	}
}

func TestOpenBelowRoot(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	if err := os.MkdirAll(filepath.Join(root, "usr/lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"secret": "outside", "root/usr/lib/a": "inside"} {
		if err := os.WriteFile(filepath.Join(outer, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"lib": "usr/lib", "up": "../secret", "abs": filepath.Join(outer, "secret"),
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/usr/lib/a", "lib/a", "/lib/a", "/../usr/lib/a"} {
		f, info, err := Open(root, path)
		if err != nil {
			t.Errorf("Open(%q): %v", path, err)
			continue
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil || string(text) != "inside" || info.Size() != int64(len("inside")) {
			t.Errorf("Open(%q) reads %q (size %d), %v, want %q", path, text, info.Size(), err, "inside")
		}
	}
	for _, path := range []string{"up", "abs", "../secret"} {
		if f, _, err := Open(root, path); err == nil {
			f.Close()
			t.Errorf("Open(%q) leads out of its root", path)
		}
	}
	if _, _, err := Open(root, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing: %v, want %v", err, fs.ErrNotExist)
	}
}
