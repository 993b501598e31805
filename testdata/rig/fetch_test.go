package rig

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// TestGuestFetch fetches the same arguments by every type that the kernel has, and
// by what a probe can see besides them.
func TestGuestFetch(t *testing.T) {
	guest(t)
	file := filepath.Join(t.TempDir(), "x")
	livetest.WriteFile(t, file, "")
	// AT_FDCWD is -100, 0xffffff9c. struct open_how has flags, mode and resolve.
	fetch := []struct{ arg, want string }{
		{"a=$arg1:s8", "a=(-100|156)"}, // perf 6.1 leaves signs out of numbers this small
		{"b=$arg1:u8", "b=156"},
		{"c=$arg1:x8", "c=0x9c"},
		{"d=$arg1:s16", "d=(-100|65436)"},
		{"e=$arg1:u16", "e=65436"},
		{"f=$arg1:x16", "f=0xff9c"},
		{"g=$arg1:s32", "g=-100"},
		{"h=$arg1:u32", "h=4294967196"},
		{"i=$arg1:x32", "i=0xffffff9c"},
		{"j=+0($arg3):u64", "j=[0-9]+"},
		{"k=+8($arg3):s64", "k=0"},
		{"l=+8($arg3):x64", "l=0x0"},
		// Four bits of 0x9c, from bit 4 on.
		{"m=$arg1:b4@4/32", "m=9"},
		{"n=+8($arg3):x64[2]", `n=\{0x0,0x0\}`},
		{"o=+0($arg2):ustring", `o="` + regexp.QuoteMeta(file) + `"`},
		{"p=+u5($arg2):string", `p="` + regexp.QuoteMeta(file[5:]) + `"`},
		{"u=+u0($arg2):x32", "u=0x706d742f"}, // "/tmp"
		{`q=\42:u8`, "q=42"},
		{"r=$comm", `r="cat"`},
		{"s=$stack2:x64", "s=0x[0-9a-f]+"},
		{"t=$stack:x64", "t=0x[0-9a-f]+"},
	}
	var args, wants []string
	for _, f := range fetch {
		args, wants = append(args, f.arg), append(wants, f.want)
	}
	// The caller as a symbol; what lies at a symbol. Symbols of data are listed
	// by x86 kernels only (KALLSYMS_ALL).
	caller, at, is := "$stack0", "@linux_banner:string", `"Linux version `
	if runtime.GOARCH == "arm64" {
		caller, at, is = "%x30", "@vfs_write:x32", "0x[0-9a-f]+"
	}
	record(t, "fetch", []want{
		{1, `kprobe:do_sys_openat2: \([0-9a-f]+\) ` + strings.Join(wants, " ") + `$`},
		{100, `kprobe:write_null: \([0-9a-f]+\) from=\S+ at=` + is},
	},
		"-e", "kprobe:do_sys_openat2 "+strings.Join(args, " "),
		"-e", fmt.Sprintf("kprobe:write_null from=%s:symbol at=%s", caller, at),
		"--", "sh", "-c", "cat "+file+"; "+strings.Join(dd, " "))
}

// loadLoop loads the module loop, for the time of the test.
func loadLoop(t *testing.T) {
	t.Helper()
	if err := load(t); err != nil && !errors.Is(err, unix.EEXIST) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.DeleteModule("loop", 0); err != nil {
			t.Error(err)
		}
	})
}

// TestGuestModule probes a function of a module that has been loaded, with its
// arguments by name, which /sys/kernel/btf/loop knows.
func TestGuestModule(t *testing.T) {
	guest(t)
	loadLoop(t)
	// It asks once for a free device: LOOP_CTL_GET_FREE, 0x4c82.
	ask := []string{"--", "losetup", "-f"}
	// Twice by name, once with and once without its module.
	var wants []want
	var events []string
	for _, place := range []string{"loop:loop_control_ioctl", "loop_control_ioctl"} {
		wants = append(wants, want{1, `^losetup .*kprobe:` + place + `: \([0-9a-f]+\) cmd=19586 parm=0x[0-9a-f]+$`})
		events = append(events, "-e", "kprobe:"+place+" cmd parm:x64")
	}
	record(t, "module", wants, append(events, ask...)...)
	said := record(t, "module-pmu", []want{{1, `^losetup .*kprobe:loop:loop_control_ioctl:`}, {1, `^losetup .*kretprobe:loop:loop_control_ioctl:`}},
		append([]string{"--probe-via", "pmu", "-e", "kprobe:loop:loop_control_ioctl,kretprobe:loop:loop_control_ioctl"}, ask...)...)
	for _, e := range []string{"kprobe", "kretprobe"} {
		if want := e + ":loop:loop_control_ioctl: 1 hits, 1 samples, 0 lost"; !strings.Contains(said, want) {
			t.Errorf("want %q in\n%s", want, said)
		}
	}
	code, folded, said := kprof(t, append([]string{"record", "-q", "-e", "kprobe:loop:loop_control_ioctl", "-o", "-", "-f", "folded"}, ask...)...)
	if code != 0 || !regexp.MustCompile(`(?m)^losetup;.*sys_ioctl;loop_control_ioctl 1$`).MatchString(folded) {
		t.Errorf("exit code %d: %s%s", code, folded, said)
	}
	for _, tt := range []struct{ event, want string }{
		{"kprobe:loop:vfs_read", "no such function"},
		{"kprobe:loop:loop_control_ioctl nosuch", "there are: file, cmd, parm"},
	} {
		if code, _, said := kprof(t, "record", "-e", tt.event, "--", "true"); code != 1 || !strings.Contains(said, tt.want) {
			t.Errorf("%s: exit code %d, want %q in\n%s", tt.event, code, tt.want, said)
		}
	}
}

// TestGuestDoctor: what a hit of a kernel probe costs.
func TestGuestDoctor(t *testing.T) {
	guest(t)
	code, out, said := kprof(t, "doctor")
	if want := regexp.MustCompile(`(?m)^  OK  kprobe hit +costs \S+s through the PMU, and \S+s for each further CPU; \S+s through tracefs$`); code != 0 || said != "" || !want.MatchString(out) {
		t.Errorf("exit code %d: %s%s", code, said, out)
	}
}
