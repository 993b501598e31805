package expr_test

import (
	"errors"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
)

// wakeup is an event with fields of the names that samples have, of each kind.
const wakeup = `name: sched_wakeup
ID: 7
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char comm[8];	offset:8;	size:8;	signed:0;
	field:pid_t pid;	offset:16;	size:4;	signed:1;
	field:int ret;	offset:20;	size:4;	signed:1;
	field:u64 big;	offset:24;	size:8;	signed:0;
	field:__data_loc char[] name;	offset:32;	size:4;	signed:0;
	field:unsigned short args[3];	offset:36;	size:6;	signed:0;
	field:char kind;	offset:42;	size:1;	signed:0;
	field:cpumask_t mask;	offset:48;	size:8;	signed:0;
	field:void * ptr;	offset:56;	size:8;	signed:0;
	field:struct x odd;	offset:61;	size:3;	signed:0;

print fmt: "%d", REC->pid
`

// payload is a record of wakeup.
func payload() []byte {
	o := abi.LittleEndian
	b := o.AppendUint16(nil, 7)
	b = append(b, 0, 0)
	b = o.AppendUint32(b, 4321)
	b = append(b, "bash\x00xyz"...)
	b = o.AppendUint32(b, 99)
	b = o.AppendUint32(b, 0xfffffffe) // -2
	b = o.AppendUint64(b, 1<<63|5)
	b = o.AppendUint32(b, 9<<16|64)
	b = o.AppendUint16(b, 10)
	b = o.AppendUint16(b, 20)
	b = o.AppendUint16(b, 65535)
	b = append(b, 'r', 0, 0, 0, 0, 0)
	b = o.AppendUint64(b, 1<<5|1)
	b = o.AppendUint64(b, 0xffff888000001000)
	return append(b, "/etc/[x]\x00"...)
}

func parseFormat(t testing.TB) *format.Format {
	t.Helper()
	f, err := format.Parse(wakeup, format.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sample() *expr.Sample {
	return &expr.Sample{Comm: "swapper/0", PID: 0, TID: -1, CPU: 3, Time: 5_000_000_123, Raw: payload()}
}

func TestMatch(t *testing.T) {
	f := parseFormat(t)
	const yes, no, unknown = expr.Yes, expr.No, expr.Unknown
	for _, tt := range []struct {
		src  string
		want expr.Result
	}{
		{"1", yes}, {"0", no}, {"!0", yes}, {"!5", no},

		// whose comm and pid
		{`comm == "swapper/0"`, yes}, {`field.comm == "bash"`, yes}, {`sched_wakeup.comm == 'bash'`, yes},
		{`comm == "bash"`, no}, {"pid == 0 && field.pid == 99", yes}, {"tid == -1", yes}, {"tid < 0", yes},
		{"common_pid == 4321", yes}, {"field.common_pid == 4321", yes}, {"cpu == 3", yes},
		{"time >= 5s && time < 5001ms", yes}, {"time - 5s == 123ns", yes},
		{`event == "sched_wakeup"`, yes}, {`event == "sched:sched_wakeup"`, yes}, {`event == "x:sched_wakeup"`, no},
		{`event ~ "sched_w*"`, yes}, {`event ~ "sched:*"`, yes}, {`event !~ "sched_w*"`, no}, {`event in {"a", "sched_wakeup"}`, yes},
		{`event != "sched_wakeup"`, no},
		{`"sched_wakeup" == event`, yes}, {"event == comm", no}, {`event == "a" || event == "sched_wakeup"`, yes},
		{"sched_switch.pid == 0", unknown}, {`event == "sched_switch" && sched_switch.pid == 0`, no},

		// precedence of C
		{"1 + 2 * 3 == 7", yes}, {"(1 + 2) * 3 == 9", yes}, {"10 - 4 - 3 == 3", yes}, {"100 / 10 / 5 == 2", yes},
		{"1 | 2 == 2", yes}, {"(1 | 2) == 2", no}, {"4 & 6 == 6", no}, {"1 << 2 + 1 == 8", yes}, {"7 ^ 2 & 3", yes},
		{"0 && 0 || 1", yes}, {"1 ? 0 : 1", no}, {"0 ? 1 : 0 ? 2 : 3", yes}, {"-2 + 3 == 1", yes}, {"~0 == -1", yes},
		{"!ret == 0", yes}, {"7 % 4 == 3", yes}, {"- -1 == 1", yes}, {"-ret == 2", yes},

		// numbers
		{"0x10 == 16 && 010 == 8 && 1K == 1024 && 2M == 2097152 && 1G >> 30 == 1", yes},
		{"1us == 1000 && 1.5ms == 1500000 && 0.5K == 512 && 3s == 3000000000", yes},
		{"'r' == kind", yes}, {"kind == 'r'", yes}, {`kind in {"x", "r"}`, yes}, {"kind == 114", yes},

		// signs: numbers, not bits
		{"ret == -2", yes}, {"ret < 0", yes}, {"ret < big", yes}, {"big > ret", yes}, {"big > 0", yes}, {"big == -9223372036854775803", no},
		{"big >= 0x8000000000000005", yes}, {"ret == 0xfffffffffffffffe", no}, {"ret * 3 == -6", yes}, {"ret / 2 == -1", yes},
		{"ret >> 1 == -1", yes}, {"big >> 63 == 1", yes}, {"field.pid - 100 == -1", yes}, {"args[0] - args[1] < 0", yes},
		{"big / 2 == 0x4000000000000002", yes}, {"big % 10 == 3", yes}, {"ret & 0xff == 0xfe", no}, {"(ret & 0xff) == 0xfe", yes},
		{"1 << 64", no}, {"-1 >> 64 == -1", yes}, {"1 << -1", unknown},

		// masks: what the expression says of bits takes the sign of what it meets
		{"(ptr & ~0xfff) == 0xffff888000001000", yes}, {"(ptr & -4096) == 0xffff888000001000", yes}, {"(ptr & ~(4K - 1)) == ptr", yes},
		{"(ptr & ~0 << 12) > 0", yes}, {"(~0xfff & ptr) < 0", no}, {"(big ^ ~0) == ~big", yes}, {"(ptr | ~0) == ~0", yes},
		{"ptr > ~0xfff", no}, {"ptr < ~0xfff", yes}, {"ptr in {~0x777fffffefff}", yes}, {"~0x777fffffefff == ptr", yes}, {"ptr | (1 - 2) > 0", yes},
		{"(1 ? ~0 : big) == ~0", yes}, {"(~0 & ~0xf) == -16", yes}, {"(~0xff | 0xf0) == -16", yes}, {"(ret & ~0) == -2", yes},
		{"(ret & ~0) < 0", yes}, {"ret == ~1", yes}, {"ret in {~1}", yes}, {"~0 < 0", yes}, {"ptr > -4096", yes}, {"ptr == -1", no}, {"~0 >> 1 == -1", yes},
		{"big + -5 == big - 5", yes}, {"args[0] + -11 == -1", yes}, {"args[0] * -1 < 0", yes},

		// arrays and masks
		{"args[1] == 20", yes}, {"args[2] == 65535", yes}, {"args[3] == 0", unknown}, {"args[1 + 1] > 0", yes}, {"args[-1]", unknown},
		{"mask[0] && !mask[1] && mask[5]", yes}, {"mask[64]", unknown},
		{"ptr == 0xffff888000001000", yes}, {"ptr > 0", yes},

		// text
		{`name == "/etc/[x]"`, yes}, {`name ~ "/etc/*"`, yes}, {`name ~ "/etc"`, no}, {`name ~ "*[[]x]"`, yes}, {`name ~ "/e?c/\\[*"`, yes},
		{`name ~ "/[a-f]tc*"`, yes}, {`name ~ "/[!a-f]tc*"`, no}, {`name !~ "x"`, yes}, {`name in {"a", "/etc/[x]"}`, yes},
		{`field.comm != "bash"`, no}, {`comm != field.comm`, yes}, {`name ~ "**a**[x]"`, no}, {`comm ~ "*"`, yes}, {`comm ~ ""`, no},
		{`field.comm in {"sh", "zsh"}`, no},

		// a zero is of either sign, and the rest of a division has the sign of what is divided
		{"field.pid - 99 < big * 0", no}, {"field.pid - 99 >= big * 0", yes}, {"big * 0 < field.pid - 99", no}, {"8 << field.pid - 99 == 8", yes}, {"ret < field.pid - 99", yes},
		{"-7 % 3 == -1", yes}, {"ret % 3 == -2", yes}, {"7 % -3 == 1", yes},

		// two texts of the event
		{"field.comm == field.comm", yes}, {"name == field.comm", no}, {"name != field.comm", yes},

		// globs that end with any text, and brackets that are not closed
		{`comm ~ "swapper/0**"`, yes}, {`comm ~ "*0*"`, yes}, {`comm ~ "swapper/*0?"`, no}, {`comm ~ "swapper/0\\"`, no},
		{`name ~ "/etc/[*"`, yes}, {`name ~ "/etc/["`, no}, {`name ~ "/etc/[x"`, no}, {`name ~ "/etc/[x]"`, no}, {`comm ~ "[s-"`, no},
		{`name ~ "/etc/[!x]x]"`, yes}, {`name ~ "/etc/[^x]x]"`, yes}, {`name ~ "/etc/[![]x]"`, no}, {`comm ~ "[s-]wapper*"`, yes},
		{"zz == 1", unknown},

		// numbers of a list
		{"field.pid in {1, 99}", yes}, {"ret in {-1, -2}", yes}, {"ret in {1}", no}, {"!(ret in {-2})", no}, {"big in {5}", no},

		// what has no value
		{"nosuch == 1", unknown}, {"nosuch == 1 || 1", yes}, {"1 || nosuch", yes}, {"nosuch && 0", no}, {"0 && nosuch", no},
		{"nosuch || 0", unknown}, {"!nosuch", unknown}, {"1 / (ret + 2)", unknown}, {"1 % 0", unknown}, {`nosuch ~ "x"`, unknown},
		{`nosuch == "x"`, unknown}, {`nosuch != "x"`, unknown}, {"nosuch != 1", unknown}, {"nosuch[1] == 1", unknown},
		{"nosuch in {1}", unknown}, {"ret in {nosuch, -2}", yes}, {"ret in {nosuch, 2}", unknown}, {"nosuch ? 1 : 1", unknown},
		{`"x" == name`, no}, {`"/etc/[x]" == name`, yes},
	} {
		e, err := expr.Parse(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		p, err := e.Compile("sched:sched_wakeup", f)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if got := p.Match(sample()); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.src, got, tt.want)
		}
	}
}

// TestEventNames: an event is called by its name with what is recorded behind it, or without.
func TestEventNames(t *testing.T) {
	for _, tt := range []struct{ event, yes, no string }{
		{"cpu-clock", "cpu-clock cpu-*", "clock cpu u cpu-clock:u *:*"},
		{"cpu-clock:u", "cpu-clock cpu-clock:u cpu-clock:* cpu-*", "u cpu-clock:k cpu *u"},
		{"cpu-clock:u+stacks", "cpu-clock cpu-clock:u cpu-clock:u+stacks", "u u+stacks cpu-clock:k+stacks"},
		{"cycles:ppp", "cycles cycles:ppp", "ppp"},
		{"cpu-clock+stacks", "cpu-clock cpu-clock+stacks", "stacks"},
		{"sched:sched_switch:u", "sched_switch sched:sched_switch sched:sched_switch:u sched:*", "u sched_switch:u sched"},
		{"sched:sched_switch", "sched_switch sched:sched_switch", "sched sched:sched_switch:u *d:*:u"},
		{"kprobe:vfs_read", "vfs_read kprobe:vfs_read", "kprobe"},
	} {
		for i, names := range []string{tt.yes, tt.no} {
			for name := range strings.FieldsSeq(names) {
				e, err := expr.Parse("event ~ '" + name + "' && !(event !~ '" + name + "')")
				if err != nil {
					t.Fatal(err)
				}
				p, err := e.Compile(tt.event, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := p.Match(sample()), []expr.Result{expr.Yes, expr.No}[i]; got != want {
					t.Errorf("%s, called %s: %v", tt.event, name, got)
				}
				if strings.Contains(name, "*") {
					continue
				}
				e, _ = expr.Parse("event == '" + name + "'")
				p, _ = e.Compile(tt.event, nil)
				if got, want := p.Match(sample()), []expr.Result{expr.Yes, expr.No}[i]; got != want {
					t.Errorf("%s == %s: %v", tt.event, name, got)
				}
			}
		}
	}
}

// TestErrors pins messages and places.
func TestErrors(t *testing.T) {
	f := parseFormat(t)
	for _, tt := range []struct{ src, want string }{
		{"", "the expression is empty\n  \n  ^"},
		{"ret =", "\"=\" is not an operator; equality is \"==\"\n  ret =\n      ^"},
		{"ret == ", "a field, a number or a string is missing before the end\n  ret == \n         ^"},
		{"ret == 1 2", "an operator is missing before \"2\"\n  ret == 1 2\n           ^"},
		{"(ret == 1", "\")\" is missing before the end\n  (ret == 1\n           ^"},
		{"ret $ 1", "'$' has no meaning here\n  ret $ 1\n      ^"},
		{"ret == 5x", "5x: not a number; its suffix may be K M G T or ns us ms s\n  ret == 5x\n         ^"},
		{"ret == 1.5", "1.5: not an integer\n  ret == 1.5\n         ^"},
		{"ret == 1.0001K", "1.0001K: not an integer\n  ret == 1.0001K\n         ^"},
		{"ret == 99999999999G", "99999999999G: beyond 64 bits\n  ret == 99999999999G\n         ^"},
		{"ret == 0x1ffffffffffffffff", "0x1ffffffffffffffff: beyond 64 bits\n  ret == 0x1ffffffffffffffff\n         ^"},
		{"name == 'x", "a string without its closing '\n  name == 'x\n          ^"},
		{"ret in 5", "in takes a list in braces, not \"5\"\n  ret in 5\n         ^"},
		{"ret in {5", "\",\" or \"}\" is missing before the end\n  ret in {5\n           ^"},
		{"ret ? 1", "\":\" is missing before the end\n  ret ? 1\n         ^"},
		{"field. == 1", "the name of a field is missing after \"field.\"\n  field. == 1\n         ^"},
		{"comm", "text is neither true nor false, and no number: compare it\n  comm\n  ^"},
		{"name + 1", "name is text, and a number must stand here\n  name + 1\n  ^"},
		{`ret == "abc"`, "text is compared here, and this is a number: strings are in quotes\n  ret == \"abc\"\n  ^"},
		{"name == 5", "text is compared here, and this is a number: strings are in quotes\n  name == 5\n          ^"},
		{"comm == bash", ""},
		{`ret ~ "x"`, "\"~\" compares text with a glob, and this is a number\n  ret ~ \"x\"\n  ^"},
		{"name ~ comm", "\"~\" takes a glob in quotes\n  name ~ comm\n         ^"},
		{"args == 1", "args is an array: one element of it is args[0]\n  args == 1\n  ^"},
		{"ret[0] == 1", "ret is no array\n  ret[0] == 1\n     ^"},
		{"odd == 1", "odd is of type struct x, which is no number\n  odd == 1\n  ^"},
		{"name == '\\", "a string without its closing '\n  name == '\\\n          ^"},
		{"äöü == 1", "'ä' has no meaning here\n  äöü == 1\n  ^"},
		{`comm == "äöü" $`, "'$' has no meaning here\n  comm == \"äöü\" $\n                ^"},
		{strings.Repeat("(", 1000), ""},
	} {
		e, err := expr.Parse(tt.src)
		if err == nil {
			_, err = e.Compile("sched:sched_wakeup", f)
		}
		if tt.want == "" && tt.src == "comm == bash" {
			if err != nil {
				t.Errorf("%s: %v", tt.src, err)
			}
			continue
		}
		var ee *expr.Error
		if !errors.As(err, &ee) || tt.want != "" && err.Error() != tt.want {
			t.Errorf("%.40s:\n%v\nwant\n%s", tt.src, err, tt.want)
		}
	}
}

// compile is an expression for events of a format.
func compile(t testing.TB, src string, f *format.Format) (*expr.Expr, *expr.Program) {
	t.Helper()
	e, err := expr.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Compile("sched:sched_wakeup", f)
	if err != nil {
		t.Fatal(err)
	}
	return e, p
}

func TestMissing(t *testing.T) {
	f := parseFormat(t)
	e, p := compile(t, "prt > 0 && nosuch[1] == 2 && comm == bash && other.pid > 0", f)
	if got := strings.Join(p.Missing(), " "); got != "prt nosuch bash other.pid" {
		t.Error(got)
	}
	bare, err := e.Compile("cycles", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "no event has a field \"prt\"; did you mean ptr?\n  prt > 0 && nosuch[1] == 2 && comm == bash && other.pid > 0\n  ^"
	if err := e.Check([]*expr.Program{p, bare}, []string{"ptr", "ret"}); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if got := strings.Join(e.Names(), " "); got != "prt nosuch comm bash other.pid" {
		t.Error(got)
	}
	e, _ = expr.Parse("ptr > 0")
	p, _ = e.Compile("sched:sched_wakeup", f)
	bare, _ = e.Compile("cycles", nil)
	if err := e.Check([]*expr.Program{bare, p}, nil); err != nil {
		t.Error(err)
	}
}

// TestShort evaluates on payloads that end anywhere: what is whole has its value.
func TestShort(t *testing.T) {
	f := parseFormat(t)
	_, p := compile(t, `ret < 0 && name ~ "/etc*" && args[2] && mask[5] && field.comm == "bash"`, f)
	for n := range len(payload()) {
		s := sample()
		s.Raw = s.Raw[:n:n]
		if r := p.Match(s); r != expr.Unknown {
			t.Errorf("of %d bytes: %v", n, r)
		}
	}
	if r := p.Match(sample()); r != expr.Yes {
		t.Error(r)
	}
}

func TestValue(t *testing.T) {
	f := parseFormat(t)
	for _, tt := range []struct {
		src       string
		want      int64
		saturated bool
	}{
		{"ret", -2, false}, {"big", 1<<63 - 1, true}, {"args[1] * 512", 10240, false}, {"field.pid - 100", -1, false},
		{"0x7fffffffffffffff", 1<<63 - 1, false}, {"0x8000000000000000", 1<<63 - 1, true},
		{"big - 5", -1 << 63, false}, {"ret < 0 ? -ret : ret", 2, false}, {"name == 'x'", 0, false},
	} {
		_, p := compile(t, tt.src, f)
		v, ok := p.Value(sample())
		if n, sat := v.Int64(); !ok || n != tt.want || sat != tt.saturated {
			t.Errorf("%s: %d %v %v", tt.src, n, sat, ok)
		}
	}
	for src, want := range map[string]string{"field.pid": "pid", "(ret)": "ret", "ret + 0": "", "pid": "", "nosuch": "", "args[1]": ""} {
		e, _ := expr.Parse(src)
		p, err := e.Compile("sched:sched_wakeup", f)
		if err != nil {
			t.Fatal(err)
		}
		if x := p.Field(); x == nil && want != "" || x != nil && x.Name != want {
			t.Errorf("%s is the field %+v", src, x)
		}
	}
	e, _ := expr.Parse("pid + cpu")
	p, _ := e.Compile("cycles", nil)
	if v, ok := p.Value(&expr.Sample{PID: 2, CPU: 3, Without: expr.OwnCPU}); ok {
		t.Error(v)
	}
}

// TestOptional: what samples of some events have is found by name where no field has it, registers
// in any case, those of the user before those that were interrupted; where a sample has none there is no value.
func TestOptional(t *testing.T) {
	const memory = expr.OwnAddr | expr.OwnWeight | expr.OwnInsLat | expr.OwnRetireLat | expr.OwnDataPageSize | expr.OwnCodePageSize | expr.OwnDataSrc
	has := expr.Optional{Own: memory, UserRegs: []string{"AX", "IP", "RET"}, IntrRegs: []string{"IP", "CX"}}
	if got := strings.Join(has.Names(), " "); got != "addr ax code_page_size cx data_page_size data_src ins_lat ip mem_blk mem_dtlb mem_lock mem_lvl mem_op mem_snoop ret retire_lat weight" {
		t.Errorf("names %s", got)
	}
	const yes, unknown = expr.Yes, expr.Unknown
	for _, tt := range []struct {
		src, missing string
		is           bool // such a name and nothing else
		want, none   expr.Result
	}{
		{"addr", "", true, yes, unknown},
		{"addr == 0x1000", "", false, yes, unknown},
		{"weight == 7", "", false, yes, unknown},
		{"ins_lat == 8 && retire_lat == 9", "", false, yes, unknown},
		{"data_page_size == 2M && code_page_size == 4K", "", false, yes, unknown},
		{"data_src == 0x182820042", "", false, yes, unknown},
		{"mem_op == 'LOAD'", "", false, yes, unknown},
		{"mem_lvl ~ 'I/O *' && mem_lvl !~ '*miss'", "", false, yes, unknown},
		{"mem_snoop in {'Hit', 'HitM'} && mem_lock != mem_snoop", "", false, yes, unknown},
		{"mem_dtlb == 'Walker or Fault' && 'N/A' == mem_blk", "", false, yes, unknown},
		{"field.mem_op == 'LOAD'", "field.mem_op", false, unknown, unknown},
		{"phys_addr == 0", "phys_addr", false, unknown, unknown}, // of this event
		{"field.addr == 0x1000", "field.addr", false, unknown, unknown},
		{"ax == 1 && AX == 1", "", false, yes, unknown},
		{"uregs.ax", "", true, yes, unknown},
		{"ip == 2 && uregs.ip == 2 && iregs.ip == 4 && cx == 5", "", false, yes, unknown},
		{"iregs.ax", "iregs.ax", false, unknown, unknown},
		{"bx", "bx", false, unknown, unknown},
		{"ret == -2 && uregs.ret == 3", "", false, yes, unknown}, // the event's field, and the register
		{"ret == -2", "", false, yes, yes},
		{"field.pid", "", false, yes, yes},
		{"pid", "", false, yes, yes},
		{"pid == -1 && pid < 0", "", false, yes, yes}, // as the kernel calls those outside the pid namespace
	} {
		e, err := expr.Parse(tt.src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.CompileFor("sched:sched_wakeup", parseFormat(t), has)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Missing(), " "); got != tt.missing || p.Optional() != tt.is {
			t.Errorf("%s: missing %q, want %q; is one: %v", tt.src, got, tt.missing, p.Optional())
		}
		s := &expr.Sample{PID: -1, Addr: 0x1000, PhysAddr: 0, Weight: 7, InsLat: 8, RetireLat: 9, DataPageSize: 2 << 20, CodePageSize: 4096, DataSrc: 0x182820042, UserRegs: []uint64{1, 2, 3}, IntrRegs: []uint64{4, 5}, Raw: payload()}
		if got := p.Match(s); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.src, got, tt.want)
		}
		s.Without, s.UserRegs, s.IntrRegs = memory, nil, nil
		if got := p.Match(s); got != tt.none {
			t.Errorf("%s, of a sample without: %v, want %v", tt.src, got, tt.none)
		}
	}
}

// TestTextOf: what is text has no number, and as a condition it is refused; it is evaluated without allocation.
func TestTextOf(t *testing.T) {
	has := expr.Optional{Own: expr.OwnDataSrc}
	s := &expr.Sample{Comm: "ls", DataSrc: 0x182820042}
	for src, want := range map[string]string{"mem_lvl": "I/O hit", "comm": "ls", "'x'": "x", "pid": ""} {
		e, err := expr.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := e.CompileFor("cycles", nil, has); (err == nil) != (want == "") {
			t.Errorf("%s is %v a condition: %v", src, p, err)
		}
		p, err := e.CompileText("cycles", nil, has)
		if err != nil || p.IsText() != (want != "") {
			t.Fatalf("%s: text %v, %v", src, p.IsText(), err)
		}
		if got, ok := p.Text(s, []byte("= ")); p.IsText() && (!ok || string(got) != "= "+want) {
			t.Errorf("%s: %q, %v, want %q", src, got, ok, want)
		}
	}
	e, _ := expr.Parse("mem_lvl == 'I/O hit' && mem_op ~ 'L*' && mem_lock in {'No', mem_snoop, 'Yes'}")
	p, err := e.CompileFor("cycles", nil, has)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if p.Match(s) != expr.Yes {
			t.Fatal("it does not match")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLimits: long expressions are read, and those refused that would take memory without bound.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		what, src string
		read      bool
	}{
		{"300 terms", "(1)" + strings.Repeat("+(1)", 300), true},
		{"300 negations beside each other", "!1" + strings.Repeat("||!1", 300), true},
		{"500 terms", "1" + strings.Repeat("+1", 500), false},
		{"90 parentheses", strings.Repeat("(", 90) + "1" + strings.Repeat(")", 90), true},
		{"210 parentheses", strings.Repeat("(", 210) + "1" + strings.Repeat(")", 210), false},
		{"a list of 10000", "ret in {1" + strings.Repeat(",1", 10000) + "}", true},
		{"a list of 20000", "ret in {1" + strings.Repeat(",1", 20000) + "}", false},
		{"64 KiB", strings.Repeat(" ", 64<<10-1) + "1", true},
		{"a byte more", strings.Repeat(" ", 64<<10) + "1", false},
	} {
		if _, err := expr.Parse(tt.src); (err == nil) != tt.read {
			t.Errorf("%s: %.80v", tt.what, err)
		}
	}
}

// TestText: a string is what it says, all else what is written.
func TestText(t *testing.T) {
	for src, want := range map[string]string{`"a b"`: "a b", `'a\tb'`: "a\tb", "a + 1": "a + 1", `a == "b"`: `a == "b"`} {
		e, err := expr.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Text(); got != want || e.String() != src {
			t.Errorf("%s: text %q, want %q", src, got, want)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	f := parseFormat(t)
	_, p := compile(t, `field.comm ~ "ba*" && name in {"a", "/etc/[x]"} && comm != "x" && ret * 2 < 0 && args[1] == 20 && mask[5] && field.comm != comm`, f)
	s := sample()
	if n := testing.AllocsPerRun(100, func() {
		if p.Match(s) != expr.Yes {
			t.Fatal("no match")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
