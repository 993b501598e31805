package symbols

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"kprof/symbolize/process"
	"kprof/symbolize/regular"
)

// A Map is a file that a process of this machine maps, as the kernel's MMAP2
// record says.
type Map struct {
	PID               int
	Start, Limit      uint64 // run-time addresses
	Path              string // without " (deleted)"
	Major, Minor      uint32 // of the device
	Inode, Generation uint64
	Deleted           bool // the file has no name any more
}

// A FileRetainer holds files open from when they are mapped: by the end of a
// recording their process, its container, or the files themselves may be gone. One
// goroutine reports to it what happens as it happens; then it serves a Symbolizer.
//
// A process that is gone by the time its map is reported leaves its file behind
// in the root directory that it had. Roots other than this process's own are held
// too, and a process has its parent's until it is known better.
type FileRetainer struct {
	mu     sync.Mutex
	files  map[fileID]*retainedFile
	byPath map[string]*retainedFile // the first of that path
	others map[mapID]otherFile      // maps of a path that are not of the first
	roots  map[rootID]*retainedRoot
	rootOf map[int]procRoot
	exited []int // processes in rootOf that ended, in order
	open   int   // files
	turn   int   // see turnOver
	closed bool
	limits retainerLimits
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

// retainedFile is a file that was mapped.
type retainedFile struct {
	id   fileID
	file *os.File // nil if it could not be opened, or not be kept
	err  error    // why it could not be opened

	tried bool // to open it
	turn  int  // in which it was mapped last
}

// otherFile is the file of one map.
type otherFile struct {
	*retainedFile
	turn int // in which it was reported last
}

type retainedRoot struct{ dir *os.File }

func (r *retainedRoot) path() string { return fmt.Sprintf("/proc/self/fd/%d", r.dir.Fd()) }

// procRoot is the root directory of a process.
type procRoot struct {
	root    *retainedRoot // nil for this process's own
	parent  int           // the process that made it
	checked bool          // since it was made or called exec; before, it is its parent's
	uid     uint32        // its user, when it was checked
	inner   int           // its number in its own pid namespace
	user    bool          // uid and inner are known
	away    bool          // it has a root of its own, which could not be held
}

// retainerLimits bound what a FileRetainer holds.
type retainerLimits struct {
	files, roots   int // open at a time
	known          int // files remembered, open or not
	others, exited int
}

var defaultRetainerLimits = retainerLimits{files: 1024, roots: 64, known: 1 << 16, others: 1 << 14, exited: 1 << 12}

// share leaves half of the descriptors that this process may have to others: to what is written in the
// end, and to what is read of /proc.
func (l *retainerLimits) share(descriptors uint64) {
	l.files = int(min(uint64(l.files), descriptors/2))
	l.roots = min(l.roots, l.files/8)
}

// errReplaced: a path leads to another file than the one that was mapped.
var errReplaced = errors.New("the process is gone, and what is at the path now is another file")

// NewFileRetainer returns a FileRetainer of this machine's files.
func NewFileRetainer() *FileRetainer {
	r := &FileRetainer{
		files:  map[fileID]*retainedFile{},
		byPath: map[string]*retainedFile{},
		others: map[mapID]otherFile{},
		roots:  map[rootID]*retainedRoot{},
		rootOf: map[int]procRoot{},
		limits: defaultRetainerLimits,
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil {
		r.limits.share(limit.Cur)
	}
	if dir, id, _, err := openRoot(os.Getpid()); err == nil {
		dir.Close() // it was only asked who it is
		r.own = id
	}
	return r
}

// Forked says that a process was made, by another one.
func (r *FileRetainer) Forked(pid, parent int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rootOf[pid] = procRoot{root: r.rootOf[parent].root, parent: parent}
}

// Executed says that a process runs another program. It may have changed its
// root directory before.
func (r *FileRetainer) Executed(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rootOf[pid] = procRoot{root: r.rootOf[pid].root, parent: r.rootOf[pid].parent}
}

// Exited says that a process is gone. What is reported of it late still counts.
func (r *FileRetainer) Exited(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exited = append(r.exited, pid)
	if n := len(r.exited) - r.limits.exited; n > 0 {
		for _, pid := range r.exited[:n] {
			delete(r.rootOf, pid)
		}
		r.exited = r.exited[n:]
	}
}

// Mapped says that a file is mapped, and opens it if it is a new one. What it opens
// may be on a file system that does not answer: nobody else waits for that.
//
// A process is looked at where that may be needed: for a file that is not known yet, or for
// whose it is, where it has code that is in no file. Most that begin map nothing but what others have
// mapped before, and looking at one takes longer than everything else that is done for it.
func (r *FileRetainer) Mapped(m Map) {
	if !strings.HasPrefix(m.Path, "/") || m.Inode == 0 {
		if !strings.HasPrefix(m.Path, "[v") { // [vdso] and [vsyscall] are the kernel's
			r.checkRoot(m.PID)
		}
		return
	}
	f := r.known(&m)
	if f == nil {
		return
	}
	r.mu.Lock()
	open := f.file == nil && (f.err != nil || !f.tried) // of others, this process may be there still
	full := r.open >= r.limits.files
	r.mu.Unlock()
	if open {
		r.checkRoot(m.PID)
	}
	r.mu.Lock()
	if open {
		f.tried = true
	}
	if full && open {
		f.err = nil
	}
	r.mu.Unlock()
	if open && !full {
		file, err := r.openMapped(&m)
		r.mu.Lock()
		if f.file, f.err = file, err; err == nil {
			r.open++
		}
		if r.closed && err == nil {
			f.file, f.err = nil, fs.ErrClosed
			file.Close()
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := mapID{m.PID, m.Start, m.Path}
	switch first := r.byPath[m.Path]; {
	case first == nil:
		r.byPath[m.Path] = f
	case first == f:
		delete(r.others, at)
	default:
		if _, known := r.others[at]; known || len(r.others) < r.limits.others {
			r.others[at] = otherFile{f, r.turn}
		}
	}
}

// known returns the file of m, nil if it is one too many.
func (r *FileRetainer) known(m *Map) *retainedFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := fileID{m.Path, m.Major, m.Minor, m.Inode, m.Generation}
	f := r.files[id]
	if f == nil && len(r.files) < r.limits.known {
		f = &retainedFile{id: id}
		r.files[id] = f
	}
	if f != nil {
		f.turn = r.turn
	}
	return f
}

// turnOver lets files go that no process has mapped for some turns: see BuildIDs.Turn.
func (r *FileRetainer) turnOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	for id, f := range r.files {
		if f.turn >= r.turn-keptTurns {
			continue
		}
		delete(r.files, id)
		if r.byPath[id.path] == f {
			delete(r.byPath, id.path)
		}
		if f.file != nil && !r.closed {
			f.file.Close()
			r.open--
		}
	}
	maps.DeleteFunc(r.others, func(_ mapID, f otherFile) bool { return f.turn < r.turn-keptTurns })
	used := map[*retainedRoot]bool{}
	for _, p := range r.rootOf {
		used[p.root] = true
	}
	maps.DeleteFunc(r.roots, func(_ rootID, root *retainedRoot) bool {
		if !used[root] {
			root.dir.Close() // of a directory
		}
		return !used[root]
	})
}

func (r *FileRetainer) openMapped(m *Map) (*os.File, error) {
	if link, ok := process.MapFile(m.PID, m.Start, m.Limit, m.Path); ok {
		if f, _, err := regular.OpenLink(link); err == nil {
			// The process may have mapped another file there meanwhile.
			if opened, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())); err == nil && strings.TrimSuffix(opened, " (deleted)") == m.Path {
				return f, nil
			}
			f.Close()
		}
	}
	opts := regular.Options{NoSymlinks: true} // the kernel reported the path: none was in it
	if process.IsDumpName(m.Path) {
		var may process.Owner
		may.UID, may.Known = r.UserOf(m.PID)
		opts.Check = may.Check
	}
	if !m.Deleted {
		opts.Root = fmt.Sprintf("/proc/%d/root", m.PID)
		if f, _, err := regular.OpenWith(m.Path, opts); err == nil {
			return f, nil
		}
	}
	// Without the process, whatever is at the path may be another file.
	opts.Root = ""
	r.mu.Lock()
	if root := r.rootOf[m.PID].root; root != nil {
		opts.Root = root.path()
	}
	r.mu.Unlock()
	f, info, err := regular.OpenWith(m.Path, opts)
	if err != nil {
		return nil, err
	}
	if id, ok := regular.Identify(info); !ok || id.Inode != m.Inode {
		f.Close()
		return nil, errReplaced
	}
	return f, nil
}

// maxAncestors is how many processes are looked at in turn, each the parent of the one before,
// to find the root directory of one that has ended.
const maxAncestors = 4

// checkRoot looks at the root directory of a process, unless that is known. Of one that has ended
// that is its parent's, which nobody may have looked at either.
func (r *FileRetainer) checkRoot(pid int) {
	var ended []int // the later ones were made by the earlier
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := len(ended) - 1; i >= 0; i-- {
			p := r.rootOf[ended[i]]
			if root := r.rootOf[p.parent].root; root != nil {
				p.root = root
				r.rootOf[ended[i]] = p
			}
		}
	}()
	for range maxAncestors {
		r.mu.Lock()
		p := r.rootOf[pid]
		r.mu.Unlock()
		if p.checked || r.setRoot(pid) || p.parent == 0 {
			return
		}
		ended = append(ended, pid)
		pid = p.parent
	}
}

// setRoot looks at the root directory of a process and whose it is, and reports whether it lives
// still.
func (r *FileRetainer) setRoot(pid int) (lives bool) {
	dir, id, of, err := openRoot(pid)
	r.mu.Lock()
	defer r.mu.Unlock()
	p := procRoot{root: r.rootOf[pid].root, parent: r.rootOf[pid].parent, checked: true}
	defer func() { r.rootOf[pid] = p }()
	if err != nil {
		return false
	}
	p.uid, p.inner, p.user = of.UID, of.InnerPID, true
	if id == r.own {
		p.root = nil
	} else if p.root = r.roots[id]; p.root == nil && len(r.roots) < r.limits.roots && !r.closed {
		p.root = &retainedRoot{dir}
		r.roots[id] = p.root
		return true
	}
	p.away = id != r.own && p.root == nil
	dir.Close() // held already, or one too many
	return true
}

// UserOf returns the user of a process that was seen while it lived, since it was made
// or called exec.
func (r *FileRetainer) UserOf(pid int) (uid uint32, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.rootOf[pid]
	return p.uid, p.user
}

// RootOf returns the root directory of a process that was seen while it lived, by a path
// that leads there until Close, "" for that of this process; and its number in its own pid
// namespace. That is where it left files whose names have its number.
func (r *FileRetainer) RootOf(pid int) (root string, inner int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.rootOf[pid]
	if p.root != nil {
		root = p.root.path()
	}
	return root, p.inner, p.user && !p.away
}

// openRoot opens the root directory of a process, which it returns closed.
func openRoot(pid int) (*os.File, rootID, *process.Process, error) {
	p, err := process.Open(pid)
	if err != nil {
		return nil, rootID{}, nil, err
	}
	defer p.Close()
	mounts, err := os.Readlink(p.Path("ns/mnt"))
	if err != nil {
		return nil, rootID{}, nil, err
	}
	dir, info, err := regular.OpenDirectory(p.Path("root"))
	if err != nil {
		return nil, rootID{}, nil, err
	}
	id, _ := regular.Identify(info)
	return dir, rootID{mounts, id.Dev, id.Inode}, p, nil
}

// Retained returns a path by which the file can be opened that a process mapped at
// start, until Close; empty if it is not known. The error says that it is known, and
// why it was not retained.
func (r *FileRetainer) Retained(pid int, start uint64, recorded string) (path string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.others[mapID{pid, start, recorded}].retainedFile
	if f == nil {
		f = r.byPath[recorded]
	}
	switch {
	case f == nil:
		return "", nil
	case f.file == nil:
		return "", f.err
	}
	return fmt.Sprintf("/proc/self/fd/%d", f.file.Fd()), nil
}

// Close lets all files go.
func (r *FileRetainer) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var errs []error
	for _, f := range r.files {
		if f.file != nil {
			errs = append(errs, f.file.Close())
			f.file, f.err = nil, fs.ErrClosed
		}
	}
	for _, root := range r.roots {
		errs = append(errs, root.dir.Close())
	}
	clear(r.roots)
	clear(r.rootOf)
	return errors.Join(errs...)
}
