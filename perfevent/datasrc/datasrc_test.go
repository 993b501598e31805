package datasrc

import "testing"

// TestDataSource compares with what perf script 6.1 prints of these numbers, as far as its 100
// bytes reach. It has "N/A or" before a level of which the kernel says also that it is none,
// which perf leaves out from 6.4 on.
func TestDataSource(t *testing.T) {
	const lvl, num, remote, fwd = 5, 33, 1 << 37, 1 << 38
	for _, tt := range []struct {
		src  Source
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
		if got := string(tt.src.AppendTo(nil)); got != tt.want {
			t.Errorf("%#x:\n%s, want\n%s", tt.src, got, tt.want)
		}
	}
}

// TestParts: each part is what stands behind its bar in all of them.
func TestParts(t *testing.T) {
	const src Source = 0x182820042 // as perf has it, above
	for i, want := range [...]string{"mem_op LOAD", "mem_lvl I/O hit", "mem_snoop HitM", "mem_dtlb Walker or Fault", "mem_lock Yes", "mem_blk N/A"} {
		if got := Parts[i].String() + " " + string(src.AppendPart(nil, Parts[i])); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for blk, want := range [...]string{"N/A", "N/A", "Data", "N/A", "Addr", "N/A", "Data Addr", "N/A"} {
		if got := string((Source(blk) << 40).AppendPart(nil, Block)); got != want {
			t.Errorf("blocked %d: %q, want %q", blk, got, want)
		}
	}
}

// TestCosts: without the structure all bits are the weight.
func TestCosts(t *testing.T) {
	const weight = 9<<48 | 8<<32 | 7
	if all, instruction, retire := Costs(weight, true); all != 7 || instruction != 8 || retire != 9 {
		t.Errorf("%d, %d, %d", all, instruction, retire)
	}
	if all, instruction, retire := Costs(weight, false); all != weight || instruction != 0 || retire != 0 {
		t.Errorf("%d, %d, %d of a weight alone", all, instruction, retire)
	}
}

// TestPageSize has them as unit_number__scnprintf has.
func TestPageSize(t *testing.T) {
	for _, size := range []struct {
		bytes uint64
		want  string
	}{{0, "N/A"}, {4 << 10, "4K"}, {64 << 10, "64K"}, {2 << 20, "2M"}, {1 << 30, "1024M"}, {16 << 30, "16G"}} { // unit_number__scnprintf
		if got := string(AppendPageSize(nil, size.bytes)); got != size.want {
			t.Errorf("a page of %d bytes is %s, want %s", size.bytes, got, size.want)
		}
	}
}
