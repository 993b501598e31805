package abi_test

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/memtest"
)

// fullAttr has a different value in each field.
func fullAttr() abi.Attr {
	return abi.Attr{
		Type: abi.TypeTracepoint, Size: abi.AttrSizeVer9, Config: 0x1122334455667788, SamplePeriod: 4000,
		SampleType: abi.SampleIP | abi.SampleTID | abi.SampleIdentifier, ReadFormat: abi.ReadID | abi.ReadLost,
		Flags:  (abi.FlagDisabled | abi.FlagSampleIDAll | abi.FlagBuildID | abi.FlagSigtrap).WithPrecise(2),
		Wakeup: 17, BPType: 3, Config1: 0x1001, Config2: 0x1002, BranchSampleType: abi.BranchHWIndex,
		SampleRegsUser: 0xff0fff, SampleStackUser: 8192, ClockID: -7, SampleRegsIntr: 0xf,
		AuxWatermark: 4096, SampleMaxStack: 127, AuxSampleSize: 65536, AuxAction: 1,
		SigData: 0xabcdef, Config3: 33, Config4: 44,
	}
}

func TestAttrRoundTrip(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		want := fullAttr()
		b := want.AppendTo(nil, o)
		got, n, err := abi.DecodeAttr(append(b, "rest"...), o)
		if err != nil || n != len(b) {
			t.Fatalf("%v: DecodeAttr = %d bytes, %v; want %d", o, n, err, len(b))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v: -want +got\n%s", o, d)
		}
	}
}

// TestAttrFromKernelLayout decodes bytes laid out by hand after struct
// perf_event_attr: one as gcc lays it out on x86, and the same as on a big-endian
// machine, where bit fields start at the top.
func TestAttrFromKernelLayout(t *testing.T) {
	const (
		little = "01000000" + "40000000" + "0200000000000000" + "e803000000000000" +
			"0700000000000000" + "0400000000000000" + "0300010000000000" + "00000000" + "00000000" + "0000000000000000"
		// disabled and inherit are the two highest bits, precise_ip = 2 the
		// bits 48 and 47 from the bottom, in their own order.
		big = "00000001" + "00000040" + "0000000000000002" + "00000000000003e8" +
			"0000000000000007" + "0000000000000004" + "c001000000000000" + "00000000" + "00000000" + "0000000000000000"
	)
	want := abi.Attr{
		Type: abi.TypeSoftware, Size: 64, Config: abi.SWPageFaults, SamplePeriod: 1000,
		SampleType: abi.SampleIP | abi.SampleTID | abi.SampleTime, ReadFormat: abi.ReadID,
		Flags: (abi.FlagDisabled | abi.FlagInherit).WithPrecise(2),
	}
	for o, text := range map[abi.Order]string{abi.LittleEndian: little, abi.BigEndian: big} {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		got, n, err := abi.DecodeAttr(b, o)
		if err != nil || n != 64 {
			t.Fatalf("%v: DecodeAttr = %d bytes, %v", o, n, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v: -want +got\n%s", o, d)
		}
	}
}

func TestAttrSizes(t *testing.T) {
	b := make([]byte, 5000)
	for _, tt := range []struct {
		says uint32
		have int
		n    int // decoded size, 0 for an error
	}{
		{0, 64, 64},        // the first files left it out
		{72, 72, 72},       // a version between
		{144, 200, 144},    // the newest known
		{200, 200, 200},    // a newer one
		{63, 144, 0},       // too small
		{4096, 5000, 4096}, // as large as the kernel takes
		{4097, 5000, 0},    // larger than the kernel takes
		{1 << 31, 200, 0},  // nonsense
		{112, 111, 0},      // cut
		{64, 63, 0},
	} {
		copy(b, make([]byte, 64))
		for i, x := range abi.LittleEndian.AppendUint32(nil, tt.says) {
			b[4+i] = x
		}
		_, n, err := abi.DecodeAttr(b[:tt.have], abi.LittleEndian)
		if n != tt.n || (err == nil) != (tt.n > 0) {
			t.Errorf("size %d in %d bytes: %d, %v; want %d", tt.says, tt.have, n, err, tt.n)
		}
	}
}

func TestAttrName(t *testing.T) {
	for want, a := range map[string]abi.Attr{
		"cpu-clock":             {Type: abi.TypeSoftware, Config: abi.SWCPUClock},
		"cycles:u":              {Type: abi.TypeHardware, Flags: abi.FlagExcludeKernel | abi.FlagExcludeHV},
		"instructions:ppp":      {Type: abi.TypeHardware, Config: abi.HWInstructions, Flags: abi.Flags(0).WithPrecise(3)},
		"cycles:kh":             {Type: abi.TypeHardware, Flags: abi.FlagExcludeUser},
		"cycles:G":              {Type: abi.TypeHardware, Flags: abi.FlagExcludeHost},
		"cycles":                {Type: abi.TypeHardware, Config: 4 << 32}, // of a hybrid machine's PMU
		"L1-dcache-load-misses": {Type: abi.TypeHWCache, Config: 0x10000},
		"LLC-stores":            {Type: abi.TypeHWCache, Config: 0x102},
		"raw 0x1a8":             {Type: abi.TypeRaw, Config: 0x1a8},
		"mem:0x1000:rw":         {Type: abi.TypeBreakpoint, Config1: 0x1000, Config2: 8, BPType: 3},

		// Config 2<<8 is a prefetch; what lies behind the last name of each part has none.
		"LLC-prefetches":                    {Type: abi.TypeHWCache, Config: 0x202},
		"LLC-prefetch-misses":               {Type: abi.TypeHWCache, Config: 0x10202},
		"L1-icache-loads":                   {Type: abi.TypeHWCache, Config: 1},
		"invalid-cache":                     {Type: abi.TypeHWCache, Config: 0x101},
		"unknown-ext-hardware-cache-type":   {Type: abi.TypeHWCache, Config: 7},
		"unknown-ext-hardware-cache-op":     {Type: abi.TypeHWCache, Config: 0x300},
		"unknown-ext-hardware-cache-result": {Type: abi.TypeHWCache, Config: 0x20000},
		"unknown-hardware":                  {Type: abi.TypeHardware, Config: abi.HWRefCPUCycles + 1},
		"unknown-software":                  {Type: abi.TypeSoftware, Config: abi.SWCgroupSwitches + 1},
		"cycles:uH":                         {Type: abi.TypeHardware, Flags: abi.FlagExcludeKernel | abi.FlagExcludeHV | abi.FlagExcludeGuest},
		"ref-cycles":                        {Type: abi.TypeHardware, Config: abi.HWRefCPUCycles, Flags: abi.FlagExcludeGuest},

		// Linux 7.0, evsel__name
		"unknown tracepoint id=0x141":       {Type: abi.TypeTracepoint, Config: 321},
		"unknown event PMU=12 config=0x203": {Type: 12, Config: 0x203, Flags: abi.FlagExcludeKernel},

		// what perf 6.1 has no names for
		"bpf-output":      {Type: abi.TypeSoftware, Config: abi.SWBPFOutput},
		"cgroup-switches": {Type: abi.TypeSoftware, Config: abi.SWCgroupSwitches},
	} {
		if got := a.Name(); got != want {
			t.Errorf("Name = %q, want %q", got, want)
		}
	}
}

func FuzzDecodeAttr(f *testing.F) {
	a := fullAttr()
	f.Add(a.AppendTo(nil, abi.LittleEndian), false)
	f.Add(a.AppendTo(nil, abi.BigEndian), true)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		defer memtest.Within(t, 1<<20+500*len(b))()
		o := abi.LittleEndian
		if big {
			o = abi.BigEndian
		}
		a, _, err := abi.DecodeAttr(b, o)
		if err != nil {
			return
		}
		again, _, err := abi.DecodeAttr(a.AppendTo(nil, o), o)
		if err != nil {
			t.Fatal(err)
		}
		a.Size, again.Size = 0, 0
		if d := cmp.Diff(a, again); d != "" {
			t.Errorf("encoded and decoded again: -first +second\n%s", d)
		}
	})
}
