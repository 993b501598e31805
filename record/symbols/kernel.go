package symbols

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs"
	"kprof/symbolize/kallsyms"
)

// A Kernel reads the kernel's symbols while a recording starts, and again whenever
// modules have come or gone: no record reports these.
type Kernel struct {
	ready chan struct{} // closed when the first reading is done
	stop  context.CancelFunc
	wg    sync.WaitGroup

	// Opened at the start, when there is the right to see addresses: whoever
	// has opened them goes on seeing these. Nil where there is no such file.
	kallsyms, modules *os.File
	unopened          error // of kallsyms

	// Written before ready is closed.
	first  perfdata.KernelSymbols
	hidden bool // the kernel shows no addresses to us
	err    error

	loaded        func() ([]uint32, error) // ids of BPF programs
	programs      []uint32                 // those before first was read
	programsError error

	mu      sync.Mutex
	closed  bool
	history symbolHistory
	late    error // of a later reading

	follows func() bool   // see Follow
	changes atomic.Uint64 // see Changed
	parsed  parsedSymbols // see Parse

	encode  sync.Once
	encoded []byte // first, see StartEncoded
	bad     error  // of that
}

// watchInterval is how often the list of modules is looked at. What is loaded
// and gone again within it stays unknown.
const watchInterval = 500 * time.Millisecond

// WatchKernel begins to read. Where nothing is wanted at the start, there is nothing
// to read as long as no module can go. BPF programs are known by their ids, in order, if
// at all. Close ends it.
func WatchKernel(atStart bool, programs func() (ids []uint32, err error)) *Kernel {
	ctx, stop := context.WithCancel(context.Background())
	k := &Kernel{ready: make(chan struct{}), stop: stop, loaded: programs}
	k.kallsyms, k.unopened = os.Open("/proc/kallsyms")
	k.modules, _ = os.Open(procModules) // a kernel without modules has no such file
	k.wg.Go(func() {
		if atStart || len(k.readModules()) > 0 {
			k.programs, k.programsError = k.loaded()
			k.first, k.err = k.functionsOfKernel()
			k.hidden = len(k.first.Kallsyms) == 0
		}
		k.history.add(k.first)
		close(k.ready)
		if k.err != nil || k.hidden || k.modules == nil {
			return
		}
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				k.look()
			}
		}
	})
	return k
}

// look reads the symbols if modules have come or gone.
func (k *Kernel) look() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.modules == nil || !k.history.changedBy(k.readModules()) {
		return
	}
	now, err := k.functionsOfKernel()
	if err != nil {
		k.late = err
		return
	}
	k.history.add(now)
}

// Close ends the watch and closes its files: nothing can be read of the kernel any more. What was
// read stays. A second Close does nothing.
func (k *Kernel) Close() error {
	k.endWatch()
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, f := range []*os.File{k.kallsyms, k.modules} {
		if f != nil && !k.closed {
			errs = append(errs, f.Close())
		}
	}
	k.closed = true
	return errors.Join(errs...)
}

func (k *Kernel) endWatch() {
	k.stop()
	k.wg.Wait()
}

// readAgain reads a file of /proc from its start.
func readAgain(f *os.File) io.Reader { return io.NewSectionReader(f, 0, 1<<62) }

// readModules is the list of modules, empty where there is none.
func (k *Kernel) readModules() []byte {
	if k.modules == nil {
		return nil
	}
	b, _ := io.ReadAll(readAgain(k.modules))
	return b
}

// Start waits for the symbols as the kernel was at the start; nil if there are none.
func (k *Kernel) Start() (*perfdata.KernelSymbols, error) {
	if <-k.ready; k.err != nil || k.hidden {
		return nil, k.err
	}
	return &k.first, nil
}

// Unchanged returns what Start does where the kernel has the same code still, and one may
// know: the same modules, and the same BPF programs. Else it is nil.
func (k *Kernel) Unchanged() *perfdata.KernelSymbols {
	first, err := k.Start()
	if err != nil || first == nil || k.programsError != nil {
		return nil
	}
	if now, err := k.loaded(); err != nil || !slices.Equal(now, k.programs) {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.history.readings > 1 || k.modules != nil && k.history.changedBy(k.readModules()) {
		return nil
	}
	return first
}

// StartEncoded is what Start returns as KernelSymbols.AppendTo encodes it, nil if there is
// nothing. It is encoded once.
func (k *Kernel) StartEncoded() ([]byte, error) {
	k.encode.Do(func() {
		c, err := k.Start()
		if err == nil && c != nil {
			k.encoded, err = c.AppendTo(nil, abi.LittleEndian)
		}
		k.bad = err
	})
	return k.encoded, k.bad
}

// Running reads the symbols of the kernel as it is now; nil where there is no such
// file. Each call begins at the start.
func (k *Kernel) Running() io.Reader {
	if k.kallsyms == nil {
		return nil
	}
	return readAgain(k.kallsyms)
}

// End ends the watch and returns the symbols of all modules that there were; nil
// if they are still those of the start. Running can be read still, until Close.
func (k *Kernel) End() (*perfdata.KernelSymbols, error) {
	k.endWatch()
	return k.SoFar()
}

// SoFar returns what End does, of a recording that goes on.
func (k *Kernel) SoFar() (*perfdata.KernelSymbols, error) {
	if <-k.ready; k.err != nil || k.hidden {
		return nil, nil
	}
	k.look()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.late != nil || k.history.readings == 1 {
		return nil, k.late
	}
	return &perfdata.KernelSymbols{Kallsyms: k.history.kallsyms(), Modules: k.history.now.Modules}, nil
}

// Follow says that Changed will be called whenever code other than that of modules has come to
// the kernel or left it: BPF programs, say; as long as follows reports that. It is called before
// anything is asked for.
func (k *Kernel) Follow(follows func() bool) { k.follows = follows }

// Changed says that what Running reads may be different from now on.
func (k *Kernel) Changed() { k.changes.Add(1) }

// parsedSymbols are what Parse returned.
type parsedSymbols struct {
	mu    sync.Mutex
	table *kallsyms.Table
	err   error
	of    symbolsState
}

// symbolsState tells apart what the kernel's symbols were at times.
type symbolsState struct {
	readings int
	changes  uint64
}

// Parse parses what Running reads, or what SoFar and End have of Kallsyms. Where it is told
// what changes (Follow), it returns the same table again as long as nothing has: text
// of some hundred thousand lines, which takes the kernel longer to make than Parse to read.
func (k *Kernel) Parse(r io.Reader) (*kallsyms.Table, error) {
	k.mu.Lock()
	now := symbolsState{k.history.readings, k.changes.Load()}
	k.mu.Unlock()
	p := &k.parsed
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.table == nil || k.follows == nil || !k.follows() || p.of != now {
		p.of = now
		p.table, p.err = kallsyms.Parse(r)
	}
	return p.table, p.err
}

const procModules = "/proc/modules"

// KernelHidden reports whether /proc/kallsyms shows no addresses to this user, so
// that frames of the kernel stay without names; false where there is no such file.
func KernelHidden() bool {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return false // without CONFIG_KALLSYMS there is nothing to be had
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if addr, isFunction := functionLine(lines.Bytes()); isFunction {
			return len(bytes.Trim(addr, "0")) == 0
		}
	}
	return false
}

// functionLine takes the address from a line of kallsyms, such as
// "ffffffff81000000 T _text": the letter says whether it is a function's.
func functionLine(line []byte) (addr []byte, ok bool) {
	sym, ok := procfs.ParseSymbol(line)
	addr, _, _ = bytes.Cut(line, []byte{' '})
	return addr, ok && sym.Function()
}

// functionsSize is more than the functions of /proc/kallsyms mostly take, so that they are
// read into one piece, of which only what is used takes memory.
const functionsSize = 16 << 20

// functionsOfKernel reads /proc/kallsyms, the functions of it, and /proc/modules.
func (k *Kernel) functionsOfKernel() (c perfdata.KernelSymbols, err error) {
	if k.unopened != nil {
		return c, fmt.Errorf("symbols of the kernel: %w", k.unopened)
	}
	functions, hidden := make([]byte, 0, functionsSize), true
	err = procfs.ReadSymbols(readAgain(k.kallsyms), func(s *procfs.Symbol) bool {
		if s.Function() {
			functions = append(functions, s.Line...)
			hidden = hidden && s.Addr == 0
		}
		return true
	})
	if malformed := new(procfs.FormatError); err != nil && !errors.As(err, &malformed) {
		return c, fmt.Errorf("symbols of the kernel: %w", err)
	}
	c.Modules = k.readModules()
	if !hidden {
		c.Kallsyms = functions
	}
	return c, nil
}
