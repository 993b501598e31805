//go:build !linux || portable

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errSymlink reports a path with a symbolic link in it.
var errSymlink = errors.New("there is a symbolic link in the path")

// A directory is where a path is looked up: the file system, or below a root.
type directory struct {
	lstat, stat func(name string) (fs.FileInfo, error)
	open        func(name string, flag int, perm fs.FileMode) (*os.File, error)
}

// open looks at the file before it opens it, and once more after. Where there is no
// O_PATH, what is at the path may change in between.
func open(path string, opts Options) (*os.File, fs.FileInfo, error) {
	dir := directory{os.Lstat, os.Stat, os.OpenFile}
	if opts.Root != "" {
		root, err := os.OpenRoot(opts.Root)
		if err != nil {
			return nil, nil, err
		}
		defer root.Close() // only looked up in
		dir = directory{root.Lstat, root.Stat, root.OpenFile}
		path = belowRoot(path)
	}
	if opts.NoSymlinks {
		if err := dir.refuseSymlinks(path); err != nil {
			return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	info, err := dir.stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notRegular(path, "")
	}
	if opts.Check != nil {
		if err := opts.Check(info); err != nil {
			return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
	f, err := dir.open(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	opened, err := f.Stat()
	switch {
	case err != nil:
	case !opened.Mode().IsRegular():
		err = notRegular(path, "")
	case !os.SameFile(info, opened):
		err = &fs.PathError{Op: "open", Path: path, Err: errChanged}
	}
	if err != nil {
		f.Close() // only read
		return nil, nil, err
	}
	return f, opened, nil
}

var errChanged = errors.New("another file took its place while it was opened")

// belowRoot makes of a path one that os.Root takes: "/lib/a" is "lib/a".
func belowRoot(path string) string {
	path = filepath.Clean(string(filepath.Separator) + path[len(filepath.VolumeName(path)):])
	if path = strings.TrimLeft(path, string(filepath.Separator)); path == "" {
		return "."
	}
	return path
}

// refuseSymlinks looks at each element of path.
func (d directory) refuseSymlinks(path string) error {
	path = filepath.Clean(path)
	for i := len(filepath.VolumeName(path)) + 1; i <= len(path); i++ {
		if i < len(path) && !os.IsPathSeparator(path[i]) {
			continue
		}
		info, err := d.lstat(path[:i])
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return errSymlink
		}
	}
	return nil
}

func openLink(path string) (*os.File, fs.FileInfo, error) { return open(path, Options{}) }

func openDirectory(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: os.ErrInvalid}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func identify(fs.FileInfo) (Identity, bool) { return Identity{}, false }
