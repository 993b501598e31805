//go:build !portable

package regular

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernelFS are the file systems whose files are the kernel's: reading one may wait,
// act, or tell what only root may know. By their magic numbers (linux/magic.h, and
// those that stand with their file system).
var kernelFS = map[int64]string{
	unix.PROC_SUPER_MAGIC:      "procfs",
	unix.SYSFS_MAGIC:           "sysfs",
	unix.TRACEFS_MAGIC:         "tracefs",
	unix.DEBUGFS_MAGIC:         "debugfs",
	unix.CGROUP_SUPER_MAGIC:    "cgroupfs",
	unix.CGROUP2_SUPER_MAGIC:   "cgroupfs",
	unix.SECURITYFS_MAGIC:      "securityfs",
	unix.SELINUX_MAGIC:         "selinuxfs",
	unix.SMACK_MAGIC:           "smackfs",
	unix.AAFS_MAGIC:            "apparmorfs",
	unix.BPF_FS_MAGIC:          "bpffs",
	unix.PSTOREFS_MAGIC:        "pstore",
	unix.EFIVARFS_MAGIC:        "efivarfs",
	unix.BINFMTFS_MAGIC:        "binfmt_misc",
	unix.RDTGROUP_SUPER_MAGIC:  "resctrl",
	unix.DEVPTS_SUPER_MAGIC:    "devpts",
	unix.NSFS_MAGIC:            "nsfs",
	unix.PID_FS_MAGIC:          "pidfs",
	unix.SOCKFS_MAGIC:          "sockfs",
	unix.ANON_INODE_FS_MAGIC:   "anonymous inode",
	unix.DAXFS_MAGIC:           "device",
	unix.BDEVFS_MAGIC:          "device",
	unix.DMA_BUF_MAGIC:         "dma-buf",
	unix.SECRETMEM_MAGIC:       "secret memory",
	unix.OPENPROM_SUPER_MAGIC:  "openpromfs",
	unix.USBDEVICE_SUPER_MAGIC: "usbfs",
	unix.XENFS_SUPER_MAGIC:     "xenfs",
	unix.AUTOFS_SUPER_MAGIC:    "autofs",
	unix.MTD_INODE_FS_MAGIC:    "device",
	0x50495045:                 "pipefs",     // fs/pipe.c
	0x62656570:                 "configfs",   // fs/configfs/mount.c
	0x65735543:                 "fusectl",    // fs/fuse/control.c
	0x19800202:                 "mqueue",     // ipc/mqueue.c
	0x6e667364:                 "nfsd",       // fs/nfsd/nfsctl.c
	0x67596969:                 "rpc_pipefs", // net/sunrpc/rpc_pipe.c
	0x0a647361:                 "functionfs", // drivers/usb/gadget/function/f_fs.c
	0x474d454d:                 "guest memory",
}

// retries is how often a lookup is begun again that a rename or a mount crossed.
// Whoever keeps on renaming gets the slow lookup, which does not mind.
const retries = 8

func open(path string, opts Options) (*os.File, fs.FileInfo, error) {
	return openBy(lookup, path, opts)
}

// symlinkError is the ELOOP of a path in which no symbolic link may be.
type symlinkError struct{}

func (symlinkError) Error() string        { return "there is a symbolic link in the path" }
func (symlinkError) Is(target error) bool { return target == unix.ELOOP }

// A finder finds the file at path below the directory root, and opens it as a place.
type finder func(root int, path string, noSymlinks bool) (int, error)

func openBy(find finder, path string, opts Options) (*os.File, fs.FileInfo, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: unix.EINVAL}
	}
	root, below := opts.Root, path
	if root == "" {
		root = "/"
		if !strings.HasPrefix(path, "/") {
			dir, err := os.Getwd()
			if err != nil {
				return nil, nil, err
			}
			below = dir + "/" + path
		}
	}
	dir, err := directory(root)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(dir)
	at, err := find(dir, below, opts.NoSymlinks)
	if err == unix.ELOOP && opts.NoSymlinks {
		err = symlinkError{}
	}
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return read(at, path, opts)
}

func directory(path string) (int, error) {
	fd, err := again(func() (int, error) {
		return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// opened is the file of a descriptor, and what it is.
func opened(fd int, path string) (*os.File, fs.FileInfo, error) {
	f := os.NewFile(uintptr(fd), path)
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func openDirectory(path string) (*os.File, fs.FileInfo, error) {
	fd, err := directory(path)
	if err != nil {
		return nil, nil, err
	}
	return opened(fd, path)
}

func openLink(path string) (*os.File, fs.FileInfo, error) {
	at, err := again(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return read(at, path, Options{})
}

// again calls f until no signal cuts it short.
func again(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); err != unix.EINTR {
			return n, err
		}
	}
}

// read takes over at, an open place, and opens it for reading if it may be read.
func read(at int, path string, opts Options) (*os.File, fs.FileInfo, error) {
	place := os.NewFile(uintptr(at), path)
	defer place.Close()
	fail := func(err error) (*os.File, fs.FileInfo, error) {
		return nil, nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return fail(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, nil, notRegular(path, "")
	}
	var on unix.Statfs_t
	if err := unix.Fstatfs(at, &on); err != nil {
		return fail(err)
	}
	if name, ok := kernelFS[int64(uint32(on.Type))]; ok && !opts.Kernel {
		return nil, nil, notRegular(path, ", but the kernel's ("+name+")")
	}
	if opts.Check != nil {
		info, err := place.Stat()
		if err == nil {
			err = opts.Check(info)
		}
		if err != nil {
			return fail(err)
		}
	}
	// O_NONBLOCK: nor does it wait for somebody to give up a lease.
	fd, err := again(func() (int, error) {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(at), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return fail(err)
	}
	return opened(fd, path)
}

// lookup leaves the work to the kernel, where it has openat2 (Linux 5.6) and no
// filter of system calls forbids it.
func lookup(root int, path string, noSymlinks bool) (int, error) {
	for range retries {
		switch fd, err := lookupKernel(root, path, noSymlinks); err {
		case unix.EINTR, unix.EAGAIN:
		case unix.ENOSYS, unix.EPERM:
			return walk(root, path, noSymlinks)
		default:
			return fd, err
		}
	}
	return walk(root, path, noSymlinks)
}

func lookupKernel(root int, path string, noSymlinks bool) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	if noSymlinks {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	return unix.Openat2(root, path, &how)
}

// Bounds of a walk: as many links as the kernel follows (MAXSYMLINKS), and
// directories that are held open.
const (
	maxLinks = 40
	maxDepth = 256
)

// walk is lookupKernel for kernels without openat2: it takes one element of the path
// at a time, and goes back up by the directories that it came through, so that a
// rename does not lead it out of root.
func walk(root int, path string, noSymlinks bool) (int, error) {
	through := []int{root} // directories, the last of which may be the file
	up := func(n int) {
		for _, fd := range through[n:] {
			unix.Close(fd)
		}
		through = through[:n]
	}
	defer func() { up(1) }()
	links := 0
	for todo := strings.Split(path, "/"); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			up(max(len(through)-1, 1))
			continue
		}
		if len(through) == maxDepth {
			return -1, unix.ENAMETOOLONG
		}
		fd, err := again(func() (int, error) {
			return unix.Openat(through[len(through)-1], name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if err != nil {
			return -1, err
		}
		target, err := linkTarget(fd)
		if errors.Is(err, errNoLink) {
			through = append(through, fd)
			continue
		}
		unix.Close(fd)
		if links++; err == nil && (noSymlinks || links > maxLinks) {
			err = unix.ELOOP
		}
		if err != nil {
			return -1, err
		}
		if strings.HasPrefix(target, "/") {
			up(1)
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return again(func() (int, error) { return unix.FcntlInt(uintptr(through[len(through)-1]), unix.F_DUPFD_CLOEXEC, 0) })
}

var errNoLink = errors.New("no symbolic link")

// linkTarget returns where the open symbolic link at leads. Links of procfs are
// refused: nothing that may be read is behind them that has no other name.
func linkTarget(at int) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", errNoLink
	}
	var on unix.Statfs_t
	if err := unix.Fstatfs(at, &on); err != nil {
		return "", err
	}
	if on.Type == unix.PROC_SUPER_MAGIC {
		return "", unix.ELOOP
	}
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(at, "", b)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}

func identify(info fs.FileInfo) (Identity, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{uint64(st.Dev), st.Ino, st.Uid, uint64(st.Nlink)}, true
}
