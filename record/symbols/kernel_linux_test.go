package symbols

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"kprof/perfevent"
	"kprof/perfevent/livetest"
)

// TestParse: the same table again as long as nothing has changed, where somebody says so.
func TestParse(t *testing.T) {
	const text = "1000 T a\n2000 T b\n"
	k := &Kernel{}
	first, err := k.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := k.Parse(strings.NewReader(text)); again == first {
		t.Error("nobody would have said that it changed")
	}
	follows := true
	k.Follow(func() bool { return follows })
	last, _ := k.Parse(strings.NewReader(text))
	for i, change := range []func(){k.Changed, func() { k.history.readings++ }} {
		if again, err := k.Parse(strings.NewReader("3000 T c\n")); again != last || err != nil {
			t.Errorf("%d: it has not changed, and is read again: %v", i, err)
		}
		change()
		next, err := k.Parse(strings.NewReader(text))
		if next == last || err != nil {
			t.Errorf("%d: it has changed, and is not read again: %v", i, err)
		}
		last = next
	}
	follows = false
	if next, err := k.Parse(strings.NewReader(text)); next == last || err != nil {
		t.Errorf("nobody would have said so any more, and it is not read again: %v", err)
	}
	follows = true
	k.Changed()
	if table, err := k.Parse(strings.NewReader("nothing")); table != nil || err == nil {
		t.Errorf("%v, %v", table, err)
	}
	if table, err := k.Parse(strings.NewReader(text)); table == nil || err != nil {
		t.Errorf("after a failure: %v", err)
	}
}

// TestUnchanged: what was read at the start is the kernel's as long as no BPF program is
// loaded or unloaded, and no module.
func TestUnchanged(t *testing.T) {
	livetest.Require(t, livetest.Root)
	livetest.ChangeMachine(t) // a program of BPF is what perf 6.1 cannot read beside another recorder: see abi.Layout.Excess
	k, start, err := startKernel(t)
	if err != nil {
		t.Fatal(err)
	}
	if k.programsError != nil {
		t.Skip("needs bpf(2): ", k.programsError)
	}
	if ids, err := perfevent.BPFPrograms(); err != nil || slices.Equal(ids, k.programs) && k.Unchanged() != start {
		t.Errorf("%d programs, %v: the kernel is as it was", len(ids), err)
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SocketFilter, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	if k.Unchanged() != nil {
		t.Error("a BPF program has come")
	}
	if k.programs, err = perfevent.BPFPrograms(); err != nil {
		t.Fatal(err)
	}
	k.history.readings++ // for modules
	if k.Unchanged() != nil {
		t.Error("a module has come or gone")
	}
}

// TestKernelFiles: what WatchKernel opens Close closes, and End does not.
func TestKernelFiles(t *testing.T) {
	held := func() (n int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if name, _ := os.Readlink("/proc/self/fd/" + fd.Name()); name == "/proc/kallsyms" || name == "/proc/modules" {
				n++
			}
		}
		return n
	}
	before := held()
	k := WatchKernel(true, func() ([]uint32, error) { return nil, nil })
	if k.kallsyms == nil {
		t.Fatal(k.unopened)
	}
	if _, err := k.End(); err != nil {
		t.Fatal(err)
	}
	if n, err := k.Running().Read(make([]byte, 16)); n != 16 {
		t.Errorf("after the end: %d bytes, %v", n, err)
	}
	if err := errors.Join(k.Close(), k.Close()); err != nil {
		t.Error(err)
	}
	if now := held(); now != before {
		t.Errorf("%d files of the kernel are open, %d were before", now, before)
	}
	runtime.KeepAlive(k) // or the garbage collector closes them
}
