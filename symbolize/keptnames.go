package symbolize

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"kprof/symbolize/mapping"
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
	if n == nil || !portable(m.Kind) || m.Kind == mapping.Anon {
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
	return keyOfNames(&Mapping{Kind: mapping.User, File: k.path, PID: k.pid})
}

func (k dumpKey) compare(o dumpKey) int {
	return cmp.Or(cmp.Compare(k.pid, o.pid), cmp.Compare(k.path, o.path))
}

func (k nameKey) compare(o nameKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.file, o.file), cmp.Compare(k.buildID, o.buildID), cmp.Compare(k.pid, o.pid),
		cmp.Compare(k.id.Major, o.id.Major), cmp.Compare(k.id.Minor, o.id.Minor), cmp.Compare(k.id.Inode, o.id.Inode), cmp.Compare(k.id.Generation, o.id.Generation))
}

// namesEncoder appends KeptNames, as far as a bound allows.
type namesEncoder struct {
	b      []byte
	texts  map[string]uint64
	frames map[Frame]uint64
}

// Bounds of what is written, in bytes.
const (
	numberCost = binary.MaxVarintLen64
	codeCost   = 4 * numberCost // an element of JITCode
	headCost   = 3 * numberCost // the version, how many files, how many dumps
	refCost    = binary.MaxVarintLen32
)

func textCost(s string) int { return 1 + binary.MaxVarintLen32 + len(s) }

// cost is what is written of a file beside its addresses.
func (k nameKey) cost() int { return 9*numberCost + textCost(k.file) + textCost(k.buildID) }

// frameCost is what is written of a frame at its first mention.
func frameCost(f Frame) int { return 2 + textCost(f.SystemName) + textCost(f.File) + 2*numberCost }

// AppendTo appends the names to b in a form that DecodeNames reads, at most limit bytes of
// them, and nothing where there are none. leftOut is how many addresses have none therefore.
func (n *KeptNames) AppendTo(b []byte, limit int) (_ []byte, leftOut int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.files) == 0 {
		return b, 0
	}
	dumps, files, reserved := n.fitting(limit)
	for k, f := range n.files {
		if _, ok := slices.BinarySearchFunc(files, k, nameKey.compare); !ok {
			leftOut += len(f.frames)
		}
	}
	if reserved > limit {
		return b, leftOut
	}
	limit += len(b)
	e := namesEncoder{append(b, namesVersion), map[string]uint64{}, map[Frame]uint64{}}
	e.uint(uint64(len(files)))
	for _, k := range files {
		reserved -= k.cost()
		leftOut += e.file(k, n.files[k], limit-reserved)
	}
	e.uint(uint64(len(dumps)))
	for _, d := range dumps {
		e.uint(uint64(d.key.pid))
		e.text(d.key.path)
		e.uint(uint64(len(d.code)))
		for _, c := range d.code {
			e.uint(c.Time)
			e.uint(c.Start)
			e.uint(c.Limit - c.Start)
			e.uint(c.Offset)
		}
	}
	return e.b, leftOut
}

// sampledDump is a dump with what was sampled of its code.
type sampledDump struct {
	key  dumpKey
	code []JITCode
}

// fitting returns the dumps and files of which something can be written within a limit, each in
// their order, and what these take at most but for the files' addresses. Dumps, without which
// the names of their code are none, have a quarter of it, and what all files take at least
// another. The caller holds mu.
func (n *KeptNames) fitting(limit int) (dumps []sampledDump, files []nameKey, reserved int) {
	reserved = headCost
	lost := map[nameKey]bool{}
	for _, k := range slices.SortedFunc(maps.Keys(n.dumps), dumpKey.compare) {
		d := sampledDump{k, n.sampledCode(k)}
		if len(d.code) == 0 {
			continue
		}
		cost := 2*numberCost + textCost(k.path) + len(d.code)*codeCost
		if reserved+cost > limit/4 {
			lost[k.names()] = true
			continue
		}
		reserved += cost
		dumps = append(dumps, d)
	}
	most := reserved + limit/4
	for _, k := range slices.SortedFunc(maps.Keys(n.files), nameKey.compare) {
		if cost := k.cost(); !lost[k] && reserved+cost <= most {
			reserved += cost
			files = append(files, k)
		}
	}
	return dumps, files, reserved
}

// file appends a file, and returns how many of its addresses are left out.
func (e *namesEncoder) file(k nameKey, f *keptFile, limit int) (leftOut int) {
	addrs := slices.Sorted(maps.Keys(f.frames))
	size := len(e.b) + k.cost()
	mentioned := map[Frame]bool{}
	for i, addr := range addrs {
		size += 2 * numberCost
		for _, fr := range f.frames[addr] {
			if _, known := e.frames[fr]; known || mentioned[fr] {
				size += refCost
				continue
			}
			mentioned[fr] = true
			size += frameCost(fr)
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

// known writes the number of what has been written before, or 0 ahead of what has not, which gets
// the next one, from 1 on.
func known[T comparable](e *namesEncoder, numbers map[T]uint64, x T) bool {
	n, ok := numbers[x]
	if !ok {
		numbers[x] = uint64(len(numbers)) + 1
	}
	e.uint(n)
	return ok
}

func (e *namesEncoder) text(s string) {
	if known(e, e.texts, s) {
		return
	}
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *namesEncoder) frame(f Frame) {
	if known(e, e.frames, f) {
		return
	}
	e.text(f.SystemName)
	e.bool(f.Name != f.SystemName)
	e.text(f.File)
	e.uint(uint64(max(f.Line, 0)))
	e.uint(uint64(max(f.StartLine, 0)))
}
