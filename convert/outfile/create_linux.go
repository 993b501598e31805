//go:build !portable

package outfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Replace opens a new file that takes the place when publish is called, and
// vanishes when it and the place are closed before. What is there is replaced, not written to.
func (p *Place) Replace() (f *os.File, publish func() error, err error) {
	fd, err := unix.Openat(p.dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, private)
	if err == nil {
		return os.NewFile(uintptr(fd), p.name), func() error {
			if err := p.linkTo(fd, p.base); !errors.Is(err, unix.EEXIST) {
				return err
			}
			// A link does not replace what is there.
			beside := p.beside()
			if err := p.linkTo(fd, beside); err != nil {
				return err
			}
			return p.take(beside)
		}, nil
	}
	return p.replaceBeside()
}

// replaceBeside is Replace on file systems without O_TMPFILE, where the new file has a name of its
// own until it is published or the place is closed.
func (p *Place) replaceBeside() (f *os.File, publish func() error, err error) {
	beside := p.beside()
	fd, err := unix.Openat(p.dir, beside, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, private)
	if err != nil {
		return nil, nil, fmt.Errorf("create %s: %w", p.name, err)
	}
	p.unpublished = beside
	return os.NewFile(uintptr(fd), p.name), func() error {
		p.unpublished = ""
		return p.take(beside)
	}, nil
}

// linkTo gives an unnamed file a name in the directory.
func (p *Place) linkTo(fd int, name string) error {
	if err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), p.dir, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.PathError{Op: "create", Path: p.name, Err: err}
	}
	return nil
}

// beside is a name that nobody can have made before.
func (p *Place) beside() string { return besideName(p.base) }

// take gives a file that is whole its name. Where somebody else is in the way by
// now, it keeps the name that it has.
func (p *Place) take(beside string) error {
	if err := unix.Renameat(p.dir, beside, p.dir, p.base); err != nil {
		return fmt.Errorf("create %s: %w; what should be there is in %s", p.name, err, filepath.Join(filepath.Dir(p.name), beside))
	}
	return nil
}

// Create opens a new file that gets the name when publish is called, before it is closed, and
// goes on being written. Whoever looks sees none before, however this process ends; file systems without
// O_TMPFILE show it at once. What is there then, unless it is empty, is kept with ".old" behind its
// name, as perf does. The file is the caller's to close.
func (p *Place) Create() (f *os.File, publish func() error, err error) {
	fd, err := unix.Openat(p.dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, private)
	if err == nil {
		return os.NewFile(uintptr(fd), p.name), func() error {
			if err := p.keepOld(); err != nil {
				return err
			}
			return p.linkTo(fd, p.base)
		}, nil
	}
	if err := p.keepOld(); err != nil {
		return nil, nil, err
	}
	fd, err = unix.Openat(p.dir, p.base, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, private)
	if err != nil {
		return nil, nil, &os.PathError{Op: "create", Path: p.name, Err: err}
	}
	return os.NewFile(uintptr(fd), p.name), func() error { return nil }, nil
}

// keepOld gives what is at the place another name, or removes it if it is empty.
func (p *Place) keepOld() error {
	switch {
	case p.st.Mode == 0:
	case p.st.Size == 0:
		if err := unix.Unlinkat(p.dir, p.base, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return &os.PathError{Op: "create", Path: p.name, Err: err}
		}
	default:
		var st unix.Stat_t
		if err := unix.Fstatat(p.dir, p.base+".old", &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
			if trusted, err := p.trusts(&st); err != nil || !trusted {
				return fmt.Errorf("%s.old belongs to user %d, in a directory that many may write to, so it is not replaced: name another file", p.name, st.Uid)
			}
		}
		if err := unix.Renameat(p.dir, p.base, p.dir, p.base+".old"); err != nil {
			return &os.PathError{Op: "create", Path: p.name, Err: err}
		}
	}
	return nil
}
