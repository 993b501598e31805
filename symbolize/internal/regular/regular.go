// Package regular opens files whose names come from a recording.
package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNotRegular reports a path that leads to a FIFO, device, socket or
// directory.
var ErrNotRegular = errors.New("not a regular file")

// Open opens the regular file at path for reading. With a root, path is taken
// below that directory, and no symbolic link leads out of it.
//
// Whoever wrote the recording chose the path: it may name a FIFO without a
// writer, on which a plain open waits for ever, or a device that acts on being
// opened. So the type is looked at first, the open does not wait, and the type
// of what was really opened is checked once more.
func Open(root, path string) (*os.File, fs.FileInfo, error) {
	stat, open := os.Stat, os.OpenFile
	if root != "" {
		dir, err := os.OpenRoot(root)
		if err != nil {
			return nil, nil, err
		}
		defer dir.Close()
		stat, open = dir.Stat, dir.OpenFile
		path = filepath.Clean("/" + path)
		path = strings.TrimPrefix(path, "/")
		if path == "" {
			path = "."
		}
	}

	info, err := stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	f, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
