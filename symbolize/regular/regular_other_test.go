//go:build !linux || portable

package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

// tree makes a directory with a file and what leads to it.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir) // darwin's is below a link
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "sub"), 0o700),
		os.WriteFile(filepath.Join(dir, "sub", "file"), []byte("text"), 0o600),
		os.Symlink("sub", filepath.Join(dir, "dirlink")),
		os.Symlink(filepath.Join("sub", "file"), filepath.Join(dir, "link")),
		os.Symlink(filepath.Dir(dir), filepath.Join(dir, "out")),
		os.WriteFile(filepath.Join(filepath.Dir(dir), "outside"), []byte("secret"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpenElsewhere(t *testing.T) {
	dir := tree(t)
	refused := errors.New("refused")
	for _, test := range []struct {
		path string
		opts Options
		want error // nil for the file
	}{
		{path: filepath.Join(dir, "sub/file")},
		{path: filepath.Join(dir, "link")},
		{path: filepath.Join(dir, "dirlink/file")},
		{path: filepath.Join(dir, "sub/file"), opts: Options{NoSymlinks: true}},
		{path: filepath.Join(dir, "link"), opts: Options{NoSymlinks: true}, want: errSymlink},
		{path: filepath.Join(dir, "dirlink/file"), opts: Options{NoSymlinks: true}, want: errSymlink},
		{path: "/sub/file", opts: Options{Root: dir}},
		{path: "sub/../sub/file", opts: Options{Root: dir}},
		{path: "/../../sub/file", opts: Options{Root: dir}},
		{path: "/dirlink/file", opts: Options{Root: dir}},
		{path: "/dirlink/file", opts: Options{Root: dir, NoSymlinks: true}, want: errSymlink},
		{path: "/sub/file", opts: Options{Root: dir, NoSymlinks: true}},
		{path: "/sub", opts: Options{Root: dir}, want: ErrNotRegular},
		{path: "/", opts: Options{Root: dir}, want: ErrNotRegular},
		{path: filepath.Join(dir, "sub"), want: ErrNotRegular},
		{path: filepath.Join(dir, "none"), want: fs.ErrNotExist},
		{path: "/none", opts: Options{Root: dir, NoSymlinks: true}, want: fs.ErrNotExist},
		{path: filepath.Join(dir, "sub/file"), opts: Options{Check: func(fs.FileInfo) error { return refused }}, want: refused},
	} {
		f, info, err := OpenWith(test.path, test.opts)
		if test.want != nil {
			if !errors.Is(err, test.want) {
				t.Errorf("%q, %+v: %v, want %v", test.path, test.opts, err, test.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q, %+v: %v", test.path, test.opts, err)
			continue
		}
		b, err := io.ReadAll(f)
		f.Close()
		if string(b) != "text" || err != nil || info.Size() != 4 {
			t.Errorf("%q, %+v: %q of %d bytes, %v", test.path, test.opts, b, info.Size(), err)
		}
	}
}

func TestOpenElsewhereStaysBelowRoot(t *testing.T) {
	dir := tree(t)
	if f, _, err := Open(dir, "/out/outside"); err == nil {
		f.Close()
		t.Error("a link led out of the root")
	}
}

// TestOpenElsewhereNeverWaits: nobody writes into the FIFO.
func TestOpenElsewhereNeverWaits(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	livetest.MakeFIFO(t, fifo)
	// As if the FIFO had taken the place of a file that was looked at.
	d := directory{open: os.OpenFile}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if f, err := d.open(fifo, os.O_RDONLY|nonblock, 0); err == nil {
			f.Close()
		}
		if _, _, err := Open("", fifo); !errors.Is(err, ErrNotRegular) {
			t.Errorf("a FIFO: %v", err)
		}
		if _, _, err := Open(dir, "/fifo"); !errors.Is(err, ErrNotRegular) {
			t.Errorf("a FIFO below a root: %v", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("waits for whoever writes")
	}
}

func TestOpenDirectoryElsewhere(t *testing.T) {
	dir := tree(t)
	f, info, err := OpenDirectory(dir)
	if err != nil || !info.IsDir() {
		t.Fatalf("%v, %v", info, err)
	}
	f.Close()
	if f, _, err := OpenDirectory(filepath.Join(dir, "link")); err == nil {
		f.Close()
		t.Error("a file is no directory")
	}
}
