//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/convert/browsertest"
	"kprof/convert/pprof"
	"kprof/convert/pprofui"
	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// viewing is a kprof view that runs.
type viewing struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string // of the pages, without a slash at its end
	home string
	errs strings.Builder
}

// startPprof starts kprof view --pprof.
func startPprof(t *testing.T, path string, args ...string) *viewing {
	t.Helper()
	return startView(t, path, append([]string{"--pprof"}, args...)...)
}

// startView starts kprof view, of which the only program to be found is what is
// in path.
func startView(t *testing.T, path string, args ...string) *viewing {
	t.Helper()
	v := &viewing{t: t, home: t.TempDir()}
	v.cmd = kprof(t, append([]string{"view"}, args...)...)
	v.cmd.Env = append(os.Environ(), "HOME="+v.home, "XDG_CONFIG_HOME="+os.Getenv("KPROF_TEST_CONFIG"), "PPROF_TMPDIR=", "TMPDIR="+v.home, "PATH="+path, "DISPLAY=", "WAYLAND_DISPLAY=")
	v.cmd.Stderr = &v.errs
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if v.cmd.ProcessState == nil {
			v.cmd.Process.Kill()
			v.cmd.Wait()
		}
	})
	if v.addr, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		v.cmd.Wait()
		t.Fatalf("%v, and no address: %s", err, &v.errs)
	}
	v.addr = strings.TrimSuffix(v.addr, "/\n")
	return v
}

// page fetches a page and checks its status and what it holds.
func (v *viewing) page(path string, status int, holds ...string) string {
	v.t.Helper()
	r, err := http.Get(v.addr + path)
	if err != nil {
		v.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		v.t.Fatalf("%s: %v", path, err)
	}
	if r.StatusCode != status {
		v.t.Errorf("%s: status %d, not %d:\n%.500s", path, r.StatusCode, status, b)
	}
	for _, h := range holds {
		if !strings.Contains(string(b), h) {
			v.t.Errorf("%s does not hold %q:\n%.500s", path, h, b)
		}
	}
	return string(b)
}

// end ends the command and returns what it complained about. It must leave
// nothing behind.
func (v *viewing) end(s unix.Signal) string {
	v.t.Helper()
	if err := v.cmd.Process.Signal(s); err != nil {
		v.t.Fatal(err)
	}
	if err := v.cmd.Wait(); err != nil {
		v.t.Errorf("at %v: %v\n%s", s, err, &v.errs)
	}
	if left, err := os.ReadDir(v.home); err != nil || len(left) > 0 {
		v.t.Errorf("left behind: %v %v", left, err)
	}
	return v.errs.String()
}

// viewed writes a profile of kernel and user code, one function of which has a
// source file, and returns its name.
func viewed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "work.c")
	livetest.WriteFile(t, source, "int work(void)\n{\n\treturn toil();\n}\n")
	s := stacks.New(
		stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "cpu-clock.samples", Unit: "count"}, {Type: "cpu-clock", Unit: "nanoseconds"}}},
		stacks.Event{Name: "page-faults", Values: []stacks.ValueType{{Type: "page-faults.samples", Unit: "count"}}},
	)
	add := func(file string, kind stacks.Kind, f stacks.Function, line int64) uint32 {
		m := s.AddMapping(stacks.Mapping{File: file, Kind: kind, Start: 0x1000, Limit: 0x9000, BuildID: "abcd", HasFunctions: true})
		l := s.AddLocation(m, 0x1000+uint64(len(s.Locations)), kind)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(f), Line: line})
		return l
	}
	work := add("/bin/app", stacks.KindUser, stacks.Function{Name: "work", File: source, StartLine: 1}, 3)
	read := add("[kernel.kallsyms]", stacks.KindKernel, stacks.Function{Name: "vfs_read"}, 0)
	unknown := add("[vdso]", stacks.KindVDSO, stacks.Function{Name: "[vdso]"}, 0)
	s.Add(0, s.Intern([]uint32{read, work}), 0, 3, 3e6)
	s.Add(0, s.Intern([]uint32{unknown, work}), 0, 1, 1e6)
	s.Add(1, s.Intern([]uint32{work}), 0, 2)
	return writeSet(t, filepath.Join(dir, "cpu.pb.gz"), s)
}

func writeSet(t *testing.T, name string, s *stacks.Set) string {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := pprof.Write(f, s, pprof.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestViewPprof: every page of pprof holds the functions, without graphviz and without a binary
// that could be asked.
func TestViewPprof(t *testing.T) {
	v := startPprof(t, t.TempDir(), viewed(t))
	all := []string{"work", "vfs_read", "[vdso]"}
	v.page("/", http.StatusOK, append(all, pprofui.GraphNeeds)...)
	v.page("/flamegraph", http.StatusOK, append(all, pprofui.GraphNeeds, "stackViewer")...)
	top := v.page("/top", http.StatusOK, all...)
	if !strings.Contains(top, `"FlatFormat":"3ms"`) {
		t.Errorf("top does not show the time of the first event:\n%s", top[strings.LastIndex(top, "makeTopTable"):])
	}
	v.page("/peek?f=vfs_read", http.StatusOK, "vfs_read", "work", "75.00%")
	v.page("/source?f=work", http.StatusOK, "work", "No source file is read", "???")
	v.page("/top?si=page-faults.samples", http.StatusOK, "work")
	v.page("/graph", http.StatusNotImplemented, pprofui.GraphNeeds)
	v.page("/disasm?f=work", http.StatusForbidden, "kprof view opens no programs or libraries that a profile names, so it does not disassemble")
	v.page("/nothing", http.StatusNotFound)
	if r, err := http.Get(v.addr + "/download"); err != nil {
		t.Error(err)
	} else {
		defer r.Body.Close()
		if s, err := pprof.Read(r.Body); err != nil || len(s.Functions) != 3 {
			t.Errorf("the download: %v", err)
		}
	}
	if errs := v.end(unix.SIGINT); strings.Contains(errs, "work:") || !strings.Contains(errs, pprofui.GraphNeeds) {
		t.Errorf("it says %q", errs)
	}
}

// TestViewGraph: with graphviz there is nothing to say, and the graph is shown.
func TestViewGraph(t *testing.T) {
	bin := t.TempDir()
	const dot = "#!/bin/sh\nwhile read -r line; do :; done\necho '<svg><text>drawn</text></svg>'\n"
	if err := os.WriteFile(filepath.Join(bin, "dot"), []byte(dot), 0o777); err != nil {
		t.Fatal(err)
	}
	v := startPprof(t, bin, "--no-browser", viewed(t))
	v.page("/graph", http.StatusOK, "drawn")
	if page := v.page("/", http.StatusOK, "vfs_read"); strings.Contains(page, pprofui.GraphNeeds) {
		t.Error("the start page asks for graphviz")
	}
	if errs := v.end(unix.SIGTERM); errs != "" {
		t.Errorf("it says %q", errs)
	}
}

// TestViewDifference: inputs of several kinds are added up and bases taken off, or compared.
func TestViewDifference(t *testing.T) {
	dir := t.TempDir()
	folded := func(name, text string) string {
		name = filepath.Join(dir, name)
		livetest.WriteFile(t, name, text)
		return name
	}
	a, b := folded("a", "x;main;left 10\n"), folded("b", "y;main;right 20\n")
	base := folded("base", "x;main;left 10\nx;main;gone 7\n")
	v := startPprof(t, dir, "--http", "127.0.0.1:0", "--diff-base", base, a, b)
	if !strings.HasPrefix(v.addr, "http://127.0.0.1:") {
		t.Errorf("the address is %s", v.addr)
	}
	top := v.page("/top", http.StatusOK, "right", "gone")
	for _, row := range []string{`"Name":"right","InlineLabel":"","Flat":20,"Cum":20`, `"Name":"gone","InlineLabel":"","Flat":-7,"Cum":-7`, `"Name":"main","InlineLabel":"","Flat":0,"Cum":13`} {
		if !strings.Contains(top, row) {
			t.Errorf("top does not hold %s:\n%s", row, top[strings.LastIndex(top, "makeTopTable"):])
		}
	}
	// The listing of source is made from the profiles anew.
	v.page("/source?f=gone", http.StatusOK, "        -7         -7 (flat, cum)")
	v.end(unix.SIGINT)

	// Our page has the comparison that diff writes, and each profile; pprof's has the difference.
	v = startView(t, dir, "--diff-base", base, a, b)
	p := browsertest.Open(t, v.addr+"/", browsertest.View{})
	p.Wait("window.kprof")
	if got := browsertest.Eval[[]string](p, "[...document.querySelectorAll('#tabs a')].map(a => a.textContent)"); !slices.Equal(got, []string{"difference", "a", "b", "base"}) {
		t.Errorf("tabs %q", got)
	}
	page := filepath.Join(dir, "d.html")
	if code, said := runInside(t, "diff", "-n", "200", "-o", page, "--base", base, "--new", a, "--new", b); code > 4 || code == 1 {
		t.Fatal(code, said)
	}
	written := browsertest.OpenFile(t, page, browsertest.View{})
	written.Wait("window.kprof")
	const compared = "JSON.stringify([kprof.p.head.compare, kprof.p.names, kprof.p.events.map(e => e.values.map(v => [...v]))])"
	if got, want := browsertest.Eval[string](p, compared), browsertest.Eval[string](written, compared); got != want || !strings.Contains(want, "gone") {
		t.Errorf("the comparison is\n%s, of diff\n%s", got, want)
	}
	for tab, want := range map[int]int64{1: 10, 2: 20, 3: 17} {
		p.Go(fmt.Sprintf("%s/?tab=%d", v.addr, tab))
		if got := pageTotals(p)["samples"]; got != want {
			t.Errorf("tab %d has %d, want %d", tab, got, want)
		}
	}
	if top := v.page("/pprof/top", http.StatusOK); !strings.Contains(top, `"Name":"gone","InlineLabel":"","Flat":-7,"Cum":-7`) {
		t.Error("pprof's pages have no difference")
	}
	v.end(unix.SIGINT)
}

func TestViewRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, args := range [][]string{{"--http", "8080", "x"}, {"nowhere.pb.gz"}, {"--diff-base", "nowhere.pb.gz", viewed(t)}, {"--http", taken.Addr().String(), viewed(t)}, {"--source", "nowhere", viewed(t)}} {
		out, err := kprof(t, append([]string{"view", "--no-browser"}, args...)...).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "kprof: ") {
			t.Errorf("view %q: %v\n%s", args, err, out)
		}
	}
}
