//go:build !linux || portable

package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Place is where an output goes: a path, after all links have been followed. There
// is no way here to hold on to what is there; who may write to the directory can
// put something else in the way until the output is written.
type Place struct {
	name   string // as given
	path   string // without links
	plain  bool   // a file, or nothing yet
	beside string // the new file's name until it is whole, "" for none

	// Waiting is for Linux, where it is called before Stream waits for a reader.
	Waiting func()
}

// Find finds the place of an output. It is to be closed.
func Find(name string) (*Place, error) {
	if err := namesFile(name); err != nil {
		return nil, err
	}
	p := &Place{name: name, path: name, plain: true}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if last, err := os.Lstat(name); err == nil && last.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link to what is not there: name that file itself", name)
		}
		return p, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory", name)
	case info.Mode().IsRegular():
		p.path, err = filepath.EvalSymlinks(name)
		return p, err
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0:
		return nil, fmt.Errorf("%s is neither a file nor a pipe, so it is not written to", name)
	}
	p.plain = false
	return p, nil
}

// Close removes what has not been published.
func (p *Place) Close() {
	if p.beside != "" {
		_ = os.Remove(p.beside) // it is of no use, and may be gone
		p.beside = ""
	}
}

// IsFile reports whether the output is a file, and not written as it is.
func (p *Place) IsFile() bool { return p.plain }

// Stream opens what is written as it is: a pipe, a device. It returns nil for a file,
// which is to be made.
func (p *Place) Stream() (*os.File, error) {
	if p.plain {
		return nil, nil
	}
	return os.OpenFile(p.path, os.O_WRONLY, 0)
}

// Replace opens a new file that takes the place when publish is called, which closes
// it, and vanishes when the place is closed before. What is there is replaced, not
// written to.
func (p *Place) Replace() (f *os.File, publish func() error, err error) {
	beside := filepath.Join(filepath.Dir(p.path), besideName(filepath.Base(p.path)))
	f, err = os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, private)
	if err != nil {
		return nil, nil, fmt.Errorf("create %s: %w", p.name, err)
	}
	p.beside = beside
	return f, func() error {
		if err := f.Close(); err != nil { // Windows renames no open file
			return fmt.Errorf("create %s: %w", p.name, err)
		}
		if err := os.Rename(beside, p.path); err != nil {
			return fmt.Errorf("create %s: %w", p.name, err)
		}
		p.beside = ""
		return nil
	}, nil
}
