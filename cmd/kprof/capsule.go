package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// symbolWatch reads the kernel's symbols while a recording starts, and again
// whenever modules have come or gone: no record tells of these.
type symbolWatch struct {
	ready chan struct{} // closed when the first reading is done
	stop  context.CancelFunc
	wg    sync.WaitGroup

	// Written before ready is closed.
	first  perfdata.Capsule
	hidden bool // the kernel shows no addresses to us
	err    error

	// For the watcher until stopped.
	history symbolHistory
	late    error // of a later reading
}

// watchInterval is how often the list of modules is looked at. What is loaded
// and gone again within it stays unknown.
const watchInterval = 500 * time.Millisecond

// watchSymbols begins to read. Where no capsule is wanted, there is nothing to
// read as long as no module can go.
func watchSymbols(capsule bool) *symbolWatch {
	ctx, stop := context.WithCancel(context.Background())
	k := &symbolWatch{ready: make(chan struct{}), stop: stop}
	k.wg.Go(func() {
		modules, _ := os.ReadFile(procModules)
		if capsule || len(modules) > 0 {
			k.first, k.err = functionsOfKernel()
			k.hidden = len(k.first.Kallsyms) == 0
		}
		k.history.add(k.first)
		close(k.ready)
		if k.err != nil || k.hidden {
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
func (k *symbolWatch) look() {
	modules, err := os.ReadFile(procModules)
	if err != nil || !k.history.changedBy(modules) {
		return // a kernel without modules has no such file
	}
	now, err := functionsOfKernel()
	if err != nil {
		k.late = err
		return
	}
	k.history.add(now)
}

// close ends the watch.
func (k *symbolWatch) close() {
	k.stop()
	k.wg.Wait()
}

// start returns a capsule as the kernel was at the start, encoded; nil if there
// is nothing to put into it.
func (k *symbolWatch) start() ([]byte, error) {
	if <-k.ready; k.err != nil || k.hidden {
		return nil, k.err
	}
	return k.first.AppendTo(nil, abi.LittleEndian)
}

// end ends the watch and returns the symbols of all modules that there were; nil
// if they are still those of the start.
func (k *symbolWatch) end() (*perfdata.Capsule, error) {
	k.close()
	if k.err != nil || k.hidden {
		return nil, nil
	}
	if k.look(); k.late != nil || k.history.readings == 1 {
		return nil, k.late
	}
	return &perfdata.Capsule{Kallsyms: k.history.kallsyms(), Modules: k.history.now.Modules}, nil
}

const (
	procModules = "/proc/modules"

	kernelHidden       = "/proc/kallsyms shows no addresses, so kernel frames stay without names"
	kernelHiddenRemedy = "needs CAP_SYSLOG with kptr_restrict at most 1, or kptr_restrict 0 with perf_event_paranoid at most 1"
)

// tellHidden says when events sample the kernel whose addresses are hidden.
func tellHidden(events []abi.Event) {
	samplesKernel := func(e abi.Event) bool {
		return e.Attr.Flags&(abi.FlagExcludeKernel|abi.FlagTask) == 0 // FlagTask: the side-band
	}
	if !slices.ContainsFunc(events, samplesKernel) {
		return
	}
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return // without CONFIG_KALLSYMS there is nothing to be had
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if addr, isFunction := functionLine(lines.Bytes()); isFunction {
			if len(bytes.Trim(addr, "0")) == 0 {
				messagef("%s; it %s", kernelHidden, kernelHiddenRemedy)
			}
			return
		}
	}
}

// functionLine takes the address from a line of kallsyms, such as
// "ffffffff81000000 T _text": the letter says whether it is a function's.
func functionLine(line []byte) (addr []byte, ok bool) {
	addr, rest, ok := bytes.Cut(line, []byte{' '})
	return addr, ok && len(rest) >= 2 && bytes.ContainsAny(rest[:1], "tTwW")
}

// functionsOfKernel reads /proc/kallsyms, the functions of it, and /proc/modules.
func functionsOfKernel() (c perfdata.Capsule, err error) {
	all, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return c, fmt.Errorf("symbols of the kernel: %w", err)
	}
	if c.Modules, err = os.ReadFile(procModules); err != nil && !os.IsNotExist(err) {
		return c, fmt.Errorf("modules of the kernel: %w", err)
	}
	hidden := true
	for line := range bytes.Lines(all) {
		addr, ok := functionLine(line)
		if !ok {
			continue
		}
		hidden = hidden && len(bytes.Trim(addr, "0")) == 0
		c.Kallsyms = append(c.Kallsyms, line...)
	}
	if hidden {
		c.Kallsyms = nil
	}
	return c, nil
}
