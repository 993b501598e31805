package symbolize

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"kprof/symbolize/internal/regular"
)

// A Map is a file that a process of this machine maps, as the kernel's MMAP2
// record tells it.
type Map struct {
	PID               int
	Start, Limit      uint64 // run-time addresses
	Path              string // without " (deleted)"
	Major, Minor      uint32 // of the device
	Inode, Generation uint64
	Deleted           bool // the file has no name any more
}

// A Keeper holds files open from when they are mapped: by the end of a recording
// their process, its container, or the files themselves may be gone. It is told
// what happens as it happens, by one goroutine, and then serves a Symbolizer.
//
// A process that is gone by the time its map is told of leaves its file behind
// in the root directory that it had. Roots other than this process's own are held
// too, and a process has its parent's until it is known better.
type Keeper struct {
	mu     sync.Mutex
	files  map[fileID]*keptFile
	byPath map[string]*keptFile // the first of that path
	others map[mapID]*keptFile  // maps of a path that are not of the first
	roots  map[rootID]*keptRoot
	rootOf map[int]procRoot
	exited []int // processes in rootOf that ended, in order
	open   int   // files
	limits keeperLimits
	own    rootID
}

// fileID tells files apart as the kernel does.
type fileID struct {
	path       string
	maj, min   uint32
	inode, gen uint64
}

// mapID tells maps apart, as far as a Mapping tells.
type mapID struct {
	pid   int
	start uint64
	path  string
}

// rootID tells root directories apart.
type rootID struct {
	mounts     string // namespace
	dev, inode uint64
}

// keptFile is a file that was mapped.
type keptFile struct {
	id   fileID
	file *os.File // nil if it could not be opened, or not be kept
	err  error    // why it could not be opened
}

type keptRoot struct{ dir *os.File }

// procRoot is the root directory of a process.
type procRoot struct {
	root    *keptRoot // nil for this process's own
	checked bool      // since it was made or called exec; before, it is its parent's
}

// keeperLimits bound what a Keeper holds.
type keeperLimits struct {
	files, roots   int // open at a time
	known          int // files remembered, open or not
	others, exited int
}

var defaultKeeperLimits = keeperLimits{files: 1024, roots: 64, known: 1 << 16, others: 1 << 14, exited: 1 << 12}

// errReplaced: a path leads to another file than the one that was mapped.
var errReplaced = errors.New("the process is gone, and what is at the path now is another file")

// NewKeeper returns a Keeper of this machine's files.
func NewKeeper() *Keeper {
	k := &Keeper{
		files:  map[fileID]*keptFile{},
		byPath: map[string]*keptFile{},
		others: map[mapID]*keptFile{},
		roots:  map[rootID]*keptRoot{},
		rootOf: map[int]procRoot{},
		limits: defaultKeeperLimits,
	}
	if dir, id, err := openRoot(os.Getpid()); err == nil {
		dir.Close() // it was only asked who it is
		k.own = id
	}
	return k
}

// Forked says that a process was made, by another one.
func (k *Keeper) Forked(pid, parent int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rootOf[pid] = procRoot{root: k.rootOf[parent].root}
}

// Executed says that a process runs another program. It may have changed its
// root directory before.
func (k *Keeper) Executed(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rootOf[pid] = procRoot{root: k.rootOf[pid].root}
}

// Exited says that a process is gone. What is told of it late still counts.
func (k *Keeper) Exited(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.exited = append(k.exited, pid)
	if n := len(k.exited) - k.limits.exited; n > 0 {
		for _, pid := range k.exited[:n] {
			delete(k.rootOf, pid)
		}
		k.exited = k.exited[n:]
	}
}

// Mapped says that a file is mapped, and opens it if it is a new one.
func (k *Keeper) Mapped(m Map) {
	if !strings.HasPrefix(m.Path, "/") || m.Inode == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.rootOf[m.PID]; !p.checked {
		k.setRoot(m.PID)
	}
	id := fileID{m.Path, m.Major, m.Minor, m.Inode, m.Generation}
	f := k.files[id]
	if f == nil {
		if len(k.files) >= k.limits.known {
			return
		}
		f = &keptFile{id: id}
		k.files[id] = f
		k.keep(f, &m)
	} else if f.file == nil && f.err != nil {
		k.keep(f, &m) // this process may be there still
	}
	at := mapID{m.PID, m.Start, m.Path}
	switch first := k.byPath[m.Path]; {
	case first == nil:
		k.byPath[m.Path] = f
	case first == f:
		delete(k.others, at)
	case len(k.others) < k.limits.others:
		k.others[at] = f
	}
}

// keep opens the file of m: through the process, else below the root that it
// had.
func (k *Keeper) keep(f *keptFile, m *Map) {
	if k.open >= k.limits.files {
		f.err = nil
		return
	}
	file, err := k.openMapped(m)
	if err != nil {
		f.err = err
		return
	}
	f.file, f.err = file, nil
	k.open++
}

func (k *Keeper) openMapped(m *Map) (*os.File, error) {
	if p, ok := mapFile(Mapping{PID: m.PID, Start: m.Start, Limit: m.Limit, Path: m.Path}); ok {
		if f, _, err := regular.Open(p.root, p.path); err == nil {
			// The process may have mapped another file there meanwhile.
			if opened, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err == nil && strings.TrimSuffix(opened, " (deleted)") == m.Path {
				return f, nil
			}
			f.Close()
		}
	}
	if !m.Deleted {
		if f, _, err := regular.Open(fmt.Sprintf("/proc/%d/root", m.PID), m.Path); err == nil {
			return f, nil
		}
	}
	// Without the process, whatever is at the path may be another file.
	root := ""
	if r := k.rootOf[m.PID].root; r != nil {
		root = fmt.Sprintf("/proc/self/fd/%d", r.dir.Fd())
	}
	f, info, err := regular.Open(root, m.Path)
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Ino != m.Inode {
		f.Close()
		return nil, errReplaced
	}
	return f, nil
}

// setRoot looks at the root directory of a process, if it lives still.
func (k *Keeper) setRoot(pid int) {
	p := procRoot{k.rootOf[pid].root, true}
	defer func() { k.rootOf[pid] = p }()
	dir, id, err := openRoot(pid)
	if err != nil {
		return
	}
	if id == k.own {
		p.root = nil
	} else if p.root = k.roots[id]; p.root == nil && len(k.roots) < k.limits.roots {
		p.root = &keptRoot{dir}
		k.roots[id] = p.root
		return
	}
	dir.Close() // held already, or one too many
}

// openRoot opens the root directory of a process.
func openRoot(pid int) (*os.File, rootID, error) {
	proc := fmt.Sprintf("/proc/%d", pid)
	mounts, err := os.Readlink(filepath.Join(proc, "ns/mnt"))
	if err != nil {
		return nil, rootID{}, err
	}
	dir, err := os.OpenFile(filepath.Join(proc, "root"), syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, rootID{}, err
	}
	info, err := dir.Stat()
	if err != nil {
		dir.Close()
		return nil, rootID{}, err
	}
	id := rootID{mounts: mounts}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.inode = uint64(st.Dev), st.Ino
	}
	return dir, id, nil
}

// place returns where the file of m is kept, with an empty path if it is not
// known. The error says that it is known, and why it is not kept.
func (k *Keeper) place(m *Mapping) (place, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.others[mapID{m.PID, m.Start, m.Path}]
	if f == nil {
		f = k.byPath[m.Path]
	}
	switch {
	case f == nil:
		return place{}, nil
	case f.file == nil:
		return place{}, f.err
	}
	return place{"", fmt.Sprintf("/proc/self/fd/%d", f.file.Fd())}, nil
}

// Close lets all files go.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, f := range k.files {
		if f.file != nil {
			errs = append(errs, f.file.Close())
			f.file, f.err = nil, fs.ErrClosed
		}
	}
	for _, r := range k.roots {
		errs = append(errs, r.dir.Close())
	}
	clear(k.roots)
	clear(k.rootOf)
	return errors.Join(errs...)
}
