package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert/naming"
	"kprof/convert/pprof"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/symbolize"
)

// symbolsDir is where recordings lie that are named in the guest and on the host:
// NAME.data and, beside it, NAME.pb.gz with the names that the guest gave.
const symbolsDir = "symbols"

// during records the kernel of the whole guest while f runs, and has it named by
// the kallsyms that f leaves at the path it is given.
func during(t *testing.T, name string, f func(kallsyms string)) {
	t.Helper()
	keep := os.Getenv("KPROF_KEEP")
	if keep == "" {
		keep = t.TempDir()
	}
	keep = filepath.Join(keep, symbolsDir)
	if err := os.MkdirAll(keep, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, kallsyms := filepath.Join(keep, name+".data"), filepath.Join(dir, "kallsyms")
	ready, done := filepath.Join(dir, "ready"), filepath.Join(dir, "done")
	cmd := exec.Command("kprof", "record", "-q", "-a", "-e", "cpu-clock:k", "-F", "397", "-o", data, "--",
		"sh", "-c", fmt.Sprintf(": >%s; while [ ! -e %s ]; do sleep 0.1; done", ready, done))
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		livetest.WriteFile(t, done, "")
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, &said)
		}
		if code, _, said := kprof(t, "convert", "--kallsyms", kallsyms, "-o", filepath.Join(keep, name+".pb.gz"), data); code != 0 {
			t.Errorf("exit code %d: %s", code, said)
		}
	}()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("kprof does not start its command: %s", &said)
		}
	}
	f(kallsyms)
}

// sh runs a command line.
func sh(t *testing.T, line string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// load loads module loop, compressed or not.
func load(t *testing.T) error {
	t.Helper()
	found, err := filepath.Glob("/modules/loop.ko*")
	if err != nil || len(found) != 1 {
		t.Fatalf("module loop: %v, %v", found, err)
	}
	f := livetest.Open(t, os.Open, found[0])
	flags := 0
	if filepath.Ext(found[0]) != ".ko" {
		flags = unix.MODULE_INIT_COMPRESSED_FILE
	}
	return unix.FinitModule(int(f.Fd()), "", flags)
}

// TestGuestSymbols records the kernel, and a module of which neither the start nor
// the end of the recording knows.
func TestGuestSymbols(t *testing.T) {
	guest(t)
	during(t, "module", func(kallsyms string) {
		sh(t, "dd if=/dev/zero of=/dev/null bs=1 count=5000 2>/dev/null; find /proc/sys /sys/kernel >/dev/null 2>&1 || :")
		if err := load(t); err != nil {
			t.Fatalf("load: %v", err)
		}
		// Through the module, so that it is in the chains of what writes.
		sh(t, "dd if=/dev/zero of=/tmp/image bs=64k count=16 2>/dev/null; losetup /dev/loop0 /tmp/image")
		sh(t, "dd if=/dev/zero of=/dev/loop0 bs=4k count=256 conv=fsync 2>/dev/null; dd if=/dev/zero of=/dev/loop0 bs=4k count=256 conv=fsync 2>/dev/null")
		sh(t, "losetup -d /dev/loop0; cp /proc/kallsyms "+kallsyms)
		time.Sleep(2 * time.Second) // modules are looked at twice a second
		// Who let go of the device last may not be through with it.
		err := unix.DeleteModule("loop", unix.O_NONBLOCK)
		for begun := time.Now(); err != nil && time.Since(begun) < time.Minute; time.Sleep(50 * time.Millisecond) {
			err = unix.DeleteModule("loop", unix.O_NONBLOCK)
		}
		if err != nil {
			t.Fatalf("unload: %v", err)
		}
	})
}

// TestHostSymbols names what a guest recorded without the guest: by the recorded symbols
// alone and, where there is one, by the vmlinux with the build id of the guest's
// kernel in the directory KPROF_DEBUG_KERNEL. The kernel's functions are those
// that the guest's kallsyms gave.
func TestHostSymbols(t *testing.T) {
	dir := ofGuests(t, "KPROF_RECORDINGS")
	base := filepath.Join(dir, symbolsDir, "module")
	f, err := os.Open(base + ".pb.gz")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the guest did not run TestGuestSymbols")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	set, err := pprof.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	want := kernelNames(set)
	recorded := func(r *perfdata.Reader) symbolize.Options {
		c, err := r.KernelSymbols()
		if err != nil || c == nil {
			t.Fatalf("kernel symbols: %v, %v", c, err)
		}
		return symbolize.Options{Kallsyms: bytes.NewReader(c.Kallsyms)}
	}
	compareNames(t, "the recorded symbols", want, hostNames(t, base+".data", recorded), false)
	functions := 0
	for _, name := range want {
		if strings.HasPrefix(name, "lo_") || strings.HasPrefix(name, "loop_") {
			functions++
		}
	}
	if len(want) < 100 || functions == 0 {
		t.Errorf("%d places in the kernel, %d of them in module loop", len(want), functions)
	}
	compareVmlinux(t, base+".data", want)
}

func compareVmlinux(t *testing.T, data string, want map[uint64]string) {
	t.Helper()
	given := os.Getenv("KPROF_DEBUG_KERNEL") // a vmlinux, or a directory with some
	if given == "" {
		return
	}
	paths, err := filepath.Glob(filepath.Join(given, "vmlinux*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		paths = []string{given}
	}
	for _, path := range paths {
		var other *symbolize.BuildIDError
		got := hostNames(t, data, func(r *perfdata.Reader) symbolize.Options {
			return symbolize.Options{Vmlinux: path}
		}, &other)
		if other != nil {
			continue
		}
		compareNames(t, path, want, got, true)
		t.Logf("%d places compared with %s", len(got), path)
	}
}

// hostNames converts a recording as one from another machine, and returns the
// names of its places in the kernel.
func hostNames(t *testing.T, data string, options func(*perfdata.Reader) symbolize.Options, other ...**symbolize.BuildIDError) map[uint64]string {
	t.Helper()
	r := perftext.Open(t, data)
	set, _, err := replay.File(context.Background(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := options(r)
	o.Foreign, o.Release, o.Root = true, r.Features.OSRelease, t.TempDir()
	s := symbolize.New(o)
	defer s.Close()
	missing, err := naming.Name(context.Background(), set, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range missing {
		if len(other) > 0 {
			errors.As(m.Err, other[0])
		}
	}
	return kernelNames(set)
}

// kernelNames returns the function at each address of the kernel and of its
// modules, empty where it is not known.
func kernelNames(set *stacks.Set) map[uint64]string {
	names := map[uint64]string{}
	for i := range set.Locations {
		l := &set.Locations[i]
		if l.Addr>>63 == 0 {
			continue
		}
		name := ""
		if lines := set.Lines(uint32(i)); len(lines) > 0 {
			name = set.Functions[lines[len(lines)-1].Function].Name
		}
		names[l.Addr] = name
	}
	return names
}

// compareNames compares the names of places. What is only the kernel's file knows
// no modules.
func compareNames(t *testing.T, what string, want, got map[uint64]string, kernelOnly bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d places, %d in the guest", what, len(got), len(want))
	}
	differ := 0
	for addr, name := range want {
		if got[addr] == name || kernelOnly && got[addr] == "" {
			continue
		}
		if differ++; differ < 10 {
			t.Errorf("%s: %#x is %q, in the guest %q", what, addr, got[addr], name)
		}
	}
	if differ > 0 {
		t.Errorf("%s: %d of %d places differ", what, differ, len(want))
	}
}
