package event

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// mustSpec is an event that can be parsed.
func mustSpec(t testing.TB, text string) Spec {
	t.Helper()
	spec, err := ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestParseSpec(t *testing.T) {
	sw := func(config uint64) Spec { return Spec{Kind: KindNumbered, Type: abi.TypeSoftware, Config: config} }
	hw := func(config uint64) Spec { return Spec{Kind: KindNumbered, Type: abi.TypeHardware, Config: config} }
	cache := func(config uint64) Spec { return Spec{Kind: KindNumbered, Type: abi.TypeHWCache, Config: config} }
	tp := func(system, name string) Spec { return Spec{System: system, Name: name} }
	mem := func(addr, length uint64, access AccessType) Spec {
		return Spec{Kind: KindBreakpoint, Breakpoint: Breakpoint{addr, length, access}}
	}
	probe := func(p Probe) Spec { return Spec{Kind: KindProbe, Probe: p} }
	mods := func(s Spec, f abi.Flags) Spec { s.Modifiers.Flags = f; return s }

	const user = abi.FlagExcludeKernel | abi.FlagExcludeHV
	tests := []struct {
		text string
		want Spec
	}{
		{"cpu-clock", sw(abi.SWCPUClock)},
		{"faults", sw(abi.SWPageFaults)},
		{"cs", sw(abi.SWContextSwitches)},
		{"migrations", sw(abi.SWCPUMigrations)},
		{"bpf-output", sw(abi.SWBPFOutput)},
		{"cgroup-switches", sw(abi.SWCgroupSwitches)},
		{"branches", hw(abi.HWBranchInstructions)},
		{"idle-cycles-backend", hw(abi.HWStalledCyclesBackend)},
		{"cycles:u", mods(hw(abi.HWCPUCycles), user)},
		{"cycles:uk", mods(hw(abi.HWCPUCycles), abi.FlagExcludeHV)},
		{"cycles:ppp", mods(hw(abi.HWCPUCycles), abi.Flags(0).WithPrecise(3))},
		{"cycles:kD", mods(hw(abi.HWCPUCycles), abi.FlagExcludeUser|abi.FlagExcludeHV|abi.FlagPinned)},
		{"cycles:P", func() Spec { s := hw(abi.HWCPUCycles); s.Modifiers.MostPrecise = true; return s }()},
		{"cycles:uIe", mods(hw(abi.HWCPUCycles), user|abi.FlagExcludeIdle|abi.FlagExclusive)},
		{"cycles/period=1000/u", func() Spec { s := mods(hw(abi.HWCPUCycles), user); s.Period = 1000; return s }()},
		{"cpu-clock/freq=99,name=tick/", func() Spec { s := sw(abi.SWCPUClock); s.Frequency = 99; s.DisplayName = "tick"; return s }()},
		{"L1-dcache-load-misses", cache(0 | 0<<8 | 1<<16)},
		{"LLC-misses", cache(2 | 1<<16)},
		{"dTLB-prefetch-misses", cache(3 | 2<<8 | 1<<16)},
		{"L1-dcache-misses-stores", cache(0 | 1<<8 | 1<<16)},
		{"branch-loads", cache(5)},
		{"r1a8", Spec{Kind: KindNumbered, Type: abi.TypeRaw, Config: 0x1a8}},
		{"r0x1A8:u", mods(Spec{Kind: KindNumbered, Type: abi.TypeRaw, Config: 0x1a8}, user)},
		{"sched:sched_switch", tp("sched", "sched_switch")},
		{"sched:*", tp("sched", "*")},
		{"syscalls:sys_enter_[!a]?*", tp("syscalls", "sys_enter_[!a]?*")},
		{"sched:sched_switch:u", mods(tp("sched", "sched_switch"), user)},
		{"u:k", Spec{Kind: KindPMU, Terms: []Term{{"u", 1, true}}, Modifiers: Modifiers{Flags: abi.FlagExcludeUser | abi.FlagExcludeHV}}},
		{"tsc", Spec{Kind: KindPMU, Terms: []Term{{"tsc", 1, true}}}},
		{"msr/tsc/", Spec{Kind: KindPMU, PMU: "msr", Terms: []Term{{"tsc", 1, true}}}},
		{"cpu/event=0x3c,umask=1,inv,name=x,period=7/kp", Spec{
			Kind: KindPMU, PMU: "cpu", DisplayName: "x", Period: 7,
			Terms:     []Term{{"event", 0x3c, false}, {"umask", 1, false}, {"inv", 1, true}},
			Modifiers: Modifiers{Flags: (abi.FlagExcludeUser | abi.FlagExcludeHV).WithPrecise(1)},
		}},
		{"cpu/r1a8/", Spec{Kind: KindPMU, PMU: "cpu", Terms: []Term{{"config", 0x1a8, false}}}},
		{"mem:0x1000", mem(0x1000, 4, AccessRead|AccessWrite)},
		{"mem:4096/8:w", mem(4096, 8, AccessWrite)},
		{"mem:0x1000:x", mem(0x1000, 8, AccessExec)},
		{"mem:0x1000/2:rw:u", mods(mem(0x1000, 2, AccessRead|AccessWrite), user)},
		{"mem:0x1000:u", mods(mem(0x1000, 4, AccessRead|AccessWrite), user)},
		{"kprobe:vfs_read", probe(Probe{Symbol: "vfs_read"})},
		{"kretprobe:ext4:ext4_sync_file", probe(Probe{Return: true, Module: "ext4", Symbol: "ext4_sync_file"})},
		{"kprobe:vfs_read+0x10", probe(Probe{Symbol: "vfs_read", Off: 16})},
		{"kprobe:0xffffffff81000000", probe(Probe{Addr: 0xffffffff81000000})},
		{"kprobe:do_sys_openat2 file=+0($arg2):ustring", probe(Probe{Symbol: "do_sys_openat2", Args: "file=+0($arg2):ustring"})},
		{"uprobe:/bin/bash:readline", probe(Probe{User: true, Path: "/bin/bash", Symbol: "readline"})},
		{"uretprobe:/a:b/c:std::sort+4", probe(Probe{User: true, Return: true, Path: "/a:b/c", Symbol: "std::sort", Off: 4})},
		{"usdt:/lib/libc.so.6:libc:setjmp", probe(Probe{User: true, Path: "/lib/libc.so.6", Provider: "libc", Symbol: "setjmp"})},
		{"usdt:/a:b:c:d x=$arg1", probe(Probe{User: true, Path: "/a:b", Provider: "c", Symbol: "d", Args: "x=$arg1"})},
		{"uprobe:/bin/bash:0x4710", probe(Probe{User: true, Path: "/bin/bash", Addr: 0x4710})},
		{"p:mine/open do_sys_openat2 $arg1", probe(Probe{Raw: "p:mine/open do_sys_openat2 $arg1"})},
		{"r:ret vfs_read $retval", probe(Probe{Return: true, Raw: "r:ret vfs_read $retval"})},
		{"p kernel_clone %x0", probe(Probe{Raw: "p kernel_clone %x0"})},
		{"r kernel_clone pid=%x0", probe(Probe{Return: true, Raw: "r kernel_clone pid=%x0"})},
		{"p\t0xffffffff81000000 %x0", probe(Probe{Raw: "p\t0xffffffff81000000 %x0"})},
		{"r500:g/n vfs_read", probe(Probe{Return: true, Raw: "r500:g/n vfs_read"})},
		{"p:g/n vfs_read%return $retval", probe(Probe{Return: true, Raw: "p:g/n vfs_read%return $retval"})},
		{"f:g/n vfs_read%return ret=$retval", probe(Probe{Return: true, Raw: "f:g/n vfs_read%return ret=$retval"})},
		{"t sched_switch prev=prev->pid", probe(Probe{Raw: "t sched_switch prev=prev->pid"})},
		{"r500", Spec{Kind: KindNumbered, Type: abi.TypeRaw, Config: 0x500}},
		{"r500:u", mods(Spec{Kind: KindNumbered, Type: abi.TypeRaw, Config: 0x500}, user)},
		{"t:x", tp("t", "x")},
	}
	for _, tt := range tests {
		tt.want.Text = tt.text
		got, err := ParseSpec(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%q: -want +got\n%s", tt.text, d)
		}
	}
}

func TestParseSpecGuests(t *testing.T) {
	for mods, want := range map[string]Modifiers{
		"G":  {Flags: abi.FlagExcludeHost, ChoseGH: true},
		"H":  {Flags: abi.FlagExcludeGuest, ChoseGH: true},
		"GH": {ChoseGH: true},
		"W":  {Weak: true},
		"X":  {},
	} {
		got, err := parseModifiers(mods)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", mods, got, err, want)
		}
	}
}

func TestParseSpecErrors(t *testing.T) {
	livetest.Errors(t, ParseSpec, map[string]string{
		"":                         "empty",
		"  ":                       "empty",
		"a\x00b":                   "control character",
		"sched:":                   "neither a known event nor SYSTEM:NAME",
		"sched:a b":                "neither a known event nor SYSTEM:NAME",
		"cycles:x":                 `modifiers "x"`,
		"cycles:":                  `modifiers ""`,
		"cycles:pppp":              "ends at ppp",
		"cycles:uS":                "kprof has no S: samples have no values",
		"cycles:b":                 "kprof has no b: counting by BPF programs is perf's",
		"cycles:R":                 "kprof has no R: ",
		"cycles:uu":                "twice",
		"cycles:Pp":                "P and p exclude each other",
		"cpu/event=1":              "no slash after",
		"cpu/event=zz/":            `"zz" is not a number`,
		"cpu/=1/":                  "no name before",
		"cpu/period=1,freq=2/":     "exclude each other",
		"cpu/period/":              "wants a number above 0",
		"cycles/event=1/":          "cycles takes period=",
		"cycles/call-graph=fp/":    "cycles takes period=",
		"{cycles":                  "without { and }",
		"/x/":                      "no PMU can be called",
		"mem:":                     "address",
		"mem:0x1000/3":             "wants 1, 2, 4 or 8",
		"mem:0x1000:rr":            "twice",
		"mem:0x1000:rx":            "x excludes",
		"mem:0x1000:q:u":           "wants letters of rwx",
		"mem:99999999999999999999": "64 bits",
		"kprobe:":                  "no function",
		"kprobe:+4":                "no function",
		"kprobe:f+x":               "offset",
		"usdt:/bin/bash:readline":  "wants usdt:PATH:PROVIDER:NAME",
		"usdt:/bin/bash::readline": "wants usdt:PATH:PROVIDER:NAME",
		"usdt::a:b":                "wants usdt:PATH:PROVIDER:NAME",
		"uprobe:nocolon":           "wants uprobe:PATH:SYMBOL",
		"p:name":                   "wants p:",
		"p:name:vfs_read":          `did you mean "p:name vfs_read"`,
		"r99999:x vfs_read":        "is not a number of calls",
		"p8 vfs_read":              "is for probes on return",
		"f8:x vfs_read":            "is for probes on return",
		"no such":                  "not an event name",
	})
}

func TestParseSpecs(t *testing.T) {
	for arg, want := range map[string][]string{
		"cpu-clock":                           {"cpu-clock"},
		"cpu-clock,sched:sched_switch":        {"cpu-clock", "sched:sched_switch"},
		"cpu/event=1,umask=2/u,faults":        {"cpu/event=1,umask=2/u", "faults"},
		"mem:0x1000/8:rw,cs":                  {"mem:0x1000/8:rw", "cs"},
		"kprobe:a,kprobe:b":                   {"kprobe:a", "kprobe:b"},
		"cs,kprobe:f a=%di,b=%si":             {"cs", "kprobe:f a=%di,b=%si"},
		"p:x/y f a=%di,b=%si,c":               {"p:x/y f a=%di,b=%si,c"},
		"p f a=%di,b=%si,c":                   {"p f a=%di,b=%si,c"},
		"cs, p do_wait arg=+0($arg1):u32,cs":  {"cs", "p do_wait arg=+0($arg1):u32,cs"},
		"r1,r2:u":                             {"r1", "r2:u"},
		"f:g/n f%return a=$arg1,r=$retval":    {"f:g/n f%return a=$arg1,r=$retval"},
		"uprobe:/lib/x/y:f,cpu-clock/freq=1/": {"uprobe:/lib/x/y:f", "cpu-clock/freq=1/"},
	} {
		specs, err := ParseSpecs(arg)
		if err != nil {
			t.Errorf("%q: %v", arg, err)
			continue
		}
		var got []string
		for _, s := range specs {
			got = append(got, s.Text)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: -want +got\n%s", arg, d)
		}
	}
	for _, arg := range []string{"", ",", "cs,", ",cs", "cs,,cs"} {
		if _, err := ParseSpecs(arg); err == nil {
			t.Errorf("%q: no error", arg)
		}
	}
}

func FuzzParseSpecs(f *testing.F) {
	for _, s := range []string{
		"cpu-clock:u,sched:sched_*:k", "cpu/event=0x3c,umask=1,name=x/ppp", "mem:0x1000/8:rw:u",
		"kprobe:do_sys_openat2+4 file=+0($arg2):ustring", "uprobe:/a:b:c::d+1", "usdt:/a:b:c", "L1-dcache-load-misses", "r1a8",
		"p:g/n f %di", "p f %di,x", "r500:g/n f", "f f%return", "cycles/freq=99/", ",", "a/b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		defer memtest.Within(t, 1<<20+500*len(arg))()
		specs, err := ParseSpecs(arg)
		if err != nil {
			return
		}
		for _, s := range specs {
			again, err := ParseSpec(s.Text)
			if err != nil {
				t.Fatalf("%q parsed as part of %q, but not alone: %v", s.Text, arg, err)
			}
			if d := cmp.Diff(s, again); d != "" {
				t.Fatalf("%q: -list +alone\n%s", s.Text, d)
			}
		}
	})
}
