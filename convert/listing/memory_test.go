package listing

import (
	"testing"

	"kprof/convert/samples"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// TestDataSource compares with what perf script 6.1 prints of these numbers, as far as its 100
// bytes reach. It has "N/A or" before a level of which the kernel says also that it is none,
// which perf leaves out from 6.4 on.
func TestDataSource(t *testing.T) {
	const lvl, num, remote, fwd = 5, 33, 1 << 37, 1 << 38
	for _, tt := range []struct {
		src  uint64
		want string
	}{
		{0x182820042, "|OP LOAD|LVL I/O hit|SNP HitM|TLB Walker or Fault|LCK Yes|BLK  N/A"},
		{0x2397e0200081, "|OP N/A|LVL board Any cache miss|SNP Hit or Peer|TLB L1 or L2 or Walker or Fault|LCK No|BLK  N/A"},
		{0x232879880080, "|OP No|LVL Remote board L4 miss|SNP N/A or HitM|TLB L1 or L2 hit miss|LCK N/A|BLK  N/A"},
		{0x10080002080, "|OP No|LVL Remote RAM (1 hop) miss|SNP N/A|TLB Walker|LCK No|BLK  N/A"},
		{0x5411caa0888, "|OP PFETCH|LVL L3 or I/O miss|SNP N/A or Hit or HitM or Fwd|TLB N/A or Fault hit miss|LCK No|BLK  N/A"},
		{0x1e05080021, "|OP N/A|LVL N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"}, // PERF_MEM_NA
		{0x64160a81062, "|OP LOAD|LVL Local RAM hit|SNP N/A or Hit or HitM or Fwd|TLB L1 or L2 or Fault|LCK No|BLK  Data Addr"},
		// tools/perf/tests/mem.c
		{lvlHit<<lvl | 4<<num, "|OP No|LVL L4 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A"},
		{lvlMiss<<lvl | 14<<num | remote, "|OP No|LVL Remote PMEM miss|SNP N/A|TLB N/A|LCK No|BLK  N/A"},
		{lvlMiss<<lvl | 13<<num | remote | fwd, "|OP No|LVL Remote RAM miss|SNP Fwd|TLB N/A|LCK No|BLK  N/A"},
		{lvlHit<<lvl | 7<<num, "|OP No|LVL L0 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A"}, // include/uapi/linux/perf_event.h since 7.0
		{lvlHit<<lvl | 15<<num, "|OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A"},   // PERF_MEM_LVLNUM_NA
	} {
		if got := string(appendDataSource(nil, tt.src)); got != tt.want {
			t.Errorf("%#x:\n%s, want\n%s", tt.src, got, tt.want)
		}
	}
}

// TestMemoryColumns checks all columns about accesses to memory, in each format.
func TestMemoryColumns(t *testing.T) {
	e := &Event{
		Kind: &Kind{Event: &perfdata.Event{}},
		Sample: &samples.Sample{Sample: abi.Sample{Weight: 9<<48 | 8<<32 | 7, DataSrc: 0x182820042, Addr: 0x1000, PhysAddr: 0x2000,
			DataPageSize: 2 << 20, CodePageSize: 4096}},
	}
	e.Kind.Event.Attr.SampleType = abi.SampleAddr | abi.SampleDataSrc | abi.SampleWeightStruct | abi.SamplePhysAddr | abi.SampleDataPageSize | abi.SampleCodePageSize
	selected, err := ParseColumns("addr,data_src,weight,ins_lat,retire_lat,phys_addr,data_page_size,code_page_size")
	if err != nil {
		t.Fatal(err)
	}
	if lacks := e.Kind.lacks() & selected.Add; lacks != 0 {
		t.Errorf("the event lacks %q", lacks.Names())
	}
	if e.Kind.Event.Attr.SampleType = abi.SampleWeight; e.Kind.lacks()&selected.Add != selected.Add&^Weight {
		t.Errorf("with a weight alone, the event lacks %q", (e.Kind.lacks() & selected.Add).Names())
	}
	e.Kind.Event.Attr.SampleType = abi.SampleWeightStruct
	k := &shown{kind: e.Kind, columns: selected.Add}
	f := &formatter{header: selected.Add}
	text := string(k.appendMore(f.appendText(nil, e, k, 0), e))
	const src = "|OP LOAD|LVL I/O hit|SNP HitM|TLB Walker or Fault|LCK Yes|BLK  N/A"
	if want := "            1000       182820042 " + src + "               7               8               9            2000 2M 4K"; text != want {
		t.Errorf("text\n%q, want\n%q", text, want)
	}
	if got, want := string(f.appendCSV(nil, e, k, 0)), "0x1000,"+src+",7,8,9,0x2000,2097152,4096"; got != want {
		t.Errorf("CSV\n%q, want\n%q", got, want)
	}
	if got, want := string(f.appendJSON(nil, e, k, 0)), `{"addr":"0x1000","data_src":"`+src+`","weight":7,"ins_lat":8,"retire_lat":9,"phys_addr":"0x2000","data_page_size":2097152,"code_page_size":4096`; got != want {
		t.Errorf("JSON\n%s, want\n%s", got, want)
	}
	for _, size := range []struct {
		bytes uint64
		want  string
	}{{0, "N/A"}, {4 << 10, "4K"}, {64 << 10, "64K"}, {2 << 20, "2M"}, {1 << 30, "1024M"}, {16 << 30, "16G"}} { // unit_number__scnprintf
		if got := string(appendPageSize(nil, size.bytes)); got != size.want {
			t.Errorf("a page of %d bytes is %s, want %s", size.bytes, got, size.want)
		}
	}
}
