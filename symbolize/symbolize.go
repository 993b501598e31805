package symbolize

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"kprof/symbolize/elfsym"
	"kprof/symbolize/internal/srcline"
	"kprof/symbolize/kallsyms"
	"kprof/symbolize/mapping"
	"kprof/symbolize/unwind"
)

// A Frame is one function at an address; of several, the innermost (inlined)
// comes first.
type Frame struct {
	Name       string // as shown: demangled as Options say
	SystemName string // as the linker knows it
	File       string // source file; empty if unknown
	Line       int    // in File, of the address; 0 if unknown
	StartLine  int    // in File, of the function; 0 if unknown
}

// Mappings and their kinds are those of a profile.
type (
	Kind    = mapping.Kind
	Mapping = mapping.Mapping
)

// A Table names addresses. Lookup appends the frames at addr to dst, nothing
// if it knows none; it may be called concurrently.
type Table interface {
	Lookup(dst []Frame, addr uint64) []Frame
}

// Options say where names come from. The zero value names what this machine
// recorded.
type Options struct {
	// Foreign says that the recording comes from another machine or another
	// boot: nothing of the processes that run here is looked at, and this
	// kernel's symbols only if its build id is the recorded one.
	Foreign bool

	// Unplaced says of a Foreign recording that it does not say where it was made, so that
	// it may be of this machine: errors are ErrUnplaced.
	Unplaced bool

	// Kallsyms is the recorded kernel's /proc/kallsyms, trusted without a
	// check of build ids. It is read at the first need. nil opens KallsymsPath.
	Kallsyms io.Reader

	// KallsymsPath is a file like Kallsyms; empty is this machine's own.
	KallsymsPath string

	// GuestKallsyms is a file with /proc/kallsyms of the virtual machine that was recorded, and
	// GuestVmlinux one with its kernel's symbols, which is preferred. Empty for none.
	GuestKallsyms, GuestVmlinux string

	// RunningKallsyms is this machine's own, opened while there was the right to
	// see addresses in it. nil opens it at the first need.
	RunningKallsyms io.Reader

	// EveryName says that each name in Kallsyms is of a frame, none a mark of other code.
	EveryName bool
	// ParseKallsyms parses what Kallsyms or RunningKallsyms read, in the place of
	// kallsyms.Parse: it may know the Table already. It may be called concurrently.
	ParseKallsyms func(io.Reader) (*kallsyms.Table, error)

	// Root is a directory with the file system of the recorded machine, under
	// which alone its files are looked up (perf's --symfs). Empty is this
	// machine's, or rather that of the process itself while it lives.
	Root string

	// DebugDirs hold separate debug files, below Root; nil is /usr/lib/debug.
	DebugDirs []string

	// BuildIDCache is a directory where perf keeps files by build id (~/.debug);
	// empty for none.
	BuildIDCache string

	// Demangle says how C++ and Rust names are shown.
	Demangle Demangle

	// Inline adds the frames of inlined functions, and Lines the source file and
	// line of each frame, from debug information where there is any. Without
	// both, debug information is not looked at.
	Inline, Lines bool

	// NamesOnly leaves files and lines away also where they are known without
	// debug information, as in Go programs: looking them up takes most of the time.
	NamesOnly bool

	// CallFrames reads call frame information of programs and libraries too.
	CallFrames bool

	// Vmlinux is the recorded kernel's file with symbols. Empty looks for one
	// with the recorded build id in the usual places.
	Vmlinux string

	// Release is the recorded kernel's, as uname -r prints it; it tells where
	// files of the kernel are. Empty is that of this machine's, unless Foreign.
	Release string

	// DebuginfodURLs are servers asked for files with a build id that are not
	// found here (DEBUGINFOD_URLS); none are asked by default. What they send
	// is kept in DebuginfodCache (as elfutils does in ~/.cache/debuginfod_client),
	// or if that is empty until Close. DebuginfodProxy says which proxy to ask, as in
	// http.Transport; none by default.
	DebuginfodURLs  []string
	DebuginfodCache string
	DebuginfodProxy func(*http.Request) (*url.URL, error)

	// Retained has files that the recording mapped, some of which may be nowhere
	// else any more. nil for none. It stays open as long as the Symbolizer.
	Retained Retainer

	// Recorded is what was found of user code on the recorded machine, and is believed
	// rather than files unless Root, Inline or Lines ask for what these have. nil for
	// nothing.
	Recorded *Names

	// Keep gets all that is found of user code, for Recorded of another Symbolizer. nil
	// for nobody.
	Keep *KeptNames

	// Files has what earlier Symbolizers have read of files, and gets what this one reads.
	// nil reads each file anew.
	Files *FileCache

	// SuppliedMemory bounds in bytes what is kept of the names in all perf maps and jitdumps
	// together; 0 is 64 MB. It is but what names samples that is kept.
	SuppliedMemory int64

	// Force uses Vmlinux although its build id is not the recorded one. See
	// Symbolizer.Overridden.
	Force bool
}

// debug reports whether debug information is wanted.
func (o *Options) debug() bool { return o.Inline || o.Lines }

// A Symbolizer resolves addresses. It may be used concurrently, and reads each
// file once. Close it to release what it holds.
type Symbolizer struct {
	opts     Options
	kernel   kernel
	guest    guest
	vdso     vdso
	files    cache[fileKey, *fileTable]
	kernels  cache[string, *vmlinux] // by build id; the one of Options without
	modules  cache[moduleKey, *elfsym.File]
	trees    cache[string, moduleTree] // by directory
	servers  debuginfod
	supplied budget
	placed   budget // of JITCode, which must leave something for names

	readable readableNames // of Options.Recorded

	mu         sync.Mutex
	closed     bool
	active     int                   // calls that use what Close releases
	builds     map[string]*fileTable // by build id, found good
	dumps      map[int]string        // jitdumps, by process
	open       []io.Closer           // until Close
	overridden []*BuildIDError
}

// New returns a Symbolizer. Nothing is read before it is needed.
func New(opts Options) *Symbolizer {
	opts.Foreign = opts.Foreign || runtime.GOOS != "linux" // nothing is recorded elsewhere
	return &Symbolizer{
		opts:     opts,
		builds:   map[string]*fileTable{},
		servers:  debuginfod{urls: opts.DebuginfodURLs, dir: opts.DebuginfodCache, proxy: opts.DebuginfodProxy, limit: maxDownload},
		supplied: budget{limit: opts.SuppliedMemory},
		placed:   budget{limit: placedShare * cmp.Or(opts.SuppliedMemory, defaultSupplied)},

		readable: readableNames{mode: opts.Demangle, names: map[uint32]string{}},
	}
}

// Prefetch starts to read the kernel's symbols, which takes a while, beside what
// the caller does until the first Resolve.
func (s *Symbolizer) Prefetch() {
	if s.opts.Vmlinux == "" && (!s.opts.Foreign || s.opts.Kallsyms != nil) {
		go s.kernel.load(s.opts)
	}
}

// Resolve names the functions at addrs, which are file offsets for User and
// VDSO mappings and run-time addresses for all others. frames has an element
// for each address, empty where the name is not known.
//
// The error says why names are missing, or lines that were asked for: it is an
// *Error, unless ctx ended. Some frames may be known even so: a stripped file
// still names what it exports.
func (s *Symbolizer) Resolve(ctx context.Context, m Mapping, addrs []uint64) (frames [][]Frame, err error) {
	frames = make([][]Frame, len(addrs))
	if len(addrs) == 0 {
		return frames, nil
	}
	if err := ctx.Err(); err != nil {
		return frames, err
	}
	if !s.enter() {
		return frames, &Error{Mapping: m, Err: fs.ErrClosed}
	}
	defer s.leave()
	recorded := func() bool {
		return s.opts.Recorded.fill(&m, addrs, frames, &s.readable, s.opts.NamesOnly && !s.opts.debug())
	}
	if s.believesRecorded() && recorded() {
		return frames, nil
	}
	clear(frames)
	table, why := s.table(ctx, m, addrs)
	if err := ctx.Err(); err != nil {
		return frames, err
	}
	if table == nil {
		s.opts.Keep.keep(&m, addrs, frames, why)
		recorded()
		return frames, &Error{Mapping: m, Err: s.opts.Recorded.why(&m, why)}
	}

	unnamed, lineless, err := s.lookup(ctx, table, addrs, frames)
	if err != nil {
		return frames, err
	}
	s.opts.Keep.keep(&m, addrs, frames, why)
	if unnamed {
		recorded()
		unnamed = slices.ContainsFunc(frames, func(f []Frame) bool { return len(f) == 0 })
	}
	if !unnamed {
		why = nil
	}
	debug, inlined := s.missingDebug(table, lineless)
	if why != nil || debug != nil || inlined != nil {
		return frames, &Error{Mapping: m, Err: why, Debug: debug, Inlined: inlined}
	}
	return frames, nil
}

// missingDebug says why lines are missing, if some are, and why inlined functions may be,
// if these are wanted: some of what is wrong with debug information leaves the lines known.
func (s *Symbolizer) missingDebug(table Table, lineless bool) (lines, inlined error) {
	t, ok := table.(debugTable)
	if !ok || !lineless && !s.opts.Inline {
		return nil, nil
	}
	err := t.debugErr()
	switch elsewhere := errors.Is(err, srcline.ErrSplit) || errors.Is(err, elfsym.ErrNoShared); {
	case elsewhere && s.opts.Inline:
		return nil, err
	case !elsewhere && lineless:
		return err, nil
	}
	return nil, nil
}

// believesRecorded reports whether what the recording brings along is better than files.
func (s *Symbolizer) believesRecorded() bool {
	return s.opts.Recorded != nil && s.opts.Root == "" && !s.opts.debug()
}

// debugTable is a Table that knows lines and inlined functions, if it finds them.
type debugTable interface {
	debugErr() error // why it does not
}

// table returns what names addrs of m. Beside a table, the error says why it may lack
// names.
func (s *Symbolizer) table(ctx context.Context, m Mapping, addrs []uint64) (Table, error) {
	switch m.Kind {
	case mapping.Kernel, mapping.Module:
		return s.kernelTable(m)
	case mapping.BPF:
		if m.File == "" {
			return s.kernelTable(m)
		}
		return named(m.File), nil
	case mapping.Guest:
		return s.guestTable(m)
	case mapping.User:
		return s.userTable(ctx, m, addrs)
	case mapping.VDSO:
		return s.vdsoTable(m)
	case mapping.Anon:
		return s.anonTable(ctx, m, addrs)
	}
	return nil, ErrNoSymbols
}

// lookup fills in frames for each of addrs, and reports whether some have none,
// and whether some have no lines though these are wanted.
//
// Debug information is read by units, of which few are kept: so addresses are
// taken in their order, by as many goroutines as there are CPUs.
func (s *Symbolizer) lookup(ctx context.Context, table Table, addrs []uint64, frames [][]Frame) (unnamed, lineless bool, err error) {
	const chunk = 1 << 9
	order := make([]int, len(addrs))
	for i := range order {
		order[i] = i
	}
	workers := 1
	if s.opts.debug() {
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(addrs[a], addrs[b]), cmp.Compare(a, b))
		})
		workers = min(runtime.GOMAXPROCS(0), (len(addrs)+chunk-1)/chunk)
	}
	var (
		next             atomic.Int64
		noNames, noLines atomic.Bool
		wg               sync.WaitGroup
	)
	work := func() {
		var all []Frame
		for ctx.Err() == nil {
			start := int(next.Add(chunk)) - chunk
			if start >= len(order) {
				return
			}
			for _, i := range order[start:min(start+chunk, len(order))] {
				first := len(all)
				all = table.Lookup(all, addrs[i])
				frames[i] = all[first:len(all):len(all)]
				switch {
				case len(frames[i]) == 0:
					noNames.Store(true)
				case frames[i][0].File == "":
					noLines.Store(true)
				}
			}
		}
	}
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return noNames.Load(), noLines.Load() && s.opts.debug(), ctx.Err()
}

// enter begins a call that uses what Close releases, unless it has.
func (s *Symbolizer) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.active++
	}
	return !s.closed
}

func (s *Symbolizer) leave() {
	s.mu.Lock()
	s.active--
	last := s.closed && s.active == 0
	s.mu.Unlock()
	if last {
		s.dropAll()
	}
}

// Close forgets everything. Frames returned stay good. It does not wait for calls that
// still run, on a file system that does not answer, say: the last of them releases
// what they use.
func (s *Symbolizer) Close() error {
	s.mu.Lock()
	s.closed = true
	active := s.active
	s.mu.Unlock()
	err := s.servers.close()
	if active == 0 {
		err = errors.Join(s.dropAll(), err)
	}
	return err
}

func (s *Symbolizer) dropAll() error {
	s.files.clear()
	s.kernels.clear()
	s.modules.clear()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.builds)
	var errs []error
	for _, c := range s.open {
		errs = append(errs, c.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}

// keep has Close close c.
func (s *Symbolizer) keep(c io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, c)
}

// Overridden lists the files that Options.Force had used although they are not
// what was recorded: names from them may be wrong.
func (s *Symbolizer) Overridden() []*BuildIDError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.overridden)
}

// named is the table of a mapping that is one function.
type named string

func (n named) Lookup(dst []Frame, _ uint64) []Frame {
	return append(dst, Frame{Name: string(n), SystemName: string(n)})
}

// fileTable names offsets of one ELF file, or of a jitdump.
type fileTable struct {
	file     *elfsym.File
	jit      *jitDump // instead of file; it is no Table
	demangle *demangler
	frames   *unwind.Table // nil for none
	inline   bool
	names    bool  // all that is wanted
	why      error // what is missing of its symbols
}

// Lookup names the function at offset off of the file.
func (t *fileTable) Lookup(dst []Frame, off uint64) []Frame {
	vaddr, ok := t.file.Vaddr(off)
	if !ok {
		return dst
	}
	sym, _ := t.file.Lookup(vaddr)
	if vaddr+1 >= sym.End { // the last byte, or none
		if next, ok := t.file.Lookup(vaddr + 1); ok && next.Start == vaddr+1 && sigreturns[next.Name] {
			vaddr, sym = vaddr+1, next
		}
	}
	if sym.Name == "" { // behind the last instruction of one, while the kernel executes that
		if last, ok := t.file.Lookup(vaddr - 1); ok && last.End == vaddr && sigreturns[last.Name] {
			vaddr, sym = vaddr-1, last
		}
	}
	if t.names && sym.Name != "" && !sym.PLT {
		return append(dst, Frame{Name: t.demangle.name(sym.Name), SystemName: sym.Name})
	}
	return appendNamed(dst, t.file, vaddr, t.inline, sym, t.demangle)
}

func (t *fileTable) debugErr() error { return t.file.DebugErr() }

// sigreturns are the functions to which signal handlers return. Nothing calls
// them: the kernel makes their first byte the handler's return address, and the
// byte before, where a caller is looked up, belongs to whatever stands there.
var sigreturns = map[string]bool{
	"__restore_rt": true, "__restore": true, // C libraries
	"__kernel_rt_sigreturn": true, "__kernel_sigreturn": true, // vdso
	"runtime.sigreturn__sigaction.abi0": true, "runtime.sigreturn__sigaction": true, "runtime.sigreturn": true,
}

// appendNamed appends the frames that file tells of vaddr, and calls the
// outermost one as sym has it: both know the function that holds the code, and
// the symbol table has the name that other tools show. Of a file without such
// information, or nil, that is the only frame.
func appendNamed(dst []Frame, file *elfsym.File, vaddr uint64, inline bool, sym elfsym.Symbol, d *demangler) []Frame {
	var buf [16]elfsym.Function
	functions := buf[:0]
	if file != nil {
		functions = file.AppendFunctions(functions, vaddr, inline)
	}
	if len(functions) == 0 {
		functions = append(functions, elfsym.Function{})
	}
	for i, f := range functions {
		suffix := ""
		if i == len(functions)-1 && (sym.Name != "" || sym.PLT) {
			f.Name = sym.Name
			if sym.PLT {
				suffix = "@plt" // all there is of a stub for an unnamed target
			}
		}
		if f.Name+suffix == "" {
			continue // a line alone
		}
		dst = append(dst, Frame{d.name(f.Name) + suffix, f.Name + suffix, f.File, f.Line, f.StartLine})
	}
	return dst
}
