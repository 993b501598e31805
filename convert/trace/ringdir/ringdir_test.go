package ringdir

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"kprof/perfevent/abi"
	"kprof/perfevent/tracetest"
)

func file(b []byte) *fstest.MapFile { return &fstest.MapFile{Data: b} }

// headerPage is events/header_page of a machine.
func headerPage(m tracetest.Machine) string {
	head := 8 + m.Long
	return fmt.Sprintf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:%d;\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:%d;\tsize:%d;\tsigned:0;\n",
		m.Long, head, m.Page-head)
}

// TestOpen: rings are found by the names of files, and how they are laid out by header_page
// or else by the pages.
func TestOpen(t *testing.T) {
	for _, m := range []tracetest.Machine{
		{Order: abi.LittleEndian, Long: 8, Page: 4096}, {Order: abi.LittleEndian, Long: 4, Page: 4096},
		{Order: abi.BigEndian, Long: 8, Page: 4096}, {Order: abi.BigEndian, Long: 4, Page: 4096},
	} {
		page := m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)), m.Event(20, m.Tick(7, 3)))
		dir := fstest.MapFS{
			"per_cpu/cpu1/trace_pipe_raw":                file(append(page, page[:100]...)),
			"per_cpu/cpu0/trace_pipe_raw":                file(page),
			"per_cpu/cpu2/trace_pipe_raw":                file(nil),
			"per_cpu/cpu1/stats":                         file([]byte("entries: 2")),
			"instances/foo/per_cpu/cpu12/trace_pipe_raw": file(page),
			"x/host-cpu4.raw":                            file(page),
			"cpufreq/notes":                              file([]byte("x")),
			"cpu5.txt":                                   file([]byte("text of it")),
			"events/test/tick/format":                    file([]byte(tracetest.Tick)),
			"formats.txtar":                              file([]byte("a comment\n-- ftrace.function --\n" + tracetest.Function + "-- ftrace.kernel_stack --\n" + tracetest.KernelStack)),
			"saved_cmdlines":                             file([]byte("7 worker\n")),
			"kallsyms":                                   file([]byte("ffffffff81000000 T _text\n")),
		}
		for _, header := range []bool{false, true} {
			if header {
				dir["events/header_page"] = file([]byte(headerPage(m)))
			}
			d, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range d.Rings {
				got = append(got, fmt.Sprintf("%s%d:%d", r.Buffer, r.CPU, r.Size))
			}
			for _, p := range d.Tracing.Tracepoints {
				got = append(got, p.System+":"+p.Name)
			}
			if want := "0:4096 1:4196 4:4096 foo12:4096 test:tick ftrace:function ftrace:kernel_stack"; strings.Join(got, " ") != want {
				t.Errorf("%s, want %s", got, want)
			}
			if l := d.Layout; l.Order != m.Order || l.LongSize != m.Long || l.Size != m.Page || d.Tracing.Order != m.Order || int(d.Tracing.LongSize) != m.Long {
				t.Errorf("header_page %v: %+v, want %+v", header, l, m)
			}
			if d.Tracing.Cmdlines != "7 worker\n" || len(d.Kallsyms) == 0 {
				t.Error("no names")
			}
			p := d.Pages(&d.Rings[1], 1)
			for _, want := range []int{4096, 100} {
				if page, err := p.Next(); len(page) != want || err != nil {
					t.Errorf("%d bytes, %v, want %d", len(page), err, want)
				}
			}
			if _, err := p.Next(); err == nil || err.Error() != "EOF" {
				t.Error(err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestOpenNone(t *testing.T) {
	for _, dir := range []fstest.MapFS{{}, {"cpu": file([]byte("x"))}, {"per_cpu/cpu0/trace_pipe_raw": file(nil)}, {"a/b.dat": file([]byte("x"))}} {
		if _, err := Open(dir); !errors.Is(err, ErrNoPages) {
			t.Errorf("%v: %v", dir, err)
		}
	}
	if _, err := Open(fstest.MapFS{"cpu0": file([]byte("x")), "header_page": file([]byte("nothing"))}); err == nil {
		t.Error("no error of header_page")
	}
}

// TestOpenLarge: of a large directory not all is read; without pages it is none of a tracer's.
func TestOpenLarge(t *testing.T) {
	dir := fstest.MapFS{}
	for i := range maxEntries {
		dir[fmt.Sprintf("m/%d.txt", i)] = file(nil)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNoPages) {
		t.Errorf("without pages: %v", err)
	}
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	dir["a/cpu0"] = file(m.Sub(1000, 0, m.Event(0, m.Tick(7, 1))))
	if _, err := Open(dir); err == nil || errors.Is(err, ErrNoPages) {
		t.Errorf("with pages: %v", err)
	}
}
