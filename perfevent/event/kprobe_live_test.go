//go:build linux

package event

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
	"kprof/perfevent/x86"
)

func requireKprobes(t *testing.T) {
	t.Helper()
	livetest.RequireKernel(t, livetest.PMU("kprobe"))
	livetest.Require(t, livetest.Root, livetest.Tracefs)
}

// laterInstruction is the offset of an instruction of a kernel function, past
// what ftrace has at its start.
func laterInstruction(t *testing.T, r *Resolver, name string) (addr, off uint64) {
	t.Helper()
	f := mustFunc(t, r, name)
	if runtime.GOARCH == "arm64" {
		return f.addr, 16
	}
	code, err := kernelCode(f.addr, 64)
	if err != nil {
		t.Fatal(err)
	}
	_, off, ok := boundaries(code, 64, 10)
	if !ok {
		t.Fatalf("%s does not decode: % x", name, code)
	}
	return f.addr, off
}

// leftProbes are the probes in tracefs that this process made for a recording.
func leftProbes(t *testing.T) []tracefs.Probe {
	t.Helper()
	self, err := tracefs.Self()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(allProbes(t), func(p tracefs.Probe) bool { return p.Group != self.Group() })
}

// allProbes are the probes in tracefs, whoever made them.
func allProbes(t *testing.T) []tracefs.Probe {
	t.Helper()
	all, err := livetest.TracefsMounted(t).Probes()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestKprobeHits has the kernel count calls of a function in one thread, by each
// kind of probe and both ways of making it.
func TestKprobeHits(t *testing.T) {
	requireKprobes(t)
	zero := livetest.Open(t, os.Open, "/dev/zero")
	r := new(Resolver)
	addr, off := laterInstruction(t, r, "vfs_read")
	for _, via := range []ProbeVia{ProbePMU, ProbeTracefs} {
		for _, text := range []string{
			"kprobe:vfs_read",
			fmt.Sprintf("kprobe:vfs_read+%#x", off),
			fmt.Sprintf("kprobe:%#x", addr),
			fmt.Sprintf("kprobe:%#x", addr+off),
			"kretprobe:vfs_read",
			fmt.Sprintf("kretprobe:%#x", addr),
		} {
			spec := mustSpec(t, text)
			r.ProbeVia = via
			events, err := r.Resolve(spec)
			if err != nil {
				t.Errorf("via %d: %v", via, err)
				continue
			}
			e := events[0]
			e.Configure(perfevent.Sampling{Callchain: true})
			n := count(t, e, func() {
				for range hits {
					if _, err := unix.Read(int(zero.Fd()), make([]byte, 1)); err != nil {
						t.Fatal(err)
					}
				}
			})
			if n.Value != hits {
				t.Errorf("%s via %d: %d hits, want %d", text, via, n.Value, hits)
			}
			c, ok, err := r.ProbeCounts(e)
			if ok != (via == ProbeTracefs) || err != nil || ok && (!c.MissesKnown || c.Misses != 0 || c.Hits < hits) {
				t.Errorf("%s via %d: counts %+v, %v, %v", text, via, c, ok, err)
			}
			if err := errors.Join(r.Close(), r.Close()); err != nil {
				t.Error(err)
			}
			if left := leftProbes(t); len(left) != 0 {
				t.Errorf("%s: left %v", text, left)
			}
		}
	}
}

// firstBlacklisted is a function that the kernel does not allow to probe.
func firstBlacklisted(t *testing.T, r *Resolver) string {
	t.Helper()
	blacklisted := r.blacklisted()
	return firstFunc(t, r, "nothing is blacklisted: debugfs not mounted?", func(funcs kernelFuncs, f kernelFunc) (string, bool) {
		return f.name, blacklisted[f.name] && len(funcs.named(f.name, "")) == 1 && !strings.Contains(f.name, ".") && f.size > 16
	})
}

// firstFunc is the first name of those of the kernel's functions that choose takes.
func firstFunc(t *testing.T, r *Resolver, none string, choose func(kernelFuncs, kernelFunc) (string, bool)) string {
	t.Helper()
	funcs := funcsOf(t, r)
	for _, f := range funcs {
		if name, ok := choose(funcs, f); ok {
			return name
		}
	}
	t.Fatal(none)
	return ""
}

func funcsOf(t *testing.T, r *Resolver) kernelFuncs {
	t.Helper()
	funcs, err := r.kernelFuncs()
	if err != nil {
		t.Fatal(err)
	}
	return funcs
}

// firstNotrace is a function that ftrace cannot stop in, and that is not on the
// blacklist.
func firstNotrace(t *testing.T, r *Resolver) string {
	t.Helper()
	funcs := funcsOf(t, r)
	blacklisted, traceable := r.blacklisted(), r.traceable()
	for _, name := range []string{"native_sched_clock", "sched_clock", "arch_local_irq_restore", "notrace_raw", "ktime_get_mono_fast_ns", "trace_clock_local"} {
		if !blacklisted[name] && !traceable[name] && len(funcs.named(name, "")) == 1 {
			return name
		}
	}
	t.Fatal("no notrace function is known to this test")
	return ""
}

// firstAmbiguous is a name that several functions have.
func firstAmbiguous(t *testing.T, r *Resolver) string {
	t.Helper()
	count, traceable := map[string]int{}, r.traceable()
	return firstFunc(t, r, "all functions have names of their own", func(_ kernelFuncs, f kernelFunc) (string, bool) {
		count[f.name]++
		return f.name, count[f.name] == 2 && traceable[f.name]
	})
}

// firstVariant is a function that is there only as what the compiler made of it.
func firstVariant(t *testing.T, r *Resolver) string {
	t.Helper()
	return firstFunc(t, r, "the compiler made no variants", func(funcs kernelFuncs, f kernelFunc) (string, bool) {
		name, _, ok := strings.Cut(f.name, ".constprop")
		return name, ok && !strings.HasPrefix(name, "__pfx_") && len(funcs.named(name, "")) == 0 && !strings.Contains(name, ".")
	})
}

// TestKprobeRefused: each probe that cannot be is refused in words that say what
// to do, whichever way it is made, and nothing is left behind.
func TestKprobeRefused(t *testing.T) {
	requireKprobes(t)
	r := new(Resolver) // one for all: it reads /proc/kallsyms, which is slow in a guest
	_, off := laterInstruction(t, r, "vfs_read")
	inside := off + 1
	if runtime.GOARCH == "amd64" {
		// The instruction at off may be one byte long; look for a longer one.
		code, err := kernelCode(mustFunc(t, r, "vfs_read").addr, 128)
		if err != nil {
			t.Fatal(err)
		}
		for {
			if inst, ok := x86.Decode(code[off:], 64); !ok || inst.Len != 1 {
				break
			}
			off++
		}
		inside = off + 1
	}
	for _, tt := range []struct {
		text string
		via  ProbeVia
		want string
		is   error
	}{
		{"kprobe:vfs_raed", ProbePMU, "did you mean vfs_read", os.ErrNotExist},
		{"kprobe:vfs_raed", ProbeTracefs, "did you mean vfs_read", os.ErrNotExist},
		{"kprobe:nosuchmodule:vfs_read", ProbePMU, "module nosuchmodule is not loaded", os.ErrNotExist},
		{"kprobe:" + firstAmbiguous(t, r), ProbePMU, "probe one by its address: kprobe:0x", os.ErrInvalid},
		{"kprobe:" + firstVariant(t, r), ProbePMU, ".constprop.", os.ErrNotExist},
		{"kprobe:vfs_read+0x100000", ProbePMU, "is outside vfs_read", os.ErrInvalid},
		{"kprobe:vfs_read+0x100000", ProbeTracefs, "is outside vfs_read", os.ErrInvalid},
		{fmt.Sprintf("kprobe:vfs_read+%d", inside), ProbePMU, "is inside an instruction of vfs_read", os.ErrInvalid},
		{fmt.Sprintf("kprobe:vfs_read+%d", inside), ProbeTracefs, "is inside an instruction of vfs_read", os.ErrInvalid},
		{"kprobe:0x1000", ProbePMU, "no function lies at 0x1000", os.ErrInvalid},
		{fmt.Sprintf("kretprobe:vfs_read+%d", off), ProbePMU, "a return probe stands at a function's entry", os.ErrInvalid},
		{"kprobe:" + firstBlacklisted(t, r), ProbePMU, "may not be probed", unix.EINVAL},
		{"kprobe:" + firstBlacklisted(t, r), ProbeTracefs, "may not be probed", unix.EINVAL},
		{"kprobe:" + firstNotrace(t, r), ProbePMU, "is notrace", unix.EINVAL},
		{"kprobe:" + firstNotrace(t, r), ProbeTracefs, "is notrace", unix.EINVAL},
		{"kprobe:*", ProbePMU, "or raise the limit of 100 on purpose", os.ErrInvalid},
		{"kprobe:vfs_rea[", ProbePMU, "syntax error in pattern", nil},
		{"kprobe:nosuch_*", ProbePMU, "no such function", os.ErrNotExist},
		{"kprobe:vfs_read a=$arg1", ProbePMU, "need tracefs", perfevent.ErrNotSupported},
		{"kprobe:vfs_read a=$arg1:u99", ProbeAuto, `Unknown type is specified at byte`, unix.EINVAL},
		{"kprobe:vfs_read a=%nosuch", ProbeAuto, `Invalid register name at byte`, unix.EINVAL},
		{"kprobe:vfs_read a=+0(", ProbeAuto, "Dereference brace is not closed", unix.EINVAL},
		{"kprobe:vfs_read ret=$retval", ProbeAuto, "$retval is", unix.EINVAL},
		{"p:x nosuchfunction", ProbeAuto, "this kernel has no such function", nil},
		{"p vfs_read a=+0():u32", ProbeAuto, "put the event in single quotes", unix.EINVAL},
		{"p vfs_raed", ProbeAuto, "did you mean vfs_read", nil},
		{fmt.Sprintf("p %#x a=$arg1", mustFunc(t, r, "vfs_read").addr), ProbeAuto, "name the function, or a register", unix.EINVAL},
		{"p:x vfs_read a=$arg1 a=$arg2", ProbeAuto, "already used", unix.EINVAL},
	} {
		spec := mustSpec(t, tt.text)
		r.ProbeVia = tt.via
		events, err := r.Resolve(spec)
		if err == nil {
			var c *perfevent.Counter
			e := events[0]
			e.Configure(perfevent.Sampling{})
			if c, err = e.Open(perfevent.Where{CPU: perfevent.AnyCPU}); err == nil {
				c.Close()
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s via %d: %v; want %q in it, and %v", tt.text, tt.via, err, tt.want, tt.is)
		} else {
			t.Logf("%v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if left := leftProbes(t); len(left) != 0 {
			t.Fatalf("%s: left %v", tt.text, left)
		}
	}
}

func mustFunc(t *testing.T, r *Resolver, name string) kernelFunc {
	t.Helper()
	found := funcsOf(t, r).named(name, "")
	if len(found) != 1 {
		t.Fatalf("%d functions called %s", len(found), name)
	}
	return found[0]
}

// TestKprobeArgumentOnReturn: kernels up to 6.9 have no arguments there.
func TestKprobeArgumentOnReturn(t *testing.T) {
	requireKprobes(t)
	spec := mustSpec(t, "kretprobe:vfs_read a=$arg1")
	r := &Resolver{}
	_, err := r.Resolve(spec)
	if cerr := r.Close(); cerr != nil {
		t.Error(cerr)
	}
	var u unix.Utsname
	if uerr := unix.Uname(&u); uerr != nil {
		t.Fatal(uerr)
	}
	if release := unix.ByteSliceToString(u.Release[:]); strings.HasPrefix(release, "6.1.") {
		if err == nil || !strings.Contains(err.Error(), "a return probe has $retval") {
			t.Errorf("%v", err)
		}
	} else if err != nil {
		t.Error(err)
	}
}

// TestKprobeGlob makes a probe of each function that matches.
func TestKprobeGlob(t *testing.T) {
	requireKprobes(t)
	spec := mustSpec(t, "kprobe:vfs_re*")
	for _, via := range []ProbeVia{ProbePMU, ProbeTracefs} {
		r := &Resolver{ProbeVia: via}
		events, err := r.Resolve(spec)
		if err != nil {
			t.Fatal(err)
		}
		read := false
		for _, e := range events {
			read = read || e.Name == "kprobe:vfs_read"
		}
		if len(events) < 3 || !read || len(events[0].Notes) == 0 || !strings.Contains(events[0].Notes[0], fmt.Sprintf("%d functions match vfs_re*", len(events))) {
			t.Errorf("%d events, vfs_read %v, notes %q", len(events), read, events[0].Notes)
		}
		if left := leftProbes(t); via == ProbeTracefs && len(left) != len(events) {
			t.Errorf("%d probes for %d events", len(left), len(events))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if left := leftProbes(t); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// TestProbeLeftovers: probes of a process that is gone are removed by the next
// one; those of a running kprof, of another pid namespace, of other programs, and
// those that are to be kept are not.
func TestProbeLeftovers(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"))
	fs := livetest.TracefsMounted(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err := tracefs.Self()
	if err != nil {
		t.Fatal(err)
	}
	dead, far := self, self
	dead.Start++
	far.Namespace = 4026599999
	if got, ok := tracefs.ParseOwner(far.Group()); !ok || got != far {
		t.Errorf("%+v, %v", got, ok)
	}
	var mine []tracefs.Probe
	for _, group := range []string{self.Group(), dead.Group(), far.Group(), "kprof", "kprof_1_x", "somebody"} {
		p := tracefs.Probe{User: true, Group: group, Name: "probed", Place: fmt.Sprintf("%s:%#x", exe, fileOffset(t, exe))}
		if err := fs.AddProbe(p); err != nil {
			t.Fatal(err)
		}
		mine = append(mine, p)
	}
	removed, err := fs.Cleanup()
	others := func(p tracefs.Probe) bool {
		return !slices.ContainsFunc(mine, func(m tracefs.Probe) bool { return m.Event() == p.Event() })
	}
	removed = slices.DeleteFunc(removed, others)
	if err != nil || len(removed) > 1 || len(removed) == 1 && removed[0].Group != dead.Group() {
		t.Errorf("removed %v, %v", removed, err)
	}
	// Another kprof that started at that moment may have been first.
	if isDead := func(p tracefs.Probe) bool { return p.Group == dead.Group() }; slices.ContainsFunc(allProbes(t), isDead) {
		t.Errorf("the probe of a process that is gone is left; removed %v", removed)
	}
	var exists *tracefs.ProbeError
	if err := fs.AddProbe(mine[0]); !errors.As(err, &exists) || !errors.Is(err, unix.EEXIST) {
		t.Errorf("a second probe of that name: %v", err)
	}
	for _, p := range mine {
		if p.Group == dead.Group() {
			continue
		}
		if err := fs.RemoveProbe(p); err != nil {
			t.Error(err)
		}
	}
	if left := slices.DeleteFunc(allProbes(t), others); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// TestKprobeProbeable: what is listed of the kernel can be probed.
func TestKprobeProbeable(t *testing.T) {
	requireKprobes(t)
	r := new(Resolver)
	all, ok, err := r.Probeable("kprobe:vfs_rea*")
	if err != nil || !ok || !slices.ContainsFunc(all, func(p Probeable) bool { return p.Name == "kprobe:vfs_read" }) {
		t.Fatalf("%v, %v, %v", all, ok, err)
	}
	for _, p := range all {
		if err := r.Try(p.Name, perfevent.Where{CPU: 0}, 0); err != nil {
			t.Error(err)
		}
	}
}

// TestProbeBusy: a probe that is recorded cannot be removed, and the error says
// so.
func TestProbeBusy(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec := mustSpec(t, fmt.Sprintf("uprobe:%s:%#x a=$stack0", exe, fileOffset(t, exe)))
	r := &Resolver{MountTracefs: true}
	events, err := r.Resolve(spec)
	if err != nil {
		t.Fatal(err)
	}
	e := events[0]
	e.Configure(perfevent.Sampling{})
	c, err := e.Open(perfevent.Where{CPU: perfevent.AnyCPU})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.fs.RemoveProbe(r.probes[0]); !errors.Is(err, unix.EBUSY) {
		t.Errorf("%v, want EBUSY", err)
	}
	if err := errors.Join(c.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(r.fs.Path(), "events", e.Tracepoint.System)); err == nil {
		t.Errorf("%s is left", e.Tracepoint.System)
	}
}
