package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/span"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// heldEvents records events of two fields, "key" and "size", of which each hit is
// {time, event, key, size}.
func heldEvents(t *testing.T, rule string, pageSize uint32, names [][2]string, fields [2]string, hits [][4]uint64) (rows []string, st span.Stats) {
	t.Helper()
	text := "comm t=1 pid=7 comm=seven\n"
	formats := &perfdata.TracingData{Version: "0.6", Order: abi.LittleEndian, LongSize: 8, PageSize: pageSize, HeaderPage: "\n", HeaderEvent: "\n"}
	for i, n := range names {
		text = fmt.Sprintf("event %s:%s type=tracepoint config=%d period=1 ids=%d sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all\n", n[0], n[1], i+1, i+1) + text
		formats.Tracepoints = append(formats.Tracepoints, perfdata.Tracepoint{System: n[0], Name: n[1], ID: uint64(i + 1), Format: fmt.Sprintf("name: %s\nID: %d\nformat:\n"+
			"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"+
			"\tfield:unsigned long %s;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:unsigned long %s;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:long ret;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:unsigned long new_len;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n", n[1], i+1, fields[0], fields[1])})
	}
	for _, h := range hits {
		o := abi.LittleEndian
		raw := o.AppendUint64(o.AppendUint64(o.AppendUint64(nil, 0), h[2]), h[3])
		text += fmt.Sprintf("sample t=%d pid=7 id=%d raw=%x kernel 0xffffffff8100000a\n", h[0], h[1], raw)
	}
	rec := perftext.MustParse(text)
	rec.Features.TracingData = formats.AppendTo(nil)
	whole, err := rec.Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	s, stats, err := convertBytes(whole, false, Options{Selection: Selection{Spans: mustRules(t, rule)}})
	if err != nil {
		t.Fatal(err)
	}
	return spanRows(s), stats.Spans[0].Stats
}

// TestHeldPages: pages are as large as the machine's; where there was none nothing is held.
func TestHeldPages(t *testing.T) {
	for _, tc := range []struct {
		size      uint32
		all, held int
	}{{4096, 9 * 4096, 8 * 4096}, {65536, 9 * 65536, 8 * 65536}} {
		rows, st := heldEvents(t, "span:pages", tc.size, [][2]string{{"kmem", "mm_page_alloc"}, {"kmem", "mm_page_free"}}, [2]string{"pfn", "order"}, [][4]uint64{
			{10, 1, 100, 0}, {11, 1, 200, 2}, {12, 1, 300, 2}, {13, 1, ^uint64(0), 4}, {20, 2, 100, 0}, {21, 2, 999, 0},
		})
		all, held := 0, 0
		for _, r := range rows { // one for each order
			var n, a, m, b int
			_, values, _ := strings.Cut(r, "[")
			if _, err := fmt.Sscanf(values, "%d %d %d %d]", &n, &a, &m, &b); err != nil {
				t.Fatalf("%q: %v", r, err)
			}
			all, held = all+a, held+b
		}
		if all != tc.all || held != tc.held || (st != span.Stats{Ended: 1, Unbegun: 1}) {
			t.Errorf("%d: %q, %+v", tc.size, rows, st)
		}
	}
}

// TestHeldCache: kfree takes back what a cache gave, and is no end without a start where it
// takes what kmalloc gave.
func TestHeldCache(t *testing.T) {
	rows, st := heldEvents(t, "span:kmem_cache", 4096, [][2]string{{"kmem", "kmem_cache_alloc"}, {"kmem", "kmem_cache_free"}, {"kmem", "kfree"}}, [2]string{"ptr", "bytes_alloc"}, [][4]uint64{
		{10, 1, 0x100, 64}, {11, 1, 0x200, 64}, {12, 1, 0x300, 32}, {20, 2, 0x100, 0}, {21, 3, 0x200, 0}, {22, 3, 0x900, 0},
	})
	if want := []string{"span:kmem_cache 0xa seven [3 160 1 32]"}; !slices.Equal(rows, want) || (st != span.Stats{Ended: 2}) {
		t.Errorf("%q, %+v", rows, st)
	}
}

// TestHeldMaps: what mmap gave and munmap has not taken back; a call that failed gave nothing,
// and what mremap moved is as long as it is then. One that fails takes back nonetheless, and
// the addresses of 32 bits are those that munmap gets. A process that ends has not unmapped.
func TestHeldMaps(t *testing.T) {
	var events [][2]string
	for _, e := range []string{"enter_mmap", "exit_mmap", "enter_mremap", "exit_mremap", "enter_munmap", "enter_mmap_pgoff", "exit_mmap_pgoff"} {
		events = append(events, [2]string{"syscalls", "sys_" + e})
	}
	failed := ^uint64(11) // -ENOMEM
	for _, tc := range []struct {
		hits  [][4]uint64
		want  string
		stats span.Stats
	}{
		{[][4]uint64{
			{10, 1, 0, 4096}, {11, 2, 0x7f0000001000, 0}, {12, 1, 0, 8192}, {13, 2, 0x7f0000005000, 0},
			{14, 1, 0, 1 << 40}, {15, 2, failed, 0}, {20, 5, 0x7f0000001000, 4096}, {21, 5, 0x1000, 4096},
		}, "[2 12288 1 8192]", span.Stats{Ended: 1, Unbegun: 1}},
		{[][4]uint64{
			{10, 1, 0, 4096}, {11, 2, 0x7f0000001000, 0}, {12, 3, 0x7f0000001000, 65536}, {13, 4, 0x7f0000100000, 0},
			{20, 1, 0, 4096}, {21, 2, 0x7f0000001000, 0}, {22, 5, 0x7f0000001000, 4096},
		}, "[3 73728 1 65536]", span.Stats{Ended: 2}},
		{[][4]uint64{
			{10, 1, 0, 4096}, {11, 2, 0x7f0000001000, 0}, {12, 3, 0x7f0000001000, 65536}, {13, 4, failed, 0},
			{20, 1, 0, 8192}, {21, 2, 0x7f0000002000, 0},
		}, "[2 12288 1 8192]", span.Stats{Ended: 1}},
		{[][4]uint64{
			{10, 6, 0, 4096}, {11, 7, 0xffffffffb7f00000, 0}, {12, 6, 0, 8192}, {13, 7, 0x08100000, 0}, {14, 6, 0, 1 << 30}, {15, 7, failed, 0},
			{20, 5, 0xb7f00000, 4096}, {21, 3, 0x08100000, 16384}, {22, 4, 0xffffffffb6000000, 0}, {23, 5, 0xb6000000, 16384},
		}, "[3 28672 0 0]", span.Stats{Ended: 3}},
	} {
		rows, st := heldEvents(t, "span:mmap", 4096, events, [2]string{"addr", "len"}, tc.hits)
		if want := []string{"span:mmap 0xa seven " + tc.want}; !slices.Equal(rows, want) || st != tc.stats {
			t.Errorf("%q, want %q, %+v", rows, want, st)
		}
	}
}

// TestHolds: any two events may be taking and giving back.
func TestHolds(t *testing.T) {
	rows, st := heldEvents(t, "span:x:get..x:put by handle holds size * 2", 4096, [][2]string{{"x", "get"}, {"x", "put"}}, [2]string{"handle", "size"}, [][4]uint64{
		{10, 1, 1, 10}, {11, 1, 2, 20}, {12, 2, 1, 0},
	})
	if want := []string{"span:x:get..x:put by handle 0xa seven [2 60 1 40]"}; !slices.Equal(rows, want) || (st != span.Stats{Ended: 1}) {
		t.Errorf("%q, %+v", rows, st)
	}
}
