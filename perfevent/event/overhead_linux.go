package event

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/internal/errkind"
)

// ProbeOverhead measures how much longer a function takes for each hit of a probe at
// its entry that one counter samples, with callchain, into a ring: a system call
// of the kernel's, or a function of this program's. It takes some milliseconds and
// leaves nothing behind. via is ProbePMU or ProbeTracefs; others are counters that
// are open besides and sample nothing, as those of other CPUs are.
func ProbeOverhead(user bool, via ProbeVia, others int) (cost time.Duration, err error) {
	spec, hit, err := overheadProbe(user)
	if err != nil {
		return 0, err
	}
	return sampledOverhead(spec, hit, via, others)
}

// TracepointOverhead is what ProbeOverhead is for a tracepoint at a system call.
func TracepointOverhead() (time.Duration, error) {
	spec, err := ParseSpec("syscalls:sys_enter_getppid")
	if err != nil {
		return 0, err
	}
	return sampledOverhead(spec, func() { unix.Getppid() }, ProbeAuto, 0)
}

// sampledOverhead is by how much hit becomes longer when the event of spec, which it hits
// once, is sampled.
func sampledOverhead(spec Spec, hit func(), via ProbeVia, others int) (cost time.Duration, err error) {
	r := Resolver{ProbeVia: via, MountTracefs: true}
	defer func() { err = errors.Join(err, r.Close()) }()
	events, err := r.Resolve(spec)
	if err != nil {
		return 0, err
	}
	e := &events[0]
	e.Configure(perfevent.Sampling{Callchain: true})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := e.Open(perfevent.Where{CPU: perfevent.AnyCPU})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ring, err := perfevent.MapRing(c, perfevent.RingBytes(overheadRing))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, ring.Close()) }()
	for range others {
		o, err := e.Open(perfevent.Where{CPU: perfevent.AnyCPU})
		if err != nil {
			return 0, err
		}
		defer o.Close() // never enabled: nothing is lost
	}

	timed := func() time.Duration {
		begun := time.Now()
		for range overheadHits {
			hit()
		}
		return time.Since(begun)
	}
	// The least of a few tries is what it costs; more is something else that ran.
	var with, without time.Duration
	for try := range overheadTries {
		plain := timed()
		if err := c.Enable(); err != nil {
			return 0, err
		}
		probed := timed()
		if err := c.Disable(); err != nil {
			return 0, err
		}
		a, b := ring.Peek()
		ring.Consume(len(a) + len(b))
		if try == 0 {
			with, without = probed, plain
		}
		with, without = min(with, probed), min(without, plain)
	}
	n, err := c.Read()
	if err != nil {
		return 0, err
	}
	if n.Value != overheadTries*overheadHits {
		return 0, errkind.Errorf(os.ErrInvalid, "event %s: %d hits of %d calls", e.Name, n.Value, overheadTries*overheadHits)
	}
	return max(with-without, 0) / overheadHits, nil
}

const (
	overheadTries = 5
	overheadHits  = 200
	// What a try writes: 200 samples with 127 frames at most.
	overheadRing = 256 << 10
)

// overheadProbe is a probe, and what hits it.
func overheadProbe(user bool) (Spec, func(), error) {
	if user {
		exe, off, err := selfOffset(reflect.ValueOf(hitHere).Pointer())
		if err != nil {
			return Spec{}, nil, err
		}
		s, err := ParseSpec(fmt.Sprintf("uprobe:%s:%#x", exe, off))
		return s, hitHere, err
	}
	name := map[string]string{"amd64": "__x64_sys_getppid", "arm64": "__arm64_sys_getppid"}[runtime.GOARCH]
	s, err := ParseSpec("kprobe:" + name)
	return s, func() { unix.Getppid() }, err
}

// hitHere is there to be probed.
//
//go:noinline
func hitHere() {}

// selfOffset is where in which file the running program's code at addr lies.
func selfOffset(addr uintptr) (path string, off uint64, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return "", 0, err
	}
	for line := range strings.Lines(string(maps)) { // START-END PERMS OFF DEV INODE PATH
		f := strings.Fields(line)
		if len(f) < 6 || f[5][0] != '/' {
			continue
		}
		first, last, _ := strings.Cut(f[0], "-")
		start, err1 := strconv.ParseUint(first, 16, 64)
		end, err2 := strconv.ParseUint(last, 16, 64)
		at, err3 := strconv.ParseUint(f[2], 16, 64)
		if errors.Join(err1, err2, err3) == nil && uint64(addr) >= start && uint64(addr) < end {
			return "/proc/self/exe", uint64(addr) - start + at, nil
		}
	}
	return "", 0, errkind.Errorf(os.ErrNotExist, "code at %#x is in no file", addr)
}

// Overheads are what a hit of a probe costs, by how the probe is made.
type Overheads struct {
	PMU        time.Duration // through the PMU, with a counter on one CPU
	FurtherCPU time.Duration // more for each further CPU, whose counter is one more probe that every hit runs
	Tracefs    time.Duration // through tracefs, whatever the number of CPUs
	NoTracefs  error         // why Tracefs is not known
}

// ProbeOverheads measures what hits of kernel or user probes cost on this machine.
func ProbeOverheads(user bool) (o Overheads, err error) {
	const others = 8
	if o.PMU, err = ProbeOverhead(user, ProbePMU, 0); err != nil {
		return o, err
	}
	many, err := ProbeOverhead(user, ProbePMU, others)
	if err != nil {
		return o, err
	}
	o.FurtherCPU = max(many-o.PMU, 0) / others
	o.Tracefs, o.NoTracefs = ProbeOverhead(user, ProbeTracefs, 0)
	return o, nil
}
