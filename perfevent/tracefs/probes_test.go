package tracefs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

func TestParseProbe(t *testing.T) {
	for line, want := range map[string]Probe{
		"p:kprobes/myprobe do_sys_openat2 dfd=%ax file=%dx": {Group: "kprobes", Name: "myprobe", Place: "do_sys_openat2", Args: "dfd=%ax file=%dx"},
		"p:myprobe 0xffffffff81000000":                      {Name: "myprobe", Place: "0xffffffff81000000"},
		"r:g/ret vfs_read $retval":                          {Return: true, Group: "g", Name: "ret", Place: "vfs_read", Args: "$retval"},
		"r16:g/ret mod:func+0":                              {Return: true, MaxActive: "16", Group: "g", Name: "ret", Place: "mod:func+0"},
		"p:uprobes/u /bin/a b:0x12 %ip":                     {User: true, Group: "uprobes", Name: "u", Place: "/bin/a", Args: "b:0x12 %ip"},
		"p:u /bin/sh:0x12(0x34)":                            {User: true, Name: "u", Place: "/bin/sh:0x12(0x34)"},
	} {
		got, err := ParseProbe(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", line, d)
		}
		if got.String() != line {
			t.Errorf("%s became %s", line, got)
		}
	}
	// Without a name, or with the return in the place: what the kernel makes of it.
	for line, want := range map[string]string{
		"p kernel_clone %x0":                      "p:p_kernel_clone_0 kernel_clone %x0",
		"r kernel_clone pid=%x0":                  "r:r_kernel_clone_0 kernel_clone pid=%x0",
		"p\tvfs_read+0x10  a=%di":                 "p:p_vfs_read_16 vfs_read+0x10 a=%di",
		"p loop:loop_control_ioctl":               "p:p_loop_loop_control_ioctl_0 loop:loop_control_ioctl",
		"p 0xffffffff81000000 %x0":                "p:p_0xffffffff81000000 0xffffffff81000000 %x0",
		"r500 vfs_read":                           "r500:r_vfs_read_0 vfs_read",
		"p:g/x vfs_read%return $retval":           "r:g/x vfs_read $retval",
		"p /bin/bash-static.old:0x4710":           "p:p_bash_0x4710 /bin/bash-static.old:0x4710",
		"r /lib/libc.so.6:18192(0x10) %ip":        "r:p_libc_0x4710 /lib/libc.so.6:18192(0x10) %ip",
		"f vfs_read":                              "f:vfs_read__entry vfs_read",
		"f vfs_read%return $retval":               "f:vfs_read__exit vfs_read%return $retval",
		"f8:g/x vfs_read%return arg1=$arg1":       "f8:g/x vfs_read%return arg1=$arg1",
		"t sched_switch prev=prev->pid":           "t:sched_switch sched_switch prev=prev->pid",
		"p " + strings.Repeat("x", 80) + " a=%di": "p:p_" + strings.Repeat("x", 61) + " " + strings.Repeat("x", 80) + " a=%di",
	} {
		got, err := ParseProbe(line)
		if err != nil || got.String() != want {
			t.Errorf("%s became %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"p8:a b", "t8:a b", "f8:a b", "f1x:a b%return", "p:a %return", "p %return", "f", "t:x", "", "p", "p:", "p:x", "q:x y", "p: y", "r1x:a b", "r99999:a b", "p:g/ f", "-:g/x"} {
		if p, err := ParseProbe(line); err == nil {
			t.Errorf("%q: %+v, no error", line, p)
		}
	}
}

func FuzzParseProbe(f *testing.F) {
	fuzztest.Add(f)
	f.Add("p:g/n do_sys_openat2 a=%di")
	f.Add("r3:n /bin/x:0x1 ret=$retval")
	f.Add("p 0xffffffff81000000 %x0")
	f.Add("f8:n vfs_read%return ret=$retval")
	f.Fuzz(func(t *testing.T, line string) {
		defer memtest.Within(t, 1<<20+500*len(line))()
		p, err := ParseProbe(line)
		if err != nil {
			return
		}
		again, err := ParseProbe(p.String())
		if err != nil || again != p {
			t.Errorf("%q: %+v, then %+v, %v", line, p, again, err)
		}
	})
}

func TestParseErrorLog(t *testing.T) {
	const log = `[  220.123456] trace_kprobe: error: Invalid probed address or symbol
  Command: p:g/x nosuch
                 ^
[  220.123457] trace_kprobe: error: Unknown type is specified
  Command: p:g/x vfs_read a=$arg1:u99
                                  ^
[  221.000000] trace_uprobe: error: Dereference brace is not closed
  Command: p:g/x vfs_read a=+0(
                              ^
`
	for def, want := range map[string]struct {
		reason string
		off    int
	}{
		"p:g/x nosuch":               {"Invalid probed address or symbol", 6},
		"p:g/x vfs_read a=$arg1:u99": {"Unknown type is specified", 23},
		"p:g/x vfs_read a=+0(":       {"Dereference brace is not closed", 19},
		"p:g/y nosuch":               {"", -1},
	} {
		if reason, off := parseErrorLog(def, log); reason != want.reason || off != want.off {
			t.Errorf("%s: %q at %d; want %+v", def, reason, off, want)
		}
	}
	e := &ProbeError{Definition: "p:g/x nosuch", Reason: "Invalid", Offset: 6}
	if got := e.Caret(); got != "p:g/x nosuch\n      ^" {
		t.Error(got)
	}
}

// TestCounts reads profiles of probes of one name in two groups.
func TestCounts(t *testing.T) {
	probes := []Probe{{Group: "a", Name: "x"}, {Group: "b", Name: "x"}}
	if !addCounts(probes, "  x       5     1\n  x       7   0\n", false) {
		t.Fatal("not taken")
	}
	if probes[0].Counts != (Counts{5, 1, true}) || probes[1].Counts != (Counts{7, 0, true}) {
		t.Errorf("%+v", probes)
	}
	for _, profile := range []string{"", "  x 1 2\n", "  x 1 2\n  y 1 2\n", "  x 1 2\n  x 1 2\n  x 1 2\n", "x\nx\n", "x x x\nx x x\n"} {
		if addCounts(probes, profile, false) {
			t.Errorf("%q: taken", profile)
		}
	}
	user := []Probe{{User: true, Name: "u"}}
	if !addCounts(user, "  /bin/a b u     12\n", true) || user[0].Counts != (Counts{12, 0, false}) {
		t.Errorf("%+v", user)
	}
}

func TestIdentifier(t *testing.T) {
	for s, want := range map[string]string{"vfs_read": "vfs_read", "do.isra.0": "do_isra_0", "0x1": "_0x1", "": "_", "a::b(int)": "a__b_int_", strings.Repeat("x", 99): strings.Repeat("x", 63)} {
		if got := Identifier(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestParseOwner(t *testing.T) {
	for _, o := range []Owner{{1, 2, 0}, {4194304, 1 << 40, 4026532000}} {
		if got, ok := ParseOwner(o.Group()); !ok || got != o {
			t.Errorf("%+v, %v; want %+v", got, ok, o)
		}
	}
	for _, g := range []string{"", "kprof", "kprof_", "kprof_1", "kprof_x_1", "kprof_1_2_3_4", "kprof_1_2_0", "kprof_01_2", "kprof_-1_2", "kprobes"} {
		if o, ok := ParseOwner(g); ok {
			t.Errorf("%s: %+v", g, o)
		}
	}
	self, err := Self()
	if err != nil || self.State() != Running {
		t.Errorf("%+v, %v: %d", self, err, self.State())
	}
	self.Start++
	if self.State() != Gone {
		t.Error("another process of that pid is taken for the owner")
	}
	if (Owner{PID: 1 << 22, Start: 1, Namespace: self.Namespace}).State() != Gone {
		t.Error("a process that is not there runs")
	}
	self.Namespace++
	if self.State() != Elsewhere {
		t.Error("another namespace's process is judged")
	}
}
