package tracecmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/trace/tracedat"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/tracecmd"
	"kprof/perfevent/tracetest"
)

// made is a file with n pages of CPU 1 and one of CPU 3, with an event each.
func made(m tracetest.Machine, n int, compress bool) *tracecmd.File {
	var many []byte
	for i := range n {
		many = append(many, m.Sub(uint64(i+1)*1e6, 0, m.Event(1, m.Tick(7, i)))...)
	}
	one := m.Sub(500, 0, m.Event(1, m.Tick(8, 1000)))
	return &tracecmd.File{
		Order: m.Order, PageSize: m.Page, Compress: compress,
		HeaderPage: m.HeaderPage(), HeaderEvent: "# compressed entry header\n",
		Systems:  []tracecmd.System{{Name: "test", Formats: []string{tracetest.Tick}}},
		Kallsyms: []byte("ffffffff81000000 T start\n"), Printk: "0x1 : \"x\"\n", Cmdlines: "7 seven\n8 eight\n",
		Clock: "mono", Uname: "Linux host 6.1 x86_64", Version: "v1", Stats: []string{"CPU: 1\nentries: 0\n"}, NumCPUs: 4,
		CPUs: []tracecmd.CPU{
			{ID: 1, Pages: bytes.NewReader(many), Size: int64(len(many))},
			{ID: 3, Pages: bytes.NewReader(one), Size: int64(len(one))},
		},
	}
}

// written writes a file into a directory of the test.
func written(t *testing.T, f *tracecmd.File) *os.File {
	t.Helper()
	w, err := os.Create(filepath.Join(t.TempDir(), "trace.dat"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := f.Write(w); err != nil {
		t.Fatal(err)
	}
	return w
}

// machines are kinds of kernels.
var machines = map[string]tracetest.Machine{
	"amd64":      {Long: 8, Page: 4096},
	"s390x":      {Order: abi.BigEndian, Long: 8, Page: 4096},
	"64K":        {Long: 8, Page: 64 << 10},
	"subbuffers": {Long: 8, Page: 256 << 10},
}

// TestWrite reads what is written: all texts, and each page.
func TestWrite(t *testing.T) {
	for name, m := range machines {
		for _, compress := range []bool{false, true} {
			t.Run(fmt.Sprint(name, compress), func(t *testing.T) {
				const pages = 37 // no multiple of what is compressed together
				w := written(t, made(m, pages, compress))
				size, err := w.Seek(0, io.SeekEnd)
				if err != nil {
					t.Fatal(err)
				}
				f, err := tracedat.Open(w, size)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if f.Version != 7 || (f.Compression == "zstd") != compress || f.PageSize != m.Page || f.Truncated != nil {
					t.Errorf("version %d, %s, pages of %d, %v", f.Version, f.Compression, f.PageSize, f.Truncated)
				}
				want := made(m, 0, compress)
				if f.HeaderPage != want.HeaderPage || string(f.Kallsyms) != string(want.Kallsyms) || f.Printk != want.Printk || f.Cmdlines != want.Cmdlines ||
					len(f.Formats) != 1 || f.Formats[0].System != "test" || f.Formats[0].Format != tracetest.Tick {
					t.Errorf("%+v", f)
				}
				if o := f.Options; o.Clock != "mono" || o.Uname != want.Uname || o.Version != "v1" || o.CPUs != 4 || len(o.Stats) != 1 || o.Stats[0] != want.Stats[0] {
					t.Errorf("options %+v", o)
				}
				if len(f.Buffers) != 1 || f.Buffers[0].Name != "" || f.Buffers[0].Clock != "mono" || len(f.Buffers[0].CPUs) != 2 {
					t.Fatalf("buffers %+v", f.Buffers)
				}
				b := &f.Buffers[0]
				for i, n := range []int{pages, 1} {
					read := f.Pages(b, b.CPUs[i], 0)
					for j := range n {
						page, err := read.Next()
						want := uint64(j+1) * 1e6
						if i == 1 {
							want = 500
						}
						if err != nil || len(page) != m.Page || m.Order.Uint64(page) != want {
							t.Fatalf("CPU %d, page %d of %d bytes: %v", b.CPUs[i].ID, j, len(page), err)
						}
					}
					if page, err := read.Next(); err != io.EOF {
						t.Errorf("CPU %d: %d bytes more, %v", b.CPUs[i].ID, len(page), err)
					}
				}
			})
		}
	}
}

// TestWriteForTraceCmd has trace-cmd read what is written.
func TestWriteForTraceCmd(t *testing.T) {
	livetest.RequirePrograms(t, "trace-cmd")
	for _, compress := range []bool{false, true} {
		w := written(t, made(machines["amd64"], 37, compress))
		out, err := exec.Command("trace-cmd", "report", "-N", "-i", w.Name()).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != 1+38 || lines[0] != "cpus=4" {
			t.Fatalf("%d lines:\n%s", len(lines), out)
		}
		for i, l := range lines[1:] {
			task, cpu, count := "seven-7", "[001]", i-1
			if i == 0 {
				task, cpu, count = "eight-8", "[003]", 1000
			}
			if f := strings.Fields(l); len(f) < 4 || f[0] != task || f[1] != cpu || !strings.Contains(l, fmt.Sprintf("count=%d", count)) {
				t.Errorf("compressed %v, line %d: %q, want %s %s %d", compress, i, l, task, cpu, count)
			}
		}
	}
}

// TestWriteErrors: what is missing is an error.
func TestWriteErrors(t *testing.T) {
	m := machines["amd64"]
	for name, change := range map[string]func(*tracecmd.File){
		"are no pages of 4096":         func(f *tracecmd.File) { f.CPUs[0].Size-- },
		"of which 4096 bytes are left": func(f *tracecmd.File) { f.CPUs[1].Pages = bytes.NewReader(nil) },
		"pages of 0 bytes":             func(f *tracecmd.File) { f.PageSize = 0 },
	} {
		f := made(m, 2, true)
		change(f)
		w, err := os.Create(filepath.Join(t.TempDir(), "trace.dat"))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(w); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
		w.Close()
		if err := f.Write(w); !errors.Is(err, os.ErrClosed) && name != "pages of 0 bytes" {
			t.Errorf("to a file that is closed: %v", err)
		}
	}
}
