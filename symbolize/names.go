package symbolize

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"kprof/symbolize/mapping"
	"kprof/symbolize/process"
	"kprof/symbolize/unwind"
)

// Names are what a Symbolizer has found of user code (see KeptNames): the functions at
// addresses, how stacks go on there, and the code that processes made. A recording takes
// them along, so that it is named on a machine that has none of the files. They may be
// used concurrently.
type Names struct {
	files  map[nameKey]*fileNames
	dumps  map[dumpKey][]JITCode
	frames []Frame // of all files, each once
}

// nameKey tells apart what has names of its own. For memory of a process it is the process,
// and for the dump of one its path beside: processes of two containers may have the same.
type nameKey struct {
	kind    Kind
	file    string
	id      mapping.ID
	buildID string // where there is no id
	pid     int
}

type dumpKey struct {
	pid  int
	path string
}

// fileNames is what is known of one file, or of the memory of a process.
type fileNames struct {
	addrs   []uint64 // sorted
	ends    []uint32 // in frames, of each address's; it begins where that of the one before ends
	frames  []uint32 // in Names.frames; an address has none where a look-up found none
	missing missing
	unwind  *unwind.Table
}

// missing says what is missing of the names in a file, which another machine, or a later
// look, may find.
type missing uint8

const (
	missesNothing missing = iota
	missesSymbols         // ErrStripped
	missesSome
)

func missingBy(err error) missing {
	switch {
	case err == nil:
		return missesNothing
	case errors.Is(err, ErrStripped):
		return missesSymbols
	}
	return missesSome
}

// maxFrames is how many functions an address has at most, inlined ones included: each stack
// with it is as much longer. Compilers stop far below.
const maxFrames = 256

// portable reports whether names of a kind are kept. The kernel's symbols are kept otherwise.
func portable(k Kind) bool { return k == mapping.User || k == mapping.VDSO || k == mapping.Anon }

func keyOfNames(m *Mapping) nameKey {
	k := nameKey{kind: m.Kind}
	switch {
	case m.Kind == mapping.Anon:
		k.pid = m.PID
	case m.ID != mapping.ID{}:
		k.file, k.id = m.File, m.ID
	default:
		k.file, k.buildID = m.File, trimBuildID(m.BuildID)
		if k.buildID == "" && process.IsDumpName(m.File) {
			k.pid = m.PID
		}
	}
	return k
}

// of returns what is known of a mapping, nil for nothing.
func (n *Names) of(m *Mapping) *fileNames {
	if n == nil || !portable(m.Kind) {
		return nil
	}
	return n.files[keyOfNames(m)]
}

// maxRoom is how many frames are made at once.
const maxRoom = 1 << 10

// fill fills in frames that are empty from what is known, and reports whether all addresses
// are known, by look-ups that missed nothing.
func (n *Names) fill(m *Mapping, addrs []uint64, frames [][]Frame, readable *readableNames, namesOnly bool) (all bool) {
	f := n.of(m)
	if f == nil {
		return false
	}
	all = f.missing == missesNothing
	var room []Frame // for addresses to come
	for i, addr := range addrs {
		at, ok := slices.BinarySearch(f.addrs, addr)
		if all = all && ok; !ok || len(frames[i]) > 0 {
			continue
		}
		from := uint32(0)
		if at > 0 {
			from = f.ends[at-1]
		}
		ids := f.frames[from:f.ends[at]]
		if len(ids) > len(room) {
			// Not for each address apart, which takes longer than to fill it in.
			room = make([]Frame, max(len(ids), min(len(addrs)-i, maxRoom)))
		}
		frames[i], room = room[:0:len(ids)], room[len(ids):]
		for _, id := range ids {
			fr := n.frames[id]
			if fr.Name == "" { // it is to be demangled
				fr.Name = readable.of(id, fr.SystemName)
			}
			if namesOnly {
				fr.File, fr.Line, fr.StartLine = "", 0, 0
			}
			frames[i] = append(frames[i], fr)
		}
	}
	return all
}

// readableNames are the demangled names of frames of Names, by their numbers. Each is made
// once, since a recording may mention a long one as often as it likes. They may be used
// concurrently.
type readableNames struct {
	mode  Demangle
	mu    sync.Mutex
	names map[uint32]string
}

// of returns the readable form of the name of a frame.
func (r *readableNames) of(id uint32, linker string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, ok := r.names[id]
	if !ok {
		target, plt := strings.CutSuffix(linker, "@plt")
		if name = r.mode.Readable(target); plt {
			name += "@plt"
		}
		r.names[id] = name
	}
	return name
}

// why returns why names of a mapping that could not be looked for here are missing.
func (n *Names) why(m *Mapping, here error) error {
	if f := n.of(m); f != nil && f.missing == missesSymbols {
		return ErrStripped
	}
	return here
}

// unwindOf returns how stacks go on in a file, nil if that is not known.
func (n *Names) unwindOf(m *Mapping) *unwind.Table {
	if f := n.of(m); f != nil {
		return f.unwind
	}
	return nil
}

// code returns what a dump said of what was sampled.
func (n *Names) code(pid int, path string) []JITCode {
	if n == nil {
		return nil
	}
	return n.dumps[dumpKey{pid, path}]
}
