package trace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/trace"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/tracetest"
)

// TestDir: pages in a directory are read as a trace.dat with the same pages is.
func TestDir(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	d := file(m, 6, "")
	d.Options = d.Options[:2]
	dat, dir := written(t, string(d.Bytes())), t.TempDir()
	files := map[string]string{
		"events/ftrace/function/format": tracetest.Function, "events/ftrace/kernel_stack/format": tracetest.KernelStack,
		"events/ftrace/user_stack/format": tracetest.UserStack, "events/test/tick/format": tracetest.Tick,
		"kallsyms": symbols, "saved_cmdlines": d.Cmdlines,
	}
	for i, b := range d.Buffers {
		under := ""
		if i > 0 {
			under = "instances/" + b.Name + "/"
		}
		for cpu, pages := range b.CPUs {
			files[fmt.Sprintf("%sper_cpu/cpu%d/trace_pipe_raw", under, cpu)] = string(slices.Concat(pages...))
		}
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, name, text)
	}
	o, po := listing.Options{Stacks: true}, listing.PrinterOptions{Stacks: true}
	o.Unnamed = true // what is mapped into processes only trace-cmd tells
	if got, want := list(t, dir, o, po), list(t, dat, o, po); got != want || got == "" {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := folded(t, dir, "test:tick", 0, convert.Options{}), folded(t, dat, "test:tick", 0, convert.Options{}); !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("%q, want %q", got, want)
	}
	if err := os.RemoveAll(filepath.Join(dir, "per_cpu")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "instances")); err != nil {
		t.Fatal(err)
	}
	if _, err := convert.Open(context.Background(), dir, convert.Options{}); err == nil {
		t.Error("no error without pages")
	}
}

// TestDirTicks: times of a clock that does not count ns are told to be its ticks, as of a trace.dat, if
// there are pages of the buffer that has it.
func TestDirTicks(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	page := &fstest.MapFile{Data: m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)))}
	for _, tt := range []struct {
		dir  fstest.MapFS
		want string
	}{
		{fstest.MapFS{"per_cpu/cpu0/trace_pipe_raw": page}, ""},
		{fstest.MapFS{"per_cpu/cpu0/trace_pipe_raw": page, "trace_clock": {Data: []byte("[local] global counter x86-tsc\n")}}, ""},
		{fstest.MapFS{"per_cpu/cpu0/trace_pipe_raw": page, "trace_clock": {Data: []byte("local global counter [x86-tsc]\n")}}, "x86-tsc"},
		{fstest.MapFS{"a/cpu0": page, "a/trace_clock": {Data: []byte("uptime")}}, "uptime"},
		{fstest.MapFS{"per_cpu/cpu0/trace_pipe_raw": page, "instances/foo/trace_clock": {Data: []byte("[counter]")}}, ""},
		{fstest.MapFS{"instances/foo/per_cpu/cpu0/trace_pipe_raw": page, "instances/foo/trace_clock": {Data: []byte("local [counter]")}, "trace_clock": {Data: []byte("[local]")}}, "counter"},
	} {
		tt.dir["events/test/tick/format"] = &fstest.MapFile{Data: []byte(tracetest.Tick)}
		r, err := trace.OpenDir(context.Background(), tt.dir, false)
		if err != nil {
			t.Fatal(err)
		}
		if clock, ticks := r.Ticks(); clock != tt.want || ticks != (tt.want != "") {
			t.Errorf("%v: %q, %v", tt.dir, clock, ticks)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// FuzzOpenDir looks for what panics, does not end or takes much memory.
func FuzzOpenDir(f *testing.F) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	f.Add(m.Sub(1000, 0, m.Event(0, m.Tick(7, 1))), "", tracetest.Tick)
	f.Add(m.Sub(1000, 3, m.Event(0, m.Enter(7, 1, 0)), m.Event(0, m.Leave(7, 1, 0, 5, 9))), "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n", tracetest.GraphEntry)
	f.Fuzz(func(t *testing.T, page []byte, header, text string) {
		dir := fstest.MapFS{
			"cpu0": {Data: page}, "header_page": {Data: []byte(header)}, "a/b/format": {Data: []byte(text)},
			"ftrace/x/format": {Data: []byte(tracetest.GraphExit)}, "more.txtar": {Data: []byte(header + text)},
		}
		for _, lines := range []bool{false, true} {
			r, err := trace.OpenDir(context.Background(), dir, lines)
			if err != nil {
				return
			}
			decode(t, r)
			r.Close()
		}
	})
}
