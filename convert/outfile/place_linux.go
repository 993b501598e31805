//go:build !portable

package outfile

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Place is where an output goes: a name in a directory that is held open, after
// all links have been followed. It is found once, before anything is written, so
// that nobody changes meanwhile what is meant.
//
// What others have put in the way is not followed, in the manner of the kernel's
// fs.protected_symlinks, _regular and _fifos, which may be switched off, and are
// for some of this only: in a directory that many may write to (a sticky one, as
// /tmp), links, files and pipes count only if they belong to whom we run as, or to
// whom the directory belongs. The last link of all must be ours or root's
// anywhere, since what it leads to is replaced.
type Place struct {
	name string // as given
	dir  int    // descriptor of the directory
	base string
	st   unix.Stat_t // of what is there; Mode 0 for nothing
	fd   int         // that /dev/stdout and the like stand for, -1 for none

	unpublished string // in the directory, on file systems without O_TMPFILE

	// Waiting is called before Stream waits for somebody who reads a pipe; nil for
	// nothing.
	Waiting func()
}

// maxLinks is how many links are followed, as the kernel does.
const maxLinks = 40

// Find finds the place of an output. It is to be closed.
func Find(name string) (*Place, error) {
	if err := namesFile(name); err != nil {
		return nil, err
	}
	p := &Place{name: name, dir: -1, fd: -1}
	if err := p.find(); err != nil {
		p.Close()
		var errno unix.Errno
		if errors.As(err, &errno) {
			err = &os.PathError{Op: "create", Path: name, Err: errno}
		}
		return nil, err
	}
	return p, nil
}

// Close lets go of the directory, and removes what has not been published. It may be called again.
func (p *Place) Close() {
	if p.dir >= 0 {
		if p.unpublished != "" {
			_ = unix.Unlinkat(p.dir, p.unpublished, 0) // it is of no use, and may be gone
			p.unpublished = ""
		}
		unix.Close(p.dir)
		p.dir = -1
	}
}

func (p *Place) find() error {
	rest := p.name
	for links := 0; ; {
		if strings.HasPrefix(rest, "/") || p.dir < 0 {
			top := "."
			if strings.HasPrefix(rest, "/") {
				top = "/"
			}
			if err := p.enter(unix.AT_FDCWD, top); err != nil {
				return err
			}
		}
		first, after, more := strings.Cut(strings.TrimLeft(rest, "/"), "/")
		if more {
			after = strings.TrimLeft(after, "/")
			more = after != ""
		}
		if first == "" || first == "." && !more {
			return fmt.Errorf("%s is a directory", p.name)
		}
		target, isLink, err := p.link(first, !more)
		switch {
		case err != nil:
			return err
		case p.fd >= 0 && more:
			return unix.ENOTDIR
		case p.fd >= 0:
			return nil
		case isLink:
			if links++; links > maxLinks {
				return unix.ELOOP
			}
			rest = target
			if more {
				rest += "/" + after
			}
		case more:
			if err := p.enter(p.dir, first); err != nil {
				return err
			}
			rest = after
		default:
			p.base = first
			return p.look()
		}
	}
}

// enter goes on in a directory, which is no link.
func (p *Place) enter(at int, name string) error {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p.Close()
	p.dir = fd
	return nil
}

// link returns where a name in the directory leads, if it is a link. It is opened
// first, so that what is looked at is what is read.
func (p *Place) link(name string, last bool) (target string, isLink bool, err error) {
	fd, err := unix.Openat(p.dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) && last {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", false, err
	}
	if magic, err := p.magic(name); magic || err != nil {
		return "", false, err
	}
	trusted, err := p.trusts(&st)
	if err != nil {
		return "", false, err
	}
	if last && st.Uid != uint32(os.Geteuid()) && st.Uid != 0 {
		trusted = false
	}
	if !trusted {
		return "", false, fmt.Errorf("%s: %s is a link of user %d, which is not followed: remove it, or name another file", p.name, name, st.Uid)
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(buf[:max(n, 0)]), true, err
}

// magic reports whether a link of procfs leads to what it does not say, and finds
// the descriptor if it is one of ours. Links of other processes are refused.
func (p *Place) magic(name string) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(p.dir, &fs); err != nil || fs.Type != unix.PROC_SUPER_MAGIC {
		return false, err
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", p.dir))
	if err != nil {
		return false, err
	}
	if at == "/proc" { // self, thread-self
		return false, nil
	}
	n, err := strconv.Atoi(name)
	if at != fmt.Sprintf("/proc/%d/fd", os.Getpid()) || err != nil {
		return true, fmt.Errorf("%s: %s is a link of procfs, which is not followed", p.name, path.Join(at, name))
	}
	p.fd = n
	return true, nil
}

// trusts reports whether something in the directory counts: not if it belongs to
// somebody else and many may put things there.
func (p *Place) trusts(st *unix.Stat_t) (bool, error) {
	var dir unix.Stat_t
	if err := unix.Fstat(p.dir, &dir); err != nil {
		return false, err
	}
	shared := dir.Mode&unix.S_ISVTX != 0 && dir.Mode&0o022 != 0
	return !shared || st.Uid == uint32(os.Geteuid()) || st.Uid == dir.Uid, nil
}

// look looks at what is at the place, and refuses what cannot be an output.
func (p *Place) look() error {
	err := unix.Fstatat(p.dir, p.base, &p.st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		p.st.Mode = 0
		return nil
	}
	if err != nil {
		return err
	}
	switch p.st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fmt.Errorf("%s is a directory", p.name)
	case unix.S_IFREG, unix.S_IFIFO, unix.S_IFCHR:
	default:
		return fmt.Errorf("%s is neither a file nor a pipe, so it is not written to", p.name)
	}
	if trusted, err := p.trusts(&p.st); err != nil || !trusted {
		return errors.Join(err, fmt.Errorf("%s belongs to user %d, in a directory that many may write to, so it is not touched: remove it, or name another file", p.name, p.st.Uid))
	}
	return nil
}

// IsFile reports whether the output is a file, and not written as it is.
func (p *Place) IsFile() bool {
	kind := p.st.Mode & unix.S_IFMT
	return p.fd < 0 && (kind == 0 || kind == unix.S_IFREG)
}

// Stream opens what is written as it is: a pipe, a device, a descriptor that we
// have already. It returns nil for a file, which is to be made.
func (p *Place) Stream() (*os.File, error) {
	kind := p.st.Mode & unix.S_IFMT
	switch {
	case p.fd >= 0:
		fd, err := unix.FcntlInt(uintptr(p.fd), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: p.name, Err: err}
		}
		return os.NewFile(uintptr(fd), p.name), nil
	case p.IsFile():
		return nil, nil
	}
	fd, err := unix.Openat(p.dir, p.base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: p.name, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: p.name, Err: err}
	}
	if st.Dev != p.st.Dev || st.Ino != p.st.Ino || st.Mode&unix.S_IFMT != kind {
		return nil, fmt.Errorf("%s is not what it was before, so it is not written to", p.name)
	}
	opened, err := p.again(fd, unix.O_NONBLOCK|unix.O_NOCTTY)
	if err == unix.ENXIO && kind == unix.S_IFIFO {
		if p.Waiting != nil {
			p.Waiting()
		}
		opened, err = p.again(fd, 0)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: p.name, Err: err}
	}
	_ = unix.SetNonblock(opened, true) // for who waits until it can be written to
	return os.NewFile(uintptr(opened), p.name), nil
}

// again opens the file of a descriptor once more, to be written to.
func (p *Place) again(fd, flags int) (opened int, err error) {
	for {
		opened, err = unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_WRONLY|unix.O_CLOEXEC|flags, 0)
		if err != unix.EINTR {
			return opened, err
		}
	}
}

// Pipe opens a named pipe for reading and writing, which neither waits for somebody on the
// other side nor ends when they go.
func (p *Place) Pipe() (*os.File, error) {
	fd, err := -1, error(unix.EINVAL)
	if p.fd < 0 && p.st.Mode&unix.S_IFMT == unix.S_IFIFO {
		fd, err = unix.Openat(p.dir, p.base, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("%s is not a named pipe", p.name)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: p.name, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Dev != p.st.Dev || st.Ino != p.st.Ino {
		unix.Close(fd)
		return nil, errors.Join(err, fmt.Errorf("%s is not what it was before, so it is not opened", p.name))
	}
	return os.NewFile(uintptr(fd), p.name), nil
}
