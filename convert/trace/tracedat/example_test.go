package tracedat_test

import (
	"bytes"
	"fmt"

	"kprof/convert/trace/tracedat"
	"kprof/perfevent/tracetest"
)

func Example() {
	m := tracetest.Machine{Long: 8, Page: 4096}
	b := (&tracetest.Dat{
		Machine: m, Version: 7, Compression: "zstd",
		Systems: []tracetest.System{{Name: "test", Formats: []string{tracetest.Tick}}},
		Buffers: []tracetest.Instance{{Clock: "mono", CPUs: [][][]byte{{m.Sub(1000, 0), m.Sub(2000, 0)}}}},
	}).Bytes()
	f, err := tracedat.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	fmt.Println("version", f.Version, f.Compression, f.Formats[0].Name)
	buffer := &f.Buffers[0]
	pages := f.Pages(buffer, buffer.CPUs[0], 0)
	for {
		page, err := pages.Next()
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(buffer.Clock, buffer.CPUs[0].ID, f.Order.Uint64(page))
	}
	// Output:
	// version 7 zstd tick
	// mono 0 1000
	// mono 0 2000
	// EOF
}
