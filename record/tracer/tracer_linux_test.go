package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
)

func TestMain(m *testing.M) {
	GuardMain()
	os.Exit(m.Run())
}

// dir is a directory with files.
func dir(t *testing.T, files map[string]string) string {
	t.Helper()
	d := t.TempDir()
	for name, text := range files {
		path := filepath.Join(d, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func text(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestGuard: what is set is put back, by Close or by the guard when its parent is gone, and
// by it alone when there is nobody else; last is first.
func TestGuard(t *testing.T) {
	for _, gone := range []bool{false, true} {
		d := dir(t, map[string]string{"value": "old\n", "list": "# none\n", "clock": "[local] mono\n", "instances/x/file": ""})
		file := func(name string) string { return filepath.Join(d, name) }
		g, err := startGuard(nil)
		if err != nil {
			t.Fatal(err)
		}
		s := settings{guard: g}
		made := file("instance")
		err = errors.Join(s.note(undo{Path: made, Remove: true}), os.Mkdir(made, 0o700),
			s.set(file("value"), "1st"), s.set(file("value"), "2nd"), s.set(file("clock"), "mono"), s.list(file("list"), "a", "b"))
		if err != nil {
			t.Fatal(err)
		}
		if got := text(t, file("list")); got != "a\nb\n" {
			t.Errorf("list %q", got)
		}
		if gone {
			// As the kernel does with a process that has ended.
			if err := errors.Join(g.pipe.Close(), g.cmd.Wait()); err != nil {
				t.Error(err)
			}
		} else if err := s.undo(); err != nil {
			t.Error(err)
		}
		// Files that are none of the kernel's keep what is longer than what is written.
		if got := text(t, file("value")); got != "old\n" {
			t.Errorf("gone %v: value %q", gone, got)
		}
		if got := text(t, file("list")); got != "" {
			t.Errorf("gone %v: list %q", gone, got)
		}
		if got := text(t, file("clock")); !strings.HasPrefix(got, "local\n") {
			t.Errorf("gone %v: clock %q", gone, got)
		}
		if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("gone %v: the instance is there: %v", gone, err)
		}
	}
}

// TestGuardDone: a guard that was let go undoes nothing.
func TestGuardDone(t *testing.T) {
	d := dir(t, map[string]string{"value": "old\n"})
	path := filepath.Join(d, "value")
	var steps bytes.Buffer
	fmt.Fprintf(&steps, "{\"Undo\":{\"Path\":%q,\"Lines\":[\"bad\"]}}\n{\"Done\":true}\n", path)
	_, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if code := watch(&steps, w); code != 0 || text(t, path) != "old\n" {
		t.Errorf("code %d, %q", code, text(t, path))
	}
}

// TestChosen reads what files of one value show.
func TestChosen(t *testing.T) {
	livetest.Table(t, chosen, map[string]string{
		"0\n": "0", "local [global] mono\n": "global", "7 (expanded: 1408)\n": "1408", "nop\n": "nop", "": "", "00000003\n": "00000003",
	})
}

// TestReadList reads lists as they are to be written again.
func TestReadList(t *testing.T) {
	d := dir(t, map[string]string{
		"none": "#### all functions enabled ####\n", "pids": "no pid\n",
		"some": "vfs_read\next4_sync [ext4]\nvfs_write:traceoff:unlimited\n", "two": "12\n13\n",
	})
	for name, want := range map[string][]string{"none": nil, "pids": nil, "some": {"vfs_read", "ext4_sync"}, "two": {"12", "13"}} {
		if got, err := readList(filepath.Join(d, name)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestMask writes sets of CPUs as cpumask_parse reads them.
func TestMask(t *testing.T) {
	for want, cpus := range map[string][]int{"00000003": {0, 1}, "00000001,00000000": {32}, "80000000,00000001,00000010": {95, 32, 4}} {
		if got := mask(cpus); got != want {
			t.Errorf("%v: %s, want %s", cpus, got, want)
		}
	}
}

// TestAddEvent reads events.
func TestAddEvent(t *testing.T) {
	var o Options
	for _, e := range []string{"graph:vfs_read, vfs_write", "graph:ext4_*"} {
		if err := o.AddEvent(e); err != nil || !IsEvent(e) {
			t.Error(err)
		}
	}
	if !slices.Equal(o.Graph, []string{"vfs_read", "vfs_write", "ext4_*"}) || o.tracer() != "function_graph" {
		t.Errorf("%+v", o)
	}
	for _, e := range []string{"graph:", "graph:a,,b", "graph:a b", "graph:!a", "function:a"} {
		o := Options{Graph: []string{"x"}}
		if err := o.AddEvent(e); err == nil {
			t.Errorf("%q: %+v", e, o)
		}
	}
	if IsEvent("ftrace:function") || IsEvent("sched:sched_switch") {
		t.Error("events that are none")
	}
}

// TestCheckFunctions: functions that are not there, and too many of them, are refused.
func TestCheckFunctions(t *testing.T) {
	var all strings.Builder
	for i := range 100 {
		fmt.Fprintf(&all, "fn_%d\n", i)
	}
	fs := tracefs.At(dir(t, map[string]string{"available_filter_functions": all.String() + "mod_fn [mod]\nvfs_read\n"}))
	for _, c := range []struct {
		pattern    string
		everything bool
		want       string
	}{
		{"fn_1*", false, ""}, {"mod_fn", false, ""}, {"*", true, ""},
		{"*", false, "102 of 102 functions"}, {"?n_*", false, "100 of 102"}, {"vfs_raed", false, "did you mean vfs_read?"}, {"[", false, "not a pattern"},
	} {
		err := checkFunctions(fs, []string{c.pattern}, c.everything)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.pattern, err, c.want)
		}
	}
}

// TestUnused: a tracer that somebody uses is refused.
func TestUnused(t *testing.T) {
	for tracer, events := range map[string]string{"nop": "0", "function": "0", "nop\n": "X"} {
		tr := Tracer{dir: dir(t, map[string]string{"current_tracer": tracer + "\n", "events/enable": events + "\n"})}
		err := tr.unused()
		if used := new(InUseError); errors.As(err, &used) != (tracer != "nop" || events != "0") {
			t.Errorf("%q %q: %v", tracer, events, err)
		}
	}
}

// TestLock: what all tracers share is for one at a time, until its guard has ended too.
func TestLock(t *testing.T) {
	d := dir(t, map[string]string{"set_graph_function": ""})
	a, b := Tracer{fs: tracefs.At(d)}, Tracer{fs: tracefs.At(d)}
	for _, tr := range []*Tracer{&a, &b} {
		if err := tr.openLock(); err != nil {
			t.Fatal(err)
		}
		defer tr.lock.Close() // perhaps for the second time
	}
	g, err := startGuard(a.lock) // which has it before it is locked
	if err != nil {
		t.Fatal(err)
	}
	if err := a.takeLock(); err != nil {
		t.Fatal(err)
	}
	used := new(InUseError)
	if err := b.takeLock(); !errors.As(err, &used) {
		t.Errorf("taken twice: %v", err)
	}
	if err := a.lock.Close(); err != nil {
		t.Error(err)
	}
	if err := b.takeLock(); !errors.As(err, &used) {
		t.Errorf("taken while the guard lives: %v", err)
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
	if err := b.takeLock(); err != nil {
		t.Error(err)
	}
}

// TestSpool: pages of several CPUs, written at the same time, come back as they were.
func TestSpool(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size, cpus, pages = 64 << 10, 3, 41
	s := NewSpool(f, size)
	var group sync.WaitGroup
	for cpu := range cpus {
		group.Go(func() {
			for i := range pages * cpu {
				if err := s.WritePage(cpu, bytes.Repeat([]byte{byte(cpu*100 + i)}, size)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for cpu := range cpus {
		r, n, err := s.CPU(cpu)
		if err != nil || n != int64(pages*cpu*size) {
			t.Fatalf("CPU %d: %d bytes, %v", cpu, n, err)
		}
		if r == nil {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil || int64(len(b)) != n {
			t.Fatalf("CPU %d: %d bytes of %d, %v", cpu, len(b), n, err)
		}
		for i, c := range b {
			if want := byte(cpu*100 + i/size); c != want {
				t.Fatalf("CPU %d, byte %d: %d, want %d", cpu, i, c, want)
			}
		}
	}
}

// TestCmdlines: what the kernel has kept goes before what is there now.
func TestCmdlines(t *testing.T) {
	got := cmdlines(fmt.Sprintf("%d kept with blanks\n12345678 <...>\n99999999 gone\n", os.Getpid()))
	if !strings.HasPrefix(got, fmt.Sprintf("%d kept with blanks\n99999999 gone\n", os.Getpid())) || strings.Contains(got, "<...>") ||
		strings.Count(got, fmt.Sprintf("\n%d ", os.Getpid())) != 0 || !strings.Contains(got, "\n1 ") {
		t.Errorf("%s", got)
	}
}

// TestBusy: an instance that something has open is waited for.
func TestBusy(t *testing.T) {
	begun := time.Now()
	u := undo{Path: filepath.Join(t.TempDir(), "none"), Remove: true}
	if err := u.do(); err != nil || time.Since(begun) > busy/2 {
		t.Error(err)
	}
}
