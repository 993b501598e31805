package pprof

import (
	"bytes"
	stdcmp "cmp"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// goTool runs a tool of the Go distribution; it fails when that says anything
// on standard error that a profile of ours should not cause.
func goTool(t *testing.T, tool string, args ...string) string {
	t.Helper()
	cmd := exec.Command(livetest.GoTool(t, tool), args...)
	cmd.Env = append(os.Environ(), "PPROF_BINARY_PATH=/nonexistent", "PPROF_TMPDIR="+t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %v: %v\n%s", tool, args, err, errs.String())
	}
	if errs.Len() > 0 {
		t.Errorf("%s %v: standard error: %s", tool, args, errs.String())
	}
	return out.String()
}

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.pb.gz")
	livetest.WriteFile(t, name, data)
	return name
}

func TestToolAccepts(t *testing.T) {
	for seed := range uint64(6) {
		events := oneEvent()
		if seed%2 == 1 {
			events = threeEvents()
		}
		s := randomSet(seed+20, events)
		file := writeFile(t, encode(t, s))
		for _, e := range events {
			for _, v := range e.Values {
				goTool(t, "pprof", "-top", "-sample_index="+v.Type, file)
			}
		}
		raw := goTool(t, "pprof", "-raw", file)
		for _, c := range s.Comments {
			if !strings.Contains(raw, c) {
				t.Errorf("seed %d: no comment %q in -raw", seed, c)
			}
		}
	}
}

// A Set without mappings, as folded stacks make it, is no reason to look for
// binaries either.
func TestToolNoMappings(t *testing.T) {
	s := stacks.New(oneEvent()...)
	l := s.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
	s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "f", SystemName: "f"})})
	s.Add(0, s.Intern([]uint32{l}), 0, 1, 10)
	data := encode(t, s)
	if out := goTool(t, "pprof", "-top", writeFile(t, data)); !strings.Contains(out, "100%  f") {
		t.Error(out)
	}
	got, err := Read(bytes.NewReader(data))
	if err != nil || len(got.Mappings) != 0 {
		t.Errorf("mappings %v, %v", got.Mappings, err)
	}
}

// TestToolNames: pprof shows names as they are, of which it would leave out what is in brackets
// where they have no other name; those that it can make readable it does.
func TestToolNames(t *testing.T) {
	s := stacks.New(oneEvent()...)
	names := []struct{ name, system, shown string }{
		{"<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter", "", ""},
		{"core::ops::function::FnOnce<A>::call_once", "", ""},
		{"a::b::{closure#0}(x)", "", ""},
		{"operator()(int)", "", ""},
		{"std::vector<int>::push_back(int&&)", "", ""},
		{"main.(*T).f", "", ""},
		{"main.F[go.shape.interface { g(int) }]", "", ""},
		{"java.lang.Object.<init>", "", ""},
		{"ns::f(int)", "_ZN2ns1fEi", ""},
		{"_ZN2ns1gEi", "", "ns::g"},
	}
	for i, n := range names {
		l := s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindUnknown)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: n.name, SystemName: stdcmp.Or(n.system, n.name)})})
		s.Add(0, s.Intern([]uint32{l}), 0, 1, 10)
	}
	data := encode(t, s)
	out := goTool(t, "pprof", "-top", "-nodefraction=0", writeFile(t, data))
	got, err := Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if want := "%  " + stdcmp.Or(n.shown, n.name) + "\n"; !strings.Contains(out, want) {
			t.Errorf("pprof does not show %q:\n%s", want, out)
		}
		if !slices.ContainsFunc(got.Functions, func(f stacks.Function) bool { return f.Name == n.name }) {
			t.Errorf("%q is not read again", n.name)
		}
	}
}

func TestToolUI(t *testing.T) {
	bin := livetest.GoTool(t, "pprof") // the tool itself, to be able to end it
	file := writeFile(t, encode(t, wide(2000, 20, 300)))
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(bin, "-http="+addr, "-no_browser", file)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		if s := errs.String(); strings.Contains(strings.ToLower(s), "symboliz") {
			t.Errorf("pprof tried to symbolize: %s", s)
		}
	}()
	for _, page := range []string{"flamegraph", "top"} {
		body := fetch(t, "http://"+addr+"/ui/"+page)
		if !strings.Contains(body, "function_1") {
			t.Errorf("/ui/%s shows no function", page)
		}
	}
}

// fetch waits for the server to come up.
func fetch(t *testing.T, url string) string {
	t.Helper()
	var err error
	for range 1200 { // a minute
		var r *http.Response
		if r, err = http.Get(url); err == nil {
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s, %v", url, r.Status, err)
			}
			return string(b)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal(err)
	return ""
}

// sink keeps burn from being dropped.
var sink uint32

//go:noinline
func burn(n int) (x uint32) {
	for i := range n {
		x = x*1664525 + uint32(i)
	}
	return x
}

// TestPGO takes a CPU profile of this process through a Set: the compiler must
// see the same call graph in it.
func TestPGO(t *testing.T) {
	var cpu bytes.Buffer
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		t.Skip(err)
	}
	// Of 100 samples a second of CPU time, 40 are to be expected.
	for begun := livetest.CPUTime(t); livetest.CPUTime(t)-begun < 400*time.Millisecond; {
		sink += burn(1e6)
	}
	pprof.StopCPUProfile()
	s, err := Read(bytes.NewReader(cpu.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if want := []stacks.Event{{Name: "cpu", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}}; !cmp.Equal(s.Events, want) {
		t.Errorf("events %+v", s.Events)
	}
	dir := t.TempDir()
	preprofile := func(name string, data []byte) string {
		out := filepath.Join(dir, name)
		goTool(t, "preprofile", "-i", writeFile(t, data), "-o", out)
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := preprofile("go", cpu.Bytes())
	got := preprofile("ours", encode(t, s))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got, "burn") {
		t.Errorf("no burn in\n%s", got)
	}
}
