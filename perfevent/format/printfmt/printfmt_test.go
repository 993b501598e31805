package printfmt_test

import (
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/printfmt"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

const fields = `	field:s8 i8;	offset:8;	size:1;	signed:1;
	field:u8 w8;	offset:9;	size:1;	signed:0;
	field:s16 i16;	offset:10;	size:2;	signed:1;
	field:u16 w16;	offset:12;	size:2;	signed:0;
	field:char c;	offset:14;	size:1;	signed:1;
	field:s32 i32;	offset:16;	size:4;	signed:1;
	field:u32 w32;	offset:20;	size:4;	signed:0;
	field:s64 i64;	offset:24;	size:8;	signed:1;
	field:u64 w64;	offset:32;	size:8;	signed:0;
	field:char comm[8];	offset:40;	size:8;	signed:1;
	field:u8 mac[6];	offset:48;	size:6;	signed:0;
	field:s16 pair[3];	offset:54;	size:6;	signed:1;
	field:const void * ptr;	offset:64;	size:8;	signed:0;
	field:__data_loc char[] name;	offset:72;	size:4;	signed:0;
	field:__data_loc u32[] words;	offset:76;	size:4;	signed:0;
	field:__data_loc cpumask_t cpus;	offset:80;	size:4;	signed:0;
	field:u8 ip6[16];	offset:84;	size:16;	signed:0;
	field:u8 ip4[4];	offset:100;	size:4;	signed:0;
	field:u8 sa4[16];	offset:104;	size:16;	signed:0;
	field:u8 sa6[28];	offset:120;	size:28;	signed:0;
	field:u8 uuid[16];	offset:148;	size:16;	signed:0;
	field:__rel_loc char[] rel;	offset:164;	size:4;	signed:0;
	field:int zero;	offset:168;	size:4;	signed:1;
`

// The bytes of lib/test_printf.c for addresses and UUIDs.
var (
	mac  = []byte{0x2d, 0x48, 0xd6, 0xfc, 0x7a, 0x05}
	uuid = []byte{0x0, 0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0x8, 0x9, 0xa, 0xb, 0xc, 0xd, 0xe, 0xf}
)

func payload() []byte {
	o := abi.LittleEndian
	b := make([]byte, 8, 256)
	b = append(b, 0xfb, 250)      // -5
	b = o.AppendUint16(b, 0xfed4) // -300
	b = o.AppendUint16(b, 65000)
	b = append(b, 'x', 0)
	b = o.AppendUint32(b, 0xfffe7960) // -100000
	b = o.AppendUint32(b, 4000000000)
	b = o.AppendUint64(b, uint64(1<<64-5000000000))
	b = o.AppendUint64(b, 0xfedcba9876543210)
	b = append(b, "bash\x00abc"...)
	b = append(b, mac...)
	b = append(b, 1, 0, 0xfe, 0xff, 3, 0, 0, 0, 0, 0)
	b = o.AppendUint64(b, 0xffffffff81000010)
	b = o.AppendUint32(b, 5<<16|176)
	b = o.AppendUint32(b, 8<<16|184)
	b = o.AppendUint32(b, 8<<16|192)
	b = append(b, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
	b = append(b, 192, 168, 0, 7)
	b = append(b, 2, 0, 0x1f, 0x90, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
	b = append(b, 10, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)
	b = append(b, uuid...)
	b = o.AppendUint32(b, 4<<16|(200-168))
	b = o.AppendUint32(b, 0)
	b = append(b, 0, 0, 0, 0)
	b = append(b, "/tmp\x00\x00\x00\x00"...)
	b = o.AppendUint32(o.AppendUint32(b, 10), 0xfffffff6)
	b = o.AppendUint64(b, 0x100000000f)
	return append(b, "rel\x00"...)
}

func compile(t testing.TB, fmt string, o printfmt.Options) *printfmt.Printer {
	t.Helper()
	f, err := format.Parse(format.Text("every", 1, fields, fmt), format.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	return printfmt.Compile(f, o)
}

var options = printfmt.Options{
	Symbol: func(addr uint64) (string, uint64, bool) {
		return "start_kernel", addr - 0xffffffff81000000, addr>>32 == 0xffffffff
	},
	KernelString: func(addr uint64) (string, bool) { return "rcu_sched", addr == 0xffffffff81000010 },
	Constant: func(name string) (uint64, bool) {
		v, ok := map[string]uint64{"I_NEW": 8}[name]
		return v, ok
	},
}

// TestHelpers prints what is the kernel's: its helpers (include/trace/stages,
// kernel/trace/trace_output.c) and its conversions (lib/vsprintf.c, with expectations of
// lib/test_printf.c).
func TestHelpers(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{`"%s|%s|%s", REC->comm, __get_str(name), __get_rel_str(rel)`, "bash|/tmp|rel"},
		{`"%8s|%-8s|%.2s|%.*s|%*s|%-*s.", REC->comm, REC->comm, REC->comm, 3, REC->comm, 6, REC->comm, 6, REC->comm`, "    bash|bash    |ba|bas|  bash|bash  ."},
		{`"%s", __print_flags(REC->w8, "|", { 0x2, "TWO" }, { 0x8 | 0x10, "BOTH" }, { 1UL << 5, "FIVE" })`, "TWO|BOTH|FIVE|0xc0"},
		{`"%s.", __print_flags(REC->zero, "|", { 1, "A" })`, "."},
		{`"%s", __print_flags(REC->w8, "", { 250, "A" "B" }, { 1, "C" },)`, "AB"},
		{`"%s", __print_flags_u64(REC->w64, ",", { 0xfedcba9876543200ULL, "HIGH" })`, "HIGH,0x10"},
		{`"%s %s", __print_symbolic(REC->i8, { 5, "no" }, { -5, "minus five" }), __print_symbolic(REC->zero, { 1, "x" }, { }, { 0, "zero" })`, "minus five zero"},
		{`"%s", __print_symbolic(REC->i8, { 5, "no" })`, "0xfffffffffffffffb"},
		{`"%s", __print_symbolic(REC->w8, { NET_RX_SOFTIRQ, "no" }, { 250, NULL })`, "0xfa"},
		{`"%s", __print_flags(REC->w8 & 15, "|", { I_NEW, "NEW" }, { 2, "T" })`, "NEW|T"},
		{`"%s %s", __print_hex(REC->mac, 6), __print_hex_str(REC->mac, sizeof(REC->mac))`, "2d 48 d6 fc 7a 05 2d48d6fc7a05"},
		{`"%s", __print_hex(__get_dynamic_array(name), 3)`, "2f 74 6d"},
		{`"%s", __print_array(__get_dynamic_array(words), __get_dynamic_array_len(words) / sizeof(u32), sizeof(u32))`, "{0xa,0xfffffff6}"},
		{`"%s", __print_array(REC->pair, 3, 2)`, "{0x1,0xfffe,0x3}"},
		{`"%s", __print_dynamic_array(words, sizeof(u32))`, "{0xa,0xfffffff6}"},
		{`"%s", __print_hex_dump("dev: ", 0, 16, 1, REC->mac, 6, 0)`, "\ndev: 2d 48 d6 fc 7a 05"},
		{`"%s", __print_hex_dump("", DUMP, 16, 1, REC->mac, 6, 0)`, "? mac={0x2d,0x48,0xd6,0xfc,0x7a,0x5}"},
		{`"%s", __print_hex_dump("", DUMP_PREFIX_OFFSET, 16, 2, REC->mac, 6, 1)`, "\n00000000: 482d fcd6 057a                           -H..z."},
		{`"%s", __get_bitmask(cpus)`, "00000010,0000000f"},
		{`"%s", __get_cpumask(cpus)`, "00000010,0000000f"},
		{`"%*pb|%*pbl|%*pbl", 64, __get_dynamic_array(cpus), 64, __get_dynamic_array(cpus), 8, REC->mac`, "00000010,0000000f|0-3,36|0,2-3,5"},
		{`"%pM|%pMR|%pMF|%pm|%pmR", REC->mac, REC->mac, REC->mac, REC->mac, REC->mac`, "2d:48:d6:fc:7a:05|05:7a:fc:d6:48:2d|2d-48-d6-fc-7a-05|2d48d6fc7a05|057afcd6482d"},
		{`"%pI4|%pi4|%pI4l", REC->ip4, REC->ip4, REC->ip4`, "192.168.0.7|192.168.000.007|7.0.168.192"},
		{`"%pI6|%pi6|%pI6c", REC->ip6, REC->ip6, REC->ip6`, "2001:0db8:0000:0000:0000:0000:0000:0001|20010db8000000000000000000000001|2001:db8::1"},
		{`"%pISpc %pISpc %pIS", REC->sa4, REC->sa6, REC->sa4`, "10.0.0.1:8080 [::1]:80 10.0.0.1"},
		{`"%pUb|%pUB|%pUl|%pUL|%pU", REC->uuid, REC->uuid, REC->uuid, REC->uuid, REC->uuid`,
			"00010203-0405-0607-0809-0a0b0c0d0e0f|00010203-0405-0607-0809-0A0B0C0D0E0F|03020100-0504-0706-0809-0a0b0c0d0e0f|03020100-0504-0706-0809-0A0B0C0D0E0F|00010203-0405-0607-0809-0a0b0c0d0e0f"},
		{`"%3ph|%6phC|%*phD|%6phN", REC->mac, REC->mac, 2, REC->mac, REC->mac`, "2d 48 d6|2d:48:d6:fc:7a:05|2d-48|2d48d6fc7a05"},
		{`"%pS %ps %pF %pf %pB", REC->ptr, (void *)REC->ptr, REC->ptr, REC->ptr, REC->ptr`, "start_kernel+0x10 start_kernel start_kernel+0x10 start_kernel start_kernel+0x10"},
		{`"%ps %p %px %p", (void *)REC->w64, REC->ptr, REC->ptr, (void *)(long)REC->zero`, "0xfedcba9876543210 0xffffffff81000010 0xffffffff81000010 (nil)"},
		{`"%s", REC->ptr`, "rcu_sched"},
		{`"%pe", (void *)(long)-2`, "-ENOENT"},
		{`"%s%s", __get_str(name)[0] ? "yes" : "no", REC->zero ? REC->comm : "none"`, "yesnone"},
		{`"%c%c %d", REC->c, __get_str(name)[1], ((u8 *)REC->mac)[1]`, "xt 72"},
		{`"%x %x", *(u16 *)REC->mac, ((u32 *)__get_dynamic_array(words))[1]`, "482d fffffff6"},
		{`"%x", *(u16 *)(REC->mac + 2)`, "fcd6"},
		{`"%s", (char *)((void *)((void *)REC + (REC->__data_loc_name & 0xffff)))`, "/tmp"},
		{`"%d %d", (__builtin_expect(!!(REC->w8), 1)) ? 4 : 5, __builtin_constant_p(REC->w8)`, "4 0"},
		{`"%llu.%09llu", __print_ns_to_secs(REC->w64), __print_ns_without_secs(REC->w64)`, "18364758544.493064720"},
		{`"%s %s", REC->comm ?: "none", (void *)(long)REC->zero ?: "none"`, "bash none"},
		{`"100%% %s %z", REC->comm`, "100% bash %z"},
		{`"comm=%.*s lat=%llu name=%.*s g=%x", REC->comm, REC->w64, __get_str(name), REC->w8`, "comm=bash lat=18364758544493064720 name=/tmp g=fa"}, // a synthetic event
		{`"line\n"`, "line"},
		{`""`, ""}, // sys_enter_getpid
		{`"%s " "and " "%s", REC->comm, REC->comm, REC->w8`, "bash and bash"},

		// What cannot be known: the argument is "?", its fields follow.
		{`"page=%p n=%d", ((struct page *)vmemmap_base + (REC->w64)), REC->w8`, "page=? n=250 w64=18364758544493064720"},
		{`"%s %d", nvme_trace_disk_name(p, REC->mac), REC->w8`, "? 250 mac={0x2d,0x48,0xd6,0xfc,0x7a,0x5}"},
		{`"%s %d", ({ const char *s = trace_seq_buffer_ptr(p); f(REC->w16, "})"); s; }), REC->w8`, "? 250 w16=65000"},
		{`"%d %d", REC->ptr->x, REC->nosuch`, "? ? ptr=0xffffffff81000010"},
		{`"%d", *(int *)REC->ptr`, "? ptr=0xffffffff81000010"},
		{`"%d", REC->w8 / REC->zero`, "?"},
		{`"%d", REC->pair[3]`, "?"},
	} {
		p := compile(t, tt.src, options)
		if got := string(p.AppendTo([]byte("dst "), payload())); got != "dst "+tt.want {
			t.Errorf("%s\n%s, want\n%s", tt.src, got[4:], tt.want)
		}
		if partial := p.Problem() != nil; partial != strings.Contains(tt.want, "? ") && tt.want != "?" || partial && p.Problem().Whole {
			if !strings.HasPrefix(tt.want, "0xfa") {
				t.Errorf("%s: %v", tt.src, p.Problem())
			}
		}
	}
}

// TestBigEndian32 prints a record of a big-endian kernel of 32 bits, where long has 4
// bytes, and long long its 8.
func TestBigEndian32(t *testing.T) {
	const text = "name: x\nID: 1\nformat:\n" +
		"\tfield:unsigned long addr;\toffset:0;\tsize:4;\tsigned:0;\n" +
		"\tfield:long n;\toffset:4;\tsize:4;\tsigned:1;\n" +
		"\tfield:u64 w64;\toffset:8;\tsize:8;\tsigned:0;\n" +
		"\tfield:__data_loc unsigned long[] mask;\toffset:16;\tsize:4;\tsigned:0;\n" +
		"\tfield:u16 a[2];\toffset:20;\tsize:4;\tsigned:0;\n\nprint fmt: "
	o := abi.BigEndian
	raw := o.AppendUint32(o.AppendUint32(nil, 0xc0001234), 0xfffffffe)
	raw = o.AppendUint64(raw, 0x1_0000_0002)
	raw = o.AppendUint32(raw, 8<<16|24)
	raw = o.AppendUint16(o.AppendUint16(raw, 1), 0x102)
	raw = o.AppendUint32(o.AppendUint32(raw, 3), 1)
	for src, want := range map[string]string{
		`"%lx %ld %lu %llu %zd %d", REC->addr, REC->n, REC->n, REC->w64, REC->n, REC->w64`: "c0001234 -2 4294967294 4294967298 -2 2",
		`"%lx %llx", REC->addr << 4, (u64)REC->addr << 4`:                                  "12340 c00012340",
		`"%ld %d", REC->n + 1UL, REC->n < 1UL`:                                             "-1 0",
		`"%d %d", (int)sizeof(long), (int)sizeof(void *)`:                                  "4 4",
		`"%s", __print_flags(REC->n, "|", { 1UL << 31, "TOP" }, { ~1UL, "ALL" })`:          "TOP|0x7ffffffe",
		`"%s", __print_symbolic(REC->n, { -2, "two" })`:                                    "two",
		`"%s %*pbl", __get_bitmask(mask), 64, __get_dynamic_array(mask)`:                   "00000001,00000003 0-1,32",
		`"%s %d", __print_array(REC->a, 2, 2), REC->a[1]`:                                  "{0x1,0x102} 258",
		`"%lld %d", 0xffffffffLL, 4294967295 > 0`:                                          "4294967295 1",
		`"%p %p", (void *)REC->addr, (void *)REC->n`:                                       "0xc0001234 0xfffffffe",
		`"%d", REC->__data_loc_mask >> 16`:                                                 "8",
	} {
		f, err := format.Parse(text+src, format.Machine{Order: o, LongSize: 4})
		if err != nil {
			t.Fatal(err)
		}
		p := printfmt.Compile(f, printfmt.Options{})
		if got := string(p.AppendTo(nil, raw)); got != want || p.Problem() != nil {
			t.Errorf("%s\n%s, want\n%s %v", src, got, want, p.Problem())
		}
	}
}

// TestFallback prints name=value where nothing else can be.
func TestFallback(t *testing.T) {
	const all = "i8=-5 w8=250 i16=-300 w16=65000 c=120 i32=-100000 w32=4000000000 i64=-5000000000 w64=18364758544493064720 comm=bash"
	for _, tt := range []struct {
		src    string
		reason printfmt.Reason
		text   string
		off    int
	}{
		{``, printfmt.Missing, "", 0},
		{`REC->w8`, printfmt.Syntax, "REC->w8", 0},
		{`"%d`, printfmt.Syntax, `"%d`, 0},
		{`"%d"`, printfmt.Arguments, "", 4},
		{`"%d %d", REC->w8`, printfmt.Arguments, "", 16},
		{`"%*d", REC->w8`, printfmt.Arguments, "", 14},
		{`"%d", REC->w8 REC->w8`, printfmt.Syntax, "REC->w8", 14},
		{`"%d", REC->`, printfmt.Syntax, "->", 9},
		{`"%d", (REC->w8`, printfmt.Syntax, "", 14},
		{`"%d", REC->w8 +`, printfmt.Syntax, "", 15},
		{`"%d", 12ab`, printfmt.Syntax, "12ab", 6},
		{`"%s", __print_flags(REC->w8, "|", { 1 })`, printfmt.Syntax, "})", 38},
		{`"%s", ({ x; `, printfmt.Syntax, "", 11},
		{`"%s", f(1`, printfmt.Syntax, "", 9},
		{`"%d", ` + strings.Repeat("(", 300) + "1", printfmt.Limit, "", 106},
		{`"%d", ` + strings.Repeat("-", 300) + "1", printfmt.Limit, "", 205},
		{`"` + strings.Repeat("%d", 300) + `"` + strings.Repeat(",1", 300), printfmt.Limit, "", 1116},
	} {
		p := compile(t, tt.src, options)
		got := string(p.AppendTo(nil, payload()))
		pr := p.Problem()
		if !strings.HasPrefix(got, all+" mac=") || pr == nil || !pr.Whole {
			t.Errorf("%.60s: %s, %v", tt.src, got, pr)
			continue
		}
		if pr.Reason != tt.reason || pr.Text != tt.text || pr.Offset != tt.off || pr.Event != "every" {
			t.Errorf("%.60s: %#v, want %v %q %d", tt.src, pr, tt.reason, tt.text, tt.off)
		}
	}
}

// TestFallbackNames names the code addresses of fields that are printed one by one.
func TestFallbackNames(t *testing.T) {
	f, err := format.Parse("name: x\nformat:\n\tfield:void * function;\toffset:0;\tsize:8;\tsigned:0;\n"+
		"\tfield:u64 other;\toffset:8;\tsize:8;\tsigned:0;\n", format.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	raw := payload()[64:72]
	raw = append(raw[:8:8], raw...)
	if got := string(printfmt.Compile(f, options).AppendTo(nil, raw)); got != "function=start_kernel+0x10 other=18446744071578845200" {
		t.Error(got)
	}
}

// unknown are the problems that kernels' print fmts have: what stands there, by reason.
// All of them leave only an argument, or the names of some flags, unprinted.
var unknown = map[printfmt.Reason][]string{
	printfmt.Statements: {"({ const char *saved_ptr", "({ int __UNIQUE_ID_x_"},
	printfmt.Function:   {"nvme_trace_disk_name", "jiffies_to_msecs", "mc_event_error_type"},
	printfmt.Identifier: {"vmemmap_base", "jiffies", "I_DIRTY_SYNC", "DEV_PM_QOS_", "BTRFS_", "PM_QOS_", "HRTIMER_MODE_", "FAULT_FLAG_",
		"NVME_AER_ERROR", "EXTENT_", "VDSO_CLOCKMODE_", "QGROUP_", "VMXERR_", "VMSCAN_THROTTLE_", "APICV_INHIBIT_REASON_"},
}

// TestKernelFormats reads the print fmt of every event that there is, and knows why
// those are not whole that are not.
func TestKernelFormats(t *testing.T) {
	texts := livetest.Formats(t)
	whole := 0
	counts := map[printfmt.Reason]int{}
	for name, text := range texts {
		f, err := format.Parse(text, format.Machine{})
		if err != nil {
			t.Error(err)
			continue
		}
		p := printfmt.Compile(f, printfmt.Options{})
		for _, n := range []int{0, 20, 100, 1000} {
			p.AppendTo(nil, make([]byte, n))
		}
		pr := p.Problem()
		if pr == nil {
			whole++
			continue
		}
		counts[pr.Reason]++
		known := false
		for _, s := range unknown[pr.Reason] {
			known = known || strings.HasPrefix(pr.Text, s)
		}
		if !known || pr.Whole {
			t.Errorf("%s: %v, whole %v", name, pr, pr.Whole)
		}
	}
	t.Logf("%d of %d are whole; not: %v", whole, len(texts), counts)
}

func TestSymbolic(t *testing.T) {
	p := compile(t, `"%s %s %d", (REC->w8) ? __print_flags((unsigned long)REC->w8 & 0xff, "|", { 2, "TWO" }) : "none", __print_symbolic(REC->zero, { 0, "ZERO" }), REC->w16`, options)
	for field, want := range map[string]string{"w8": "TWO|0xf8", "zero": "ZERO", "w16": "", "i8": ""} {
		s := p.Symbolic(field)
		if s == nil {
			if want != "" {
				t.Errorf("%s: none", field)
			}
			continue
		}
		if got := string(s.AppendTo(nil, payload())); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

func TestParseStrings(t *testing.T) {
	got := printfmt.ParseStrings("0xffffffff82a1b2c3 : \"rcu_\\\"x\\\"\\n\"\n\nnonsense\n0xzz : \"a\"\n0x10 : \"b\n0x20 : \"\"\n")
	if len(got) != 2 || got[0xffffffff82a1b2c3] != "rcu_\"x\"\n" || got[0x20] != "" {
		t.Errorf("%v", got)
	}
}

// TestBounded prints records that would print without end.
func TestBounded(t *testing.T) {
	flags := `"` + strings.Repeat("%s", 200) + `"` + strings.Repeat(`, __print_hex(REC->buf, 65535)`, 200)
	f, err := format.Parse("name: x\nformat:\n\tfield:u8 buf[];\toffset:0;\tsize:0;\tsigned:0;\n\nprint fmt: "+flags, format.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	p := printfmt.Compile(f, printfmt.Options{})
	if got := p.AppendTo(nil, make([]byte, 65535)); len(got) < 64<<10 || len(got) > 66<<10 || !strings.HasSuffix(string(got), "…") {
		t.Errorf("%d bytes", len(got))
	}
	if got := compile(t, `"%999999999d|%.999999999d|%*d", 1, 1, 0x7fffffff, 1`, options).AppendTo(nil, payload()); len(got) > 2000 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestTime evaluates what would take exponential time if a part were evaluated twice.
func TestTime(t *testing.T) {
	const deep = 90
	for _, src := range []string{
		`"%d", ` + strings.Repeat("(", deep) + "REC->zero" + strings.Repeat(" ?: REC->zero)", deep),
		`"%d", ` + strings.Repeat("(", deep) + "REC->zero" + strings.Repeat(" ? 1 : REC->zero)", deep),
		`"%d", ` + strings.Repeat("(", deep) + "REC->zero" + strings.Repeat(" && REC->zero || REC->zero)", deep),
	} {
		p := compile(t, src, options)
		if got := string(p.AppendTo(nil, payload())); got != "0" || p.Problem() != nil {
			t.Errorf("%.40s: %s, %v", src, got, p.Problem())
		}
	}
}

func TestNoAllocations(t *testing.T) {
	p := compile(t, `"%s %8s %pM %d %#x %pS %s %s %s", REC->comm, __get_str(name), REC->mac, REC->i8 + 5, REC->w64, REC->ptr, __print_flags(REC->w8, "|", { 2, "TWO" }), __print_array(REC->pair, 3, 2), __get_cpumask(cpus)`, options)
	raw := payload()
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() { p.AppendTo(buf, raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`"%s %8s %pM %d", REC->comm, __get_str(name), REC->mac, REC->i8 + 5`, payload())
	f.Add(`"%s", REC->w8 ? __print_flags(REC->w8, "|", { 1UL << 2, "A" "B" }) : "none"`, payload())
	f.Add(`"%s %*pbl %pISpc", __print_array(__get_dynamic_array(words), 2, sizeof(u32)), 64, __get_dynamic_array(cpus), REC->sa6`, payload())
	f.Add(`"%s %s", ({ x; }), __print_hex_dump("", 1, 16, 4, REC->mac, 6, 1)`, payload())
	f.Add(`"%s", ({ static const struct trace_print_flags_u64 s[] = { { 1, "a" }, { -1, ((void *)0) } }; trace_print_flags_seq_u64(p, "|", REC->w8, s); })`, payload())
	f.Fuzz(func(t *testing.T, src string, raw []byte) {
		if len(raw) > 1<<16 {
			return
		}
		p := func() *printfmt.Printer {
			defer memtest.Within(t, 1<<20+2000*len(src))()
			return compile(t, strings.ReplaceAll(src, "\n", " "), options)
		}()
		buf := make([]byte, 0, 300<<10)
		defer memtest.Within(t, 1<<20)() // nothing but what the test itself does
		if n := len(p.AppendTo(buf, raw)); n > 300<<10 {
			t.Errorf("%d bytes", n)
		}
	})
}

func BenchmarkPrinter(b *testing.B) {
	for _, bb := range []struct{ name, src string }{
		{"numbers", `"pid=%d prio=%d len=%llu", REC->i32, REC->w8, REC->w64`},
		{"flags", `"%s comm=%s", (REC->w8) ? __print_flags(REC->w8, "|", { 1, "ONE" }, { 2, "TWO" }, { 4, "FOUR" }, { 8, "EIGHT" }, { 0x10, "SIXTEEN" }, { 0xe0, "REST" }) : "none", REC->comm`},
		{"symbol", `"call_site=%pS ptr=%p", REC->ptr, REC->ptr`},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p, raw := compile(b, bb.src, options), payload()
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = p.AppendTo(buf[:0], raw)
			}
		})
	}
}

func ExampleCompile() {
	f, err := format.Parse(`name: block_rq_x
ID: 5
format:
	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:u8 op;	offset:12;	size:1;	signed:0;

print fmt: "%d,%d %s", ((unsigned int) ((REC->dev) >> 20)), ((unsigned int) ((REC->dev) & ((1U << 20) - 1))), __print_symbolic(REC->op, { 0, "READ" }, { 1, "WRITE" })
`, format.Machine{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := printfmt.Compile(f, printfmt.Options{}) // once per event
	raw := []byte{0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0x80, 0x0f, 1}
	fmt.Println(string(p.AppendTo(nil, raw)))
	// Output: 248,3 WRITE
}

// TestRegisterAccess prints an access to a register of a device as the kernel did (a trace
// of Linux 6.1 on arm64), but for the sizes of functions, which are not recorded.
func TestRegisterAccess(t *testing.T) {
	f, err := format.Parse("name: rwmmio_write\nID: 1\nformat:\n"+
		"\tfield:unsigned long caller;\toffset:8;\tsize:8;\tsigned:0;\n"+
		"\tfield:unsigned long caller0;\toffset:16;\tsize:8;\tsigned:0;\n"+
		"\tfield:unsigned long addr;\toffset:24;\tsize:8;\tsigned:0;\n"+
		"\tfield:u64 val;\toffset:32;\tsize:8;\tsigned:0;\n"+
		"\tfield:u8 width;\toffset:40;\tsize:1;\tsigned:0;\n\n"+
		`print fmt: "%pS -> %pS width=%d val=%#llx addr=%#lx", (void *)REC->caller0, (void *)REC->caller, REC->width, REC->val, REC->addr`, format.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	functions := map[uint64]string{0xffffffc008100000: "handle_percpu_devid_irq", 0xffffffc008200000: "gic_eoi_irq"}
	p := printfmt.Compile(f, printfmt.Options{Symbol: func(addr uint64) (string, uint64, bool) {
		name, ok := functions[addr&^0xfffff]
		return name, addr & 0xfffff, ok
	}})
	o := abi.LittleEndian
	raw := make([]byte, 8)
	for _, v := range []uint64{0xffffffc008200084, 0xffffffc0081000c4, 0xffffffc008020010, 0x1b, 32} {
		raw = o.AppendUint64(raw, v)
	}
	const want = "handle_percpu_devid_irq+0xc4 -> gic_eoi_irq+0x84 width=32 val=0x1b addr=0xffffffc008020010"
	if got := string(p.AppendTo(nil, raw)); got != want || p.Problem() != nil {
		t.Errorf("%s, want\n%s %v", got, want, p.Problem())
	}
}

// TestShortStack: the kernel's tracer writes as many callers as there are, which may be fewer
// than the array that its format speaks of (trace_entries.h, kernel_stack).
func TestShortStack(t *testing.T) {
	f, err := format.Parse("name: kernel_stack\nID: 4\nformat:\n"+
		"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"+
		`print fmt: "=> %ps => %ps => %ps", (void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2]`, format.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	p := printfmt.Compile(f, printfmt.Options{Symbol: func(addr uint64) (string, uint64, bool) {
		return map[uint64]string{0x1000: "schedule", 0x2000: "do_nanosleep"}[addr], 0, true
	}})
	o := abi.LittleEndian
	raw := o.AppendUint64(o.AppendUint64(append(make([]byte, 8), 2, 0, 0, 0, 0, 0, 0, 0), 0x1000), 0x2000)
	if got, want := string(p.AppendTo(nil, raw)), "=> schedule => do_nanosleep => ?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
