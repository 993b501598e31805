package timeline

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// Object is what a mapping maps: a file of a certain build, anonymous memory,
// the kernel, a module, a BPF program.
type Object struct {
	Kind stacks.Kind
	Data bool   // it is known that no code was mapped, as it could not be executed
	Size uint64 // of a jitdump, whose functions are all of one mapping; else 0

	// Texts, as numbers among the strings.
	file    int32
	buildID int32
	symbol  int32 // of the kernel: what its mapping's offset is the address of

	// Of a file without a build id.
	maj, min uint32
	ino, gen uint64
}

// Area is one mapping record: addresses [Start, End) hold Object from Offset on, since
// a time. An area without an object is a hole.
type Area struct {
	Start, End uint64
	Offset     uint64 // in the file, of Start
	since      uint64
	Object     int32 // its number: see Timeline.Object; or NoObject
	PID        int32 // that mapped it
}

// NoObject is the Object of an Area in which nothing is mapped any more.
const NoObject = -1

func (a Area) start() uint64 { return a.since }

// newArea returns an area without an object. One that would reach beyond the
// last address ends there.
func newArea(start, size, since uint64) Area {
	end := start + size
	if end < start {
		end = 1<<64 - 1
	}
	return Area{Start: start, End: end, since: since}
}

// Object returns the object with a number.
func (tl *Timeline) Object(n int32) *Object { return tl.objects.At(n) }

// Mapping is an area as a Set has it.
func (tl *Timeline) Mapping(a *Area) stacks.Mapping {
	o := tl.objects.At(a.Object)
	return stacks.Mapping{
		Start: a.Start, Limit: a.End, Offset: a.Offset,
		File: tl.text(o.file), Symbol: tl.text(o.symbol), BuildID: tl.text(o.buildID), Kind: o.Kind, PID: int(max(a.PID, 0)),
		ID: stacks.FileID{Major: o.maj, Minor: o.min, Inode: o.ino, Generation: o.gen},
	}
}

// text returns the string with a number.
func (tl *Timeline) text(n int32) string { return *tl.strings.At(n) }

// kernelObject names what a mapping of the kernel maps. perf appends the symbol
// it took the start from: "[kernel.kallsyms]_text".
func kernelObject(file string) (string, stacks.Kind) {
	switch {
	case strings.HasPrefix(file, "[kernel.kallsyms"): // "[kernel.kallsyms._text]" before Linux 2.6.34
		return "[kernel.kallsyms]", stacks.KindKernel
	case strings.HasPrefix(file, "bpf_prog_") || strings.HasPrefix(file, "bpf_trampoline_"):
		return file, stacks.KindBPF
	}
	return file, stacks.KindModule
}

// guestKernel is what perf calls the kernel of a virtual machine.
const guestKernel = "[guest.kernel.kallsyms]"

// guestObject names what a mapping of a guest's kernel maps, as kernelObject does, and the symbol:
// "[guest.kernel.kallsyms]_text", or, where perf knows several guests, with the process of each,
// "[guest.kernel.kallsyms.1234]_text".
func guestObject(file string) (name, symbol string) {
	kernel, symbol, ok := strings.Cut(file, "]")
	if !ok || !strings.HasPrefix(kernel, strings.TrimSuffix(guestKernel, "]")) {
		return file, ""
	}
	return guestKernel, symbol
}

// AssumeGuest maps the kernel of virtual machines where no record will, as one that is where its
// symbols say. It is to be called before any record.
func (tl *Timeline) AssumeGuest() {
	tl.mmap(abi.Mmap{PID: -1, Len: 1<<64 - 1, File: guestKernel}, abi.MiscGuestKernel, 0)
}

// AddGuestModules maps modules into the kernel of virtual machines, over what records have there.
func (tl *Timeline) AddGuestModules(modules []stacks.Mapping) {
	for _, m := range modules {
		tl.mmap(abi.Mmap{PID: -1, Addr: m.Start, Len: m.Limit - m.Start, File: m.File}, abi.MiscGuestKernel, 0)
	}
}

// userKind tells a file from memory without one, as perf's is_anon_memory and
// is_no_dso_memory do.
func userKind(file string) stacks.Kind {
	switch {
	case file == "[vdso]" || file == "[vdso32]" || file == "[vdsox32]":
		return stacks.KindVDSO
	case file == "//anon" || strings.HasPrefix(file, "/dev/zero") || strings.HasPrefix(file, "/anon_hugepage"),
		strings.HasPrefix(file, "["), strings.HasPrefix(file, "/SYSV"), strings.HasPrefix(file, "//toolong"),
		strings.HasPrefix(file, "anon_inode:"), strings.HasPrefix(file, memfd), file == "":
		return stacks.KindAnon
	}
	return stacks.KindUser
}

// memfd is how the names of files begin that memfd_create(2) made.
const memfd = "/memfd:"

// isProgramInMemory reports whether a map is of a program or library that was run from such a file, as
// runc runs itself: execve and ld.so map them privately. Code that is made at run time is written
// through another map of the same file, for which both have to be shared.
func isProgramInMemory(m *abi.Mmap) bool {
	const shared, private = 1, 2 // MAP_SHARED and MAP_PRIVATE of mmap(2)
	return strings.HasPrefix(m.File, memfd) && m.V2 && m.Flags&(shared|private) == private
}

const (
	// mapHugeTLB is MAP_HUGETLB of mmap(2): memory, whatever the name.
	mapHugeTLB = 0x40000
	// protJIT is set by simpleperf in the protection of a map that holds one function
	// that was made at run time. Its file has its symbol at the address of the code,
	// whatever the offset (thread_tree.h, PROT_JIT_SYMFILE_MAP).
	protJIT = 0x4000

	protAny, protExec = 7, 4 // PROT_READ, PROT_WRITE and PROT_EXEC of mmap(2); the last
)

// kernelImage is what maps the kernel itself.
type kernelImage struct {
	area   *Area  // or nil
	serial uint32 // of the index of the kernel's areas among which it was looked for
}

// KernelImage returns what maps the kernel itself, or nil.
func (tl *Timeline) KernelImage() *Area {
	serial := tl.indexed(&tl.kernel).serial
	if tl.image.serial == serial {
		return tl.image.area
	}
	tl.image = kernelImage{serial: serial}
	for i := range tl.kernel.areas.all {
		a := &tl.kernel.areas.all[i]
		if a.Object >= 0 && tl.objects.At(a.Object).Kind == stacks.KindKernel {
			tl.image.area = a
			break
		}
	}
	return tl.image.area
}

// AssumeKernel maps the kernel where no record does, as one that is where its symbols
// say. It is to be called after Freeze.
func (tl *Timeline) AssumeKernel() {
	if tl.KernelImage() != nil {
		return
	}
	const upperHalf = 1 << 63
	tl.mmap(abi.Mmap{PID: -1, Addr: upperHalf, Len: upperHalf - 1, File: "[kernel.kallsyms]"}, abi.MiscKernel, 0)
	tl.Freeze()
}

// JITDump is a file in which a process writes what code it makes at run time. The
// process maps it once, to tell whoever records it.
type JITDump struct {
	PID  int
	Path string
}

// JITCode is a function of a JITDump: its addresses, since when they hold it, and where
// its bytes are in the dump.
type JITCode struct {
	Time         uint64 // ns of the recording's clock
	Start, Limit uint64
	Offset       uint64
}

// maxDumps bounds how many dumps are remembered.
const maxDumps = 1 << 12

// JITDumps are the dumps that processes were seen to write.
func (tl *Timeline) JITDumps() []JITDump { return tl.dumps }

// noteDump remembers the file of a mapping that is called jit-PID.dump.
func (tl *Timeline) noteDump(m *abi.Mmap) {
	if !strings.HasSuffix(m.File, ".dump") { // nearly always
		return
	}
	pid, ok := strings.CutPrefix(strings.TrimSuffix(path.Base(m.File), ".dump"), "jit-")
	if !ok || pid == "" || strings.Trim(pid, "0123456789") != "" {
		return
	}
	d := JITDump{int(m.PID), m.File}
	if len(tl.dumps) < maxDumps && !slices.Contains(tl.dumps, d) {
		tl.dumps = append(tl.dumps, d)
	}
}

// AddJITCode maps the functions of a dump into the process that wrote it, each from its
// time on: to where its bytes are in the dump, which is then a file like any other. It is for a
// Timeline that has been told all else, and not been applied yet.
func (tl *Timeline) AddJITCode(d JITDump, code []JITCode) {
	tl.codeFirst(int32(d.PID), code)
	o := Object{file: tl.strings.Of(d.Path), Kind: stacks.KindUser}
	for _, c := range code {
		o.Size = max(o.Size, c.Offset+c.Limit-c.Start)
	}
	obj := tl.objects.Of(o)
	for _, c := range code {
		a := newArea(c.Start, c.Limit-c.Start, c.Time)
		a.Offset, a.Object, a.PID = c.Offset, obj, int32(d.PID)
		tl.pending.addMap(opMap, a)
	}
}

// codeFirst has maps without a file begin no later than code that a process made in them: that it
// takes itself the right to write there, which the kernel reports as another map, says nothing of what is
// there. (perf leaves such maps out, see jit_process in util/jitdump.c.)
func (tl *Timeline) codeFirst(pid int32, code []JITCode) {
	if len(code) == 0 {
		return
	}
	byStart := slices.SortedFunc(slices.Values(code), func(a, b JITCode) int { return cmp.Compare(a.Start, b.Start) })
	find := func(addr uint64) int {
		i, _ := slices.BinarySearchFunc(byStart, addr, func(c JITCode, addr uint64) int { return cmp.Compare(c.Start, addr) })
		return i
	}
	times := newEarliest(byStart)
	for i := range tl.pending.maps.n {
		m := tl.pending.maps.at(i)
		if m.op != opMap || m.area.PID != pid || tl.objects.At(m.area.Object).Kind != stacks.KindAnon {
			continue
		}
		if t := times.of(find(m.area.Start), find(m.area.End)); t < m.area.since {
			m.area.since, tl.pending.unsorted = t, true
		}
	}
}

// earliest tells the earliest time in a range of code: a binary tree in an array, in which those
// of the code are the second half, and each other element is the least of the two at twice its
// index. There may be as many ranges as code.
type earliest []uint64

func newEarliest(code []JITCode) earliest {
	n := len(code)
	e := make(earliest, 2*n)
	for i := range code {
		e[n+i] = code[i].Time
	}
	for i := n - 1; i > 0; i-- {
		e[i] = min(e[2*i], e[2*i+1])
	}
	return e
}

// of returns the earliest time of the code from one index up to another, math.MaxUint64 of none.
func (e earliest) of(from, to int) uint64 {
	least := uint64(math.MaxUint64)
	n := len(e) / 2
	for i, k := n+from, n+to; i < k; i, k = i/2, k/2 {
		if i%2 == 1 {
			least = min(least, e[i])
			i++
		}
		if k%2 == 1 {
			k--
			least = min(least, e[k])
		}
	}
	return least
}
