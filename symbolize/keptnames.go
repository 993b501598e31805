package symbolize

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"kprof/symbolize/unwind"
)

// KeptNames collect what a Symbolizer finds of user code: see Options.Keep. They may be used
// concurrently.
type KeptNames struct {
	mu    sync.Mutex
	files map[nameKey]*keptFile
	dumps map[dumpKey][]JITCode
}

// keptFile is what was found of one file, or of the memory of a process.
type keptFile struct {
	frames  map[uint64][]Frame // by address, the outermost maxFrames; none where a look-up found none
	missing missing
	unwind  *unwind.Table // nil for none
}

// NewKeptNames returns KeptNames without any.
func NewKeptNames() *KeptNames {
	return &KeptNames{files: map[nameKey]*keptFile{}, dumps: map[dumpKey][]JITCode{}}
}

// of returns what is kept of a mapping. The caller holds mu.
func (n *KeptNames) of(m *Mapping) *keptFile {
	k := keyOfNames(m)
	f := n.files[k]
	if f == nil {
		f = &keptFile{frames: map[uint64][]Frame{}}
		n.files[k] = f
	}
	return f
}

// keep notes what Resolve has found; nothing where n is nil. An error says that there may be
// more.
func (n *KeptNames) keep(m *Mapping, addrs []uint64, frames [][]Frame, err error) {
	if n == nil || !portable(m.Kind) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.of(m)
	f.missing = max(f.missing, missingBy(err))
	for i, addr := range addrs {
		f.frames[addr] = frames[i][max(0, len(frames[i])-maxFrames):]
	}
}

// keepUnwind notes how stacks go on in a file.
func (n *KeptNames) keepUnwind(m *Mapping, t *unwind.Table) {
	if n == nil || !portable(m.Kind) || m.Kind == Anon {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of(m).unwind = t
}

// keepCode notes what a dump says.
func (n *KeptNames) keepCode(pid int, path string, code []JITCode) {
	if n == nil || len(code) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dumps[dumpKey{pid, path}] = code
}

// sampledCode returns of a dump's code what has names, which is what was sampled. The caller
// holds mu.
func (n *KeptNames) sampledCode(k dumpKey) []JITCode {
	f := n.files[k.names()]
	if f == nil {
		return nil
	}
	offsets := slices.Sorted(maps.Keys(f.frames))
	return slices.DeleteFunc(slices.Clone(n.dumps[k]), func(c JITCode) bool {
		i, _ := slices.BinarySearch(offsets, c.Offset)
		return i == len(offsets) || offsets[i]-c.Offset >= c.Limit-c.Start
	})
}

// names is the key of the names of a dump's code.
func (k dumpKey) names() nameKey {
	return keyOfNames(&Mapping{Kind: User, File: k.path, PID: k.pid})
}

// sortedKeys returns the keys of files in an order of their own.
func (n *KeptNames) sortedKeys() []nameKey {
	return slices.SortedFunc(maps.Keys(n.files), func(a, b nameKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.file, b.file), cmp.Compare(a.buildID, b.buildID), cmp.Compare(a.pid, b.pid),
			cmp.Compare(a.id.Major, b.id.Major), cmp.Compare(a.id.Minor, b.id.Minor), cmp.Compare(a.id.Inode, b.id.Inode), cmp.Compare(a.id.Generation, b.id.Generation))
	})
}

// namesEncoder appends KeptNames, as far as a bound allows.
type namesEncoder struct {
	b      []byte
	texts  map[string]uint64
	frames map[Frame]uint64
}

// AppendTo appends the names to b in a form that DecodeNames reads, at most limit bytes of
// them, and nothing where there are none. leftOut is how many addresses have none therefore.
func (n *KeptNames) AppendTo(b []byte, limit int) (_ []byte, leftOut int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.files) == 0 {
		return b, 0
	}
	e := namesEncoder{append(b, namesVersion), map[string]uint64{}, map[Frame]uint64{}}
	limit += len(b)
	keys := n.sortedKeys()
	e.uint(uint64(len(keys)))
	for _, k := range keys {
		leftOut += e.file(k, n.files[k], limit)
	}
	dumps := slices.SortedFunc(maps.Keys(n.dumps), func(a, b dumpKey) int { return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.path, b.path)) })
	e.uint(uint64(len(dumps)))
	for _, d := range dumps {
		e.uint(uint64(d.pid))
		e.text(d.path)
		code := n.sampledCode(d)
		if len(e.b)+len(code)*codeCost > limit {
			code = nil
		}
		e.uint(uint64(len(code)))
		for _, c := range code {
			e.uint(c.Time)
			e.uint(c.Start)
			e.uint(c.Limit - c.Start)
			e.uint(c.Offset)
		}
	}
	return e.b, leftOut
}

// codeCost is what an element of JITCode takes at most.
const codeCost = 4 * binary.MaxVarintLen64

// file appends a file, and returns how many of its addresses are left out.
func (e *namesEncoder) file(k nameKey, f *keptFile, limit int) (leftOut int) {
	const perFrame = 64 // bytes, beside its texts
	addrs := slices.Sorted(maps.Keys(f.frames))
	size := len(e.b)
	for i, addr := range addrs {
		size += binary.MaxVarintLen64
		for _, fr := range f.frames[addr] {
			if _, known := e.frames[fr]; !known {
				size += perFrame + len(fr.SystemName) + len(fr.File)
			}
		}
		if size > limit {
			leftOut = len(addrs) - i
			addrs = addrs[:i]
			break
		}
	}
	e.uint(uint64(k.kind))
	left := f.missing
	if leftOut > 0 {
		left = max(left, missesSome)
	}
	e.uint(uint64(left))
	e.text(k.file)
	e.text(k.buildID)
	e.uint(uint64(k.pid))
	for _, v := range []uint64{uint64(k.id.Major), uint64(k.id.Minor), k.id.Inode, k.id.Generation} {
		e.uint(v)
	}
	e.uint(uint64(len(addrs)))
	last := uint64(0)
	for _, addr := range addrs {
		e.uint(addr - last)
		last = addr
		e.uint(uint64(len(f.frames[addr])))
		for _, fr := range f.frames[addr] {
			e.frame(fr)
		}
	}
	if f.unwind != nil {
		if b, ok := f.unwind.AppendTo(e.b); ok && len(b) <= limit {
			e.b = b
			return leftOut
		}
	}
	e.uint(0)
	return leftOut
}

func (e *namesEncoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

func (e *namesEncoder) bool(v bool) {
	if v {
		e.uint(1)
	} else {
		e.uint(0)
	}
}

func (e *namesEncoder) text(s string) {
	if id, ok := e.texts[s]; ok {
		e.uint(id)
		return
	}
	e.texts[s] = uint64(len(e.texts)) + 1
	e.uint(0)
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *namesEncoder) frame(f Frame) {
	if id, ok := e.frames[f]; ok {
		e.uint(id)
		return
	}
	e.frames[f] = uint64(len(e.frames)) + 1
	e.uint(0)
	e.text(f.SystemName)
	e.bool(f.Name != f.SystemName)
	e.text(f.File)
	e.uint(uint64(max(f.Line, 0)))
	e.uint(uint64(max(f.StartLine, 0)))
}
