package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"kprof/perfevent/tracecmd"
	"kprof/perfevent/tracefs"
	"kprof/record/tracer"
)

// traceSystems are whose events are traced.
var traceSystems = []string{"sched", "raw_syscalls", "irq", "kmem", "timer", "signal"}

// traces compares with trace-cmd on what the kernel's tracer records of a load in some seconds,
// without stacks of the kernel and with them.
func (b *bench) traces() error {
	if _, err := exec.LookPath("trace-cmd"); err != nil {
		fmt.Println("\ntrace-cmd is not in PATH")
		return nil
	}
	for _, stacks := range []bool{false, true} {
		data := filepath.Join(b.dir, "trace.dat")
		// In a process of its own, as distinctStacks.
		if out, err := exec.Command(os.Args[0], "-trace", data, fmt.Sprint("-stacks=", stacks)).CombinedOutput(); err != nil {
			return fmt.Errorf("trace: %w\n%s", err, out)
		}
		st, err := os.Stat(data)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s: %d MB, %s\n", data, st.Size()>>20, map[bool]string{false: "without stacks", true: "with stacks of the kernel"}[stacks])
		report, err := run("trace-cmd report -i " + data + " 2>/dev/null >/dev/null")
		if err != nil {
			return err
		}
		show("trace-cmd report >/dev/null", report, "", cost{})
		for _, what := range []string{"script %s >/dev/null", "convert -f folded -o - %s >/dev/null"} {
			c, err := run(b.kprof + " " + fmt.Sprintf(what, data))
			if err != nil {
				return err
			}
			show("kprof "+fmt.Sprintf(what, ""), c, "trace-cmd report", report)
		}
	}
	return nil
}

const (
	// The rings of all CPUs together, in kB: what most traces fill, and no more than a
	// sixteenth of the machine's memory.
	ringsKB    = 800 << 10
	memoryPart = 16
)

// recordTrace writes a trace.dat of three seconds of a load, recorded in an instance of the
// tracer. It is named as kprof's own are, so that what a run leaves that was killed is removed
// by the next, and by kprof.
func recordTrace(data string, stacks bool) (err error) {
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		return err
	}
	if _, err := tracer.RemoveStale(fs); err != nil {
		return err
	}
	self, err := tracefs.Self()
	if err != nil {
		return err
	}
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return err
	}
	rings := min(ringsKB, uint64(machine.Totalram)*uint64(machine.Unit)>>10/memoryPart)
	// The load ends by itself: who is asked to end waits for it, and removes the instance.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	tracing := fs.Path()
	dir := filepath.Join(tracing, "instances", self.Group())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(dir)) }()
	set := func(name, value string) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(value), 0)
		}
	}
	set("buffer_size_kb", fmt.Sprint(rings/uint64(runtime.NumCPU())))
	set("trace_clock", "mono")
	set("options/stacktrace", map[bool]string{false: "0", true: "1"}[stacks])
	for _, s := range traceSystems {
		set("events/"+s+"/enable", "1")
	}
	if err == nil {
		err = exec.Command("timeout", "-s", "KILL", "3", "sh", "-c", "while :; do find /usr /proc -maxdepth 4 2>/dev/null | sort | wc >/dev/null; done").Run()
		if _, killed := errors.AsType[*exec.ExitError](err); killed {
			err = nil
		}
	}
	set("tracing_on", "0")
	set("events/enable", "0")
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		return err
	}
	text := func(path ...string) string {
		t, rerr := os.ReadFile(filepath.Join(path...))
		err = errors.Join(err, rerr)
		return string(t)
	}
	formats := func(system string) (all []string) {
		names, _ := filepath.Glob(filepath.Join(tracing, "events", system, "*", "format"))
		for _, name := range names {
			all = append(all, text(name))
		}
		return all
	}
	f := tracecmd.File{
		PageSize: os.Getpagesize(), Compress: true, Clock: "mono", NumCPUs: runtime.NumCPU(),
		HeaderPage: text(tracing, "events/header_page"), HeaderEvent: text(tracing, "events/header_event"),
		Ftrace: formats("ftrace"), Kallsyms: []byte(text("/proc/kallsyms")), Cmdlines: text(tracing, "saved_cmdlines"),
	}
	for _, s := range traceSystems {
		f.Systems = append(f.Systems, tracecmd.System{Name: s, Formats: formats(s)})
	}
	for cpu := range runtime.NumCPU() {
		pages, size, err := copyRing(data, filepath.Join(dir, "per_cpu", fmt.Sprint("cpu", cpu), "trace_pipe_raw"), f.PageSize)
		if err != nil {
			return err
		}
		defer pages.Close() // was only read since
		f.CPUs = append(f.CPUs, tracecmd.CPU{ID: cpu, Pages: pages, Size: size})
	}
	if err != nil {
		return err
	}
	out, err := os.Create(data)
	if err != nil {
		return err
	}
	return errors.Join(f.Write(out), out.Close())
}

// copyRing copies the pages of a ring, of which the last is not full, to a file without a name
// beside data.
func copyRing(data, ring string, pageSize int) (pages *os.File, size int64, err error) {
	in, err := os.OpenFile(ring, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close() // only read
	if pages, err = os.CreateTemp(filepath.Dir(data), "ring"); err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			pages.Close()
		}
	}()
	if err := os.Remove(pages.Name()); err != nil {
		return nil, 0, err
	}
	page := make([]byte, pageSize)
	for {
		n, err := unix.Read(int(in.Fd()), page)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 && (err == nil || errors.Is(err, unix.EAGAIN)) {
			_, err = pages.Seek(0, io.SeekStart)
			return pages, size, err
		}
		if err != nil {
			return nil, 0, err
		}
		clear(page[n:])
		if _, err := pages.Write(page); err != nil {
			return nil, 0, err
		}
		size += int64(pageSize)
	}
}
