package tracecmd_test

import (
	"bytes"
	"fmt"
	"os"

	"kprof/convert/trace/tracedat"
	"kprof/perfevent/tracecmd"
	"kprof/perfevent/tracetest"
)

// A page of the kernel's ring buffer as a file that trace-cmd reads.
func ExampleFile_Write() {
	m := tracetest.Machine{Long: 8, Page: 4096}
	page := m.Sub(1000, 0, m.Event(1, m.Tick(7, 3)))
	w, err := os.CreateTemp("", "trace-*.dat")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(w.Name())
	defer w.Close()
	f := tracecmd.File{
		PageSize: m.Page, Compress: true, HeaderPage: m.HeaderPage(), Clock: "mono",
		Systems: []tracecmd.System{{Name: "test", Formats: []string{tracetest.Tick}}},
		CPUs:    []tracecmd.CPU{{ID: 2, Pages: bytes.NewReader(page), Size: int64(len(page))}},
	}
	if err := f.Write(w); err != nil {
		fmt.Println(err)
		return
	}
	st, err := w.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	read, err := tracedat.Open(w, st.Size())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer read.Close()
	fmt.Println(read.Formats[0].Name, read.Buffers[0].Clock, read.Buffers[0].CPUs[0].ID)
	// Output: tick mono 2
}
