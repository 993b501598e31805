package rig

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tracerState is what of the tracer recording functions may change. The size of rings is
// left out: the kernel rounds it.
func tracerState(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{
		"current_tracer", "tracing_on", "trace_clock", "tracing_cpumask", "set_ftrace_filter", "set_ftrace_pid", "set_ftrace_notrace_pid",
		"set_graph_function", "max_graph_depth", "options/sleep-time", "options/function-fork", "options/func_stack_trace",
	} {
		b, err := os.ReadFile(tracing + name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s: %s", name, b)
	}
	instances, err := os.ReadDir(tracing + "instances")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range instances {
		fmt.Fprintln(&all, "instance", i.Name())
	}
	return all.String()
}

// restores wants the tracer to be as before when the test has ended, with settings that are
// not those of the kernel.
func restores(t *testing.T) (was string) {
	t.Helper()
	inGuest(t)
	for name, values := range map[string][2]string{
		"set_ftrace_filter": {"vfs_read\nvfs_write", ""}, "set_graph_function": {"vfs_open", ""}, "max_graph_depth": {"7", "0"}, "trace_clock": {"boot", "local"},
		"set_ftrace_pid": {"1", ""},
	} {
		set := func(value string) {
			if err := os.WriteFile(tracing+name, []byte(value+"\n"), 0); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		set(values[0])
		t.Cleanup(func() { set(values[1]) })
	}
	was = tracerState(t)
	t.Cleanup(func() {
		if got := tracerState(t); got != was {
			t.Errorf("the tracer is left as\n%s\nin place of\n%s", got, was)
		}
	})
	return was
}

// graphLine is a begin or an end of a function in what kprof script lists.
var graphLine = regexp.MustCompile(`^ *(.+?) +(\d+) \[\d+\] +[\d.]+: +ftrace:funcgraph_(entry|exit): (?:-->|<--) (\S+) \((\d+)\)(?: \(start: ([0-9a-f]+)  end: ([0-9a-f]+)\))?`)

// ownTimes adds up, by function, the times that lines say, without those of what ran within
// them in the same task: by their times alone, since an interrupt may be among the lines of a
// function that it does not belong to (before the line of its begin, after the time of its end).
func ownTimes(t *testing.T, lines string) (own map[string]int64, calls map[string]int) {
	t.Helper()
	type call struct {
		fn         string
		begin, end int64
	}
	tasks := map[string][]call{}
	for line := range strings.Lines(lines) {
		m := graphLine.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("line %q", line)
			continue
		}
		if m[3] == "entry" {
			continue
		}
		begin, err1 := strconv.ParseInt(m[6], 16, 64)
		end, err2 := strconv.ParseInt(m[7], 16, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("line %q", line)
		}
		tasks[m[2]] = append(tasks[m[2]], call{m[4], begin, end})
	}
	own, calls = map[string]int64{}, map[string]int{}
	for _, all := range tasks {
		slices.SortFunc(all, func(a, b call) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end)) })
		var in []call
		for _, c := range all {
			for len(in) > 0 && in[len(in)-1].end <= c.begin {
				in = in[:len(in)-1]
			}
			if n := len(in); n > 0 {
				own[in[n-1].fn] -= c.end - c.begin
			}
			own[c.fn] += c.end - c.begin
			calls[c.fn]++
			in = append(in, c)
		}
	}
	return own, calls
}

// TestGuestGraph: a function that sleeps for a known time takes that time, with all that it
// calls; what functions take themselves adds up to it, as it does by the lines.
func TestGuestGraph(t *testing.T) {
	restores(t)
	file := filepath.Join(t.TempDir(), "trace.dat")
	const sleeps, ms = 3, 100
	code, _, said := kprof(t, "record", "-e", "graph:hrtimer_nanosleep", "-o", file, "--", "sh", "-c", strings.Repeat("sleep 0.1;", sleeps))
	if code != 0 {
		t.Fatal(said)
	}
	_, lines, said := kprof(t, "script", file)
	own, calls := ownTimes(t, lines)
	if calls["hrtimer_nanosleep"] != sleeps || len(own) < 10 {
		t.Fatalf("%d calls of %d functions\n%s%s", calls["hrtimer_nanosleep"], len(own), said, lines)
	}
	var total int64
	for _, ns := range own {
		total += ns
	}
	_, folded, said := kprof(t, "convert", "-f", "folded", file)
	var sum, slept int64
	got := map[string]int64{}
	for line := range strings.Lines(folded) {
		stack, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		frames := strings.Split(stack, ";")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || len(frames) < 2 {
			t.Fatalf("line %q %v", line, err)
		}
		if frames[1] == "hrtimer_nanosleep" { // of interrupts the kernel shows some that are in no function
			slept += n
		}
		got[frames[len(frames)-1]] += n
		sum += n
	}
	if sum != total {
		t.Errorf("%d ns in all, the lines have %d\n%s", sum, total, said)
	}
	if slept < sleeps*ms*1e6 || slept > total {
		t.Errorf("%d sleeps of %d ms took %d ns", sleeps, ms, slept)
	}
	for fn, ns := range own {
		if got[fn] != ns {
			t.Errorf("%s: %d ns, the lines have %d", fn, got[fn], ns)
		}
	}
}

// TestGuestGraphCounts: the calls of a function are those that a probe in the kernel counts,
// whoever made them; other formats have the same, and another kprof is no trouble.
func TestGuestGraphCounts(t *testing.T) {
	guest(t)
	// In an instance, so that the top buffer is unused.
	instance := tracing + "instances/counts"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(os.Mkdir(instance, 0o700))
	must(os.WriteFile(tracing+"kprobe_events", []byte("p:rig/counted write_null\n"), 0))
	must(os.WriteFile(instance+"/events/rig/counted/enable", []byte("1"), 0))
	t.Cleanup(func() {
		must(os.WriteFile(instance+"/events/rig/counted/enable", []byte("0"), 0))
		must(os.Remove(instance))
		must(os.WriteFile(tracing+"kprobe_events", nil, 0))
	})
	restores(t)
	dir := t.TempDir()
	hits := func() int64 {
		b, err := os.ReadFile(tracing + "kprobe_profile")
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(string(b))
		if len(f) < 3 {
			t.Fatalf("%q", b)
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, event := range []string{"graph:write_null", "function:write_null"} {
		file := filepath.Join(dir, strings.ReplaceAll(event, ":", "-")+".dat")
		const script = "dd if=/dev/zero of=/dev/null bs=1 count=100; dd if=/dev/zero of=/dev/null bs=1 count=20"
		before := hits()
		args := []string{"record", "-a", "-e", event, "-o", file}
		if strings.HasPrefix(event, "graph") {
			args = append(args, "--depth", "1")
		}
		code, _, said := kprof(t, append(args, "--", "sh", "-c", script)...)
		if code != 0 {
			t.Fatal(said)
		}
		want := hits() - before
		_, folded, said := kprof(t, "report", "--json", file)
		var table struct {
			Total int64
			Rows  []struct {
				Name      string
				Self      int64
				Durations struct{ Count int64 }
			}
		}
		if err := json.Unmarshal([]byte(folded), &table); err != nil {
			t.Fatalf("%v\n%s%s", err, folded, said)
		}
		got := table.Total
		if len(table.Rows) > 0 && table.Rows[0].Durations.Count > 0 {
			got = table.Rows[0].Durations.Count
		}
		if got != want || want < 120 || table.Rows[0].Name != "write_null" {
			t.Errorf("%s: %d calls, the kernel counts %d\n%s", event, got, want, folded)
		}
	}
}

// TestGuestTracerKilled: however a kprof ends, at whatever time, the tracer is as it was, and
// the next one works.
func TestGuestTracerKilled(t *testing.T) {
	was := restores(t)
	times := 3
	if n, err := strconv.Atoi(os.Getenv("KPROF_KILLS")); err == nil {
		times = n
	}
	file := filepath.Join(t.TempDir(), "trace.dat")
	for i := range times {
		sig := unix.SIGKILL
		if i == 0 {
			sig = unix.SIGTERM
		}
		cmd := exec.Command("kprof", "record", "-e", "graph:vfs_write", "--depth", "1", "-o", file)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := rand.N(time.Second)
		time.Sleep(after)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		begun := time.Now()
		for ; tracerState(t) != was; time.Sleep(20 * time.Millisecond) {
			if time.Since(begun) > 10*time.Second {
				t.Fatalf("killed after %v, the tracer is left as\n%s\nin place of\n%s", after, tracerState(t), was)
			}
		}
		t.Logf("%v after %v: as before after %v", sig, after, time.Since(begun))
	}
	// Then one works, and beside it a second: in an instance of its own, or it says who is in
	// its way; and so does one that wants what all tracers share.
	cmd := exec.Command("kprof", "record", "-q", "-a", "-e", "graph:vfs_write", "--depth", "1", "-o", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at, running := runs(t, "function_graph")
	for begun := time.Now(); !running; at, running = runs(t, "function_graph") {
		if time.Sleep(10 * time.Millisecond); time.Since(begun) > 20*time.Second {
			t.Fatal("it does not begin")
		}
	}
	instances := at != tracing+"current_tracer"
	second := filepath.Join(t.TempDir(), "second.dat")
	for depth, refused := range map[string]bool{"1": !instances, "0": true} {
		code, _, said := kprof(t, "record", "-q", "-a", "-e", "graph:vfs_read", "--depth", depth, "-o", second, "--", "true")
		if refused != (code == 1) || refused && (strings.Count(said, "\n") != 1 || !strings.Contains(said, "uses the kernel's tracer")) {
			t.Errorf("the second, with --depth %s: exit code %d\n%s", depth, code, said)
		}
	}
	_, err := exec.Command(dd[0], dd[1:]...).CombinedOutput()
	if err := errors.Join(err, cmd.Process.Signal(unix.SIGINT), cmd.Wait()); err != nil {
		t.Error(err)
	}
	if st, err := os.Stat(file); err != nil || st.Size() == 0 {
		t.Errorf("%v %v", st, err)
	}
}

// tracers are the files that say which tracers run.
func tracers(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(tracing + "instances/*/current_tracer")
	if err != nil {
		t.Fatal(err)
	}
	return append(files, tracing+"current_tracer")
}

// runs reports whether a tracer runs, and in which of its files it says so.
func runs(t *testing.T, tracer string) (file string, ok bool) {
	t.Helper()
	for _, name := range tracers(t) {
		if b, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(b)) == tracer {
			return name, true
		}
	}
	return "", false
}
