// Package rig has the tests of testdata/rig.sh: those of the kprof program that
// run in a guest, and those that have this machine's perf read what it recorded.
package rig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"

	"golang.org/x/sys/unix"
)

const tracing = "/sys/kernel/tracing/"

// guest skips t unless it runs in a guest, with kprof in PATH. It wants the
// kernel to have no probes, before and after.
func guest(t *testing.T) {
	t.Helper()
	inGuest(t)
	wantNoProbes(t)
	t.Cleanup(func() { wantNoProbes(t) })
}

// inGuest skips t elsewhere.
func inGuest(t *testing.T) {
	t.Helper()
	if os.Getenv("KPROF_LIVE") != "guest" {
		t.Skip("runs in the guests of testdata/rig.sh")
	}
}

func wantNoProbes(t *testing.T) {
	t.Helper()
	if p := probes(t); p != "" {
		t.Errorf("probes in tracefs:\n%s", p)
	}
}

func probes(t *testing.T) string {
	t.Helper()
	var all string
	for _, name := range []string{"kprobe_events", "uprobe_events"} {
		b, err := os.ReadFile(tracing + name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(b)
	}
	return all
}

// kprof runs kprof and returns its exit code and what it wrote.
func kprof(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("kprof", args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// want is how often a pattern is in what perf script prints of a recording;
// at least once, if times is 0.
type want struct {
	times   int
	pattern string
}

// record has kprof record a command into a file that leaves the guest, with
// what perf should find in it. It returns kprof's messages.
func record(t *testing.T, name string, wants []want, args ...string) string {
	t.Helper()
	dir := os.Getenv("KPROF_KEEP")
	if dir == "" {
		dir = t.TempDir()
	}
	file := filepath.Join(dir, name+".data")
	code, _, stderr := kprof(t, append([]string{"record", "--no-symbols", "-o", file}, args...)...)
	if code != 0 {
		t.Fatalf("%q: exit code %d\n%s", args, code, stderr)
	}
	t.Logf("%s", stderr)
	var text strings.Builder
	for _, w := range wants {
		regexp.MustCompile(w.pattern)
		fmt.Fprintf(&text, "%d %s\n", w.times, w.pattern)
	}
	livetest.WriteFile(t, filepath.Join(dir, name+".want"), text.String())
	return stderr
}

var dd = []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100"}

// TestGuestHits: dd calls write_null 100 times, and nobody else does. On the whole
// machine a probe is one for each CPU up to four, and one in tracefs beyond, unless
// somebody says otherwise; misses are known of the latter.
func TestGuestHits(t *testing.T) {
	guest(t)
	pmuAll, tracefsAll := "auto", "tracefs"
	if runtime.NumCPU() > 4 {
		pmuAll, tracefsAll = "pmu", "auto"
	}
	for _, tt := range []struct {
		name, via, misses string
		all               []string
	}{
		{"pmu", "pmu", "unknown", nil},
		{"pmu-all", pmuAll, "unknown", []string{"-a"}},
		{"tracefs", "tracefs", "0", nil},
		{"tracefs-all", tracefsAll, "0", []string{"-a"}},
	} {
		args := append([]string{"--probe-via", tt.via, "-e", "kprobe:write_null", "-e", "kretprobe:write_null"}, tt.all...)
		said := record(t, tt.name, []want{
			{100, `^dd +[0-9]+ \[[0-9]+\] +[0-9.]+: .*\bkprobe:write_null:`},
			{100, `^dd +[0-9]+ \[[0-9]+\] +[0-9.]+: .*kretprobe:write_null:`},
		}, append(append(args, "--"), dd...)...)
		for _, e := range []string{"kprobe", "kretprobe"} {
			line := fmt.Sprintf("kprof: %s:write_null: 100 hits, 100 samples, 0 lost, misses unknown\n", e)
			if tt.misses == "0" {
				line = fmt.Sprintf("kprof: %s:write_null: 100 kernel hits = 100 samples + 0 filtered + 0 lost + 0 missed\n", e)
			}
			if !strings.Contains(said, line) {
				t.Errorf("%s: want %q in\n%s", tt.name, line, said)
			}
		}
		wantNoProbes(t)
	}
}

// TestGuestFolded names the function and its callers, in a recording of both the
// entry and the return: a return probe hides the return address from others, and its
// own stack begins at the caller.
func TestGuestFolded(t *testing.T) {
	guest(t)
	// On x86, what calls ksys_write may do so with its last instruction, and is
	// not there.
	callers := map[string]string{"amd64": "(do_syscall_64|__x64_sys_write)", "arm64": "__arm64_sys_write"}[runtime.GOARCH] + ";ksys_write;vfs_write"
	file := filepath.Join(t.TempDir(), "folded.data")
	args := append([]string{"record", "-q", "-e", "kprobe:write_null,kretprobe:write_null", "-o", file, "--"}, dd...)
	if code, _, stderr := kprof(t, args...); code != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, event := range []string{"kprobe:write_null", "kretprobe:write_null"} {
		code, stdout, stderr := kprof(t, "convert", file, "--event", event, "-o", "-", "-f", "folded")
		want := regexp.MustCompile(`(?m)^dd;.*;` + callers + `;write_null 100$`)
		if code != 0 || !want.MatchString(stdout) {
			t.Errorf("%s: exit code %d, want %s in\n%s%s", event, code, want, stdout, stderr)
		}
	}
}

// registers are the first six arguments of a function.
var registers = map[string][]string{
	"amd64": {"%di", "%si", "%dx", "%cx", "%r8", "%r9"},
	"arm64": {"%x0", "%x1", "%x2", "%x3", "%x4", "%x5"},
}[runtime.GOARCH]

// TestGuestArguments reads back what a program passed.
func TestGuestArguments(t *testing.T) {
	guest(t)
	file := filepath.Join(t.TempDir(), "a file")
	livetest.WriteFile(t, file, "")
	path := `="` + regexp.QuoteMeta(file) + `"`
	record(t, "arguments", []want{
		// O_RDONLY with or without O_LARGEFILE; AT_FDCWD.
		{1, `kprobe:do_sys_openat2: \([0-9a-f]+\) dfd=-100 file` + path + ` flags=0x[0-9]+`},
		{1, `^cat .*kretprobe:do_sys_openat2: \([0-9a-f]+ <- [0-9a-f]+\) fd=3$`},
		// The same by name.
		{1, `kprobe:do_sys_openat2: \([0-9a-f]+\) dfd=-100 filename` + path + ` flags=0x[0-9]+ m=0$`},
	},
		"-e", `kprobe:do_sys_openat2 dfd=$arg1:s32 file=+0($arg2):ustring flags=+0($arg3):x64`,
		"-e", `kretprobe:do_sys_openat2 fd=$retval:s32`,
		"-e", `kprobe:do_sys_openat2 dfd filename:ustring how->flags:x64 m=how->mode`,
		"--", "cat", file)
}

// TestGuestExamples are the examples of kernel documentation and of people's
// notes, as they write them.
func TestGuestExamples(t *testing.T) {
	guest(t)
	six := ""
	for i, r := range registers {
		six += fmt.Sprintf(" a%d=%s", i+1, r)
	}
	record(t, "examples", []want{
		{100, `^dd .* kprobes:six: \([0-9a-f]+\) a1=0x[0-9a-f]+ a2=0x[0-9a-f]+ a3=0x1 a4=0x[0-9a-f]+ a5=0x[0-9a-f]+ a6=0x[0-9a-f]+$`},
		{100, `^dd .* mine:ret: \([0-9a-f]+ <- [0-9a-f]+\) got=1$`},
		// struct wait_opts { enum pid_type wo_type; int wo_flags; …
		{0, `^sh .* kprobe:do_wait: \([0-9a-f]+\) type=[0-9]+ flags=0x[0-9a-f]+ comm="sh"$`},
		{100, `^dd .* kprobe:0x[0-9a-f]+: \([0-9a-f]+\) one=1 stack=0x[0-9a-f]+$`},
	},
		"-e", "p:six write_null"+six,
		"-e", "r:mine/ret write_null got=$retval:s64",
		"-e", `kprobe:do_wait type=+0($arg1):u32 flags=+4($arg1):x32 comm=$comm`,
		"-e", fmt.Sprintf(`kprobe:%#x one=%s:u64 stack=$stack0`, address(t, "write_null"), registers[2]),
		"--", "sh", "-c", strings.Join(dd, " ")+"; (exit 3); :")
}

func address(t *testing.T, name string) uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^([0-9a-f]+) [tT] ` + name + `$`).FindSubmatch(b)
	var addr uint64
	if m == nil {
		t.Fatalf("no %s in /proc/kallsyms", name)
	}
	if _, err := fmt.Sscanf(string(m[1]), "%x", &addr); err != nil {
		t.Fatal(err)
	}
	return addr
}

// TestGuestKilled: what a kprof that was killed leaves behind, the next one
// removes, whatever it records; a signal leaves nothing.
func TestGuestKilled(t *testing.T) {
	guest(t)
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGINT, unix.SIGTERM} {
		file := filepath.Join(t.TempDir(), "perf.data")
		cmd := exec.Command("kprof", "record", "--no-symbols", "-a", "-e", "kprobe:write_null size=$arg3", "-o", file)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The file is made once the probe is recorded.
		for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			if st, err := os.Stat(file); err == nil && st.Size() > 0 {
				break
			}
			if time.Since(begun) > 20*time.Second {
				t.Fatalf("kprof does not record: %s", &stderr)
			}
		}
		if sig == unix.SIGKILL {
			_, listed, _ := kprof(t, "probe", "list")
			if !strings.Contains(listed, fmt.Sprintf("kprof %d (running)", cmd.Process.Pid)) || !strings.Contains(listed, "write_null size=$arg3") {
				t.Errorf("%v: %s", sig, listed)
			}
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if sig != unix.SIGKILL {
			wantNoProbes(t)
			continue
		}
		if _, listed, _ := kprof(t, "probe", "list"); !strings.Contains(listed, "(gone)") {
			t.Errorf("after a kill: %s", listed)
		}
		code, _, said := kprof(t, "record", "--no-symbols", "-e", "page-faults", "-o", file, "--", "true")
		if code != 0 || !strings.Contains(said, "left behind: kprof_") {
			t.Errorf("exit code %d: %s", code, said)
		}
		wantNoProbes(t)
	}
}

// TestGuestKept makes a probe, records it twice, as the tracepoint that it is,
// and removes it; cleanup leaves it alone.
func TestGuestKept(t *testing.T) {
	guest(t)
	code, name, said := kprof(t, "probe", "add", "kprobe:write_null size=$arg3")
	if code != 0 || name != "kprof:write_null\n" {
		t.Fatalf("exit code %d: %s%s", code, name, said)
	}
	record(t, "kept", []want{{100, `^dd .*kprof:write_null: \([0-9a-f]+\) size=0x1$`}}, append([]string{"-e", "kprof:write_null", "--"}, dd...)...)
	if code, out, said := kprof(t, "probe", "cleanup"); code != 0 || out != "" {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	_, listed, _ := kprof(t, "probe", "list")
	if !regexp.MustCompile(`(?m)^kprof:write_null +100 +0 +kept +p:kprof/write_null write_null(\+0)? size=\$arg3$`).MatchString(listed) {
		t.Errorf("%s", listed)
	}
	if code, _, said := kprof(t, "probe", "add", "kprobe:write_null"); code != 1 || !strings.Contains(said, "give it another name") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, _, said := kprof(t, "probe", "del", "kprof:write_null"); code != 0 {
		t.Errorf("exit code %d: %s", code, said)
	}
	if code, _, _ := kprof(t, "probe", "del", "kprof:write_null"); code != 1 {
		t.Errorf("a second time: exit code %d", code)
	}
}

// TestGuestTwo: two kprofs record the same function at once.
func TestGuestTwo(t *testing.T) {
	guest(t)
	done := make(chan string, 2)
	for i := range 2 {
		go func() {
			file := filepath.Join(t.TempDir(), fmt.Sprintf("%d.data", i))
			out, err := exec.Command("kprof", append([]string{"record", "--no-symbols", "-e", "kprobe:write_null size=$arg3", "-o", file, "--"}, dd...)...).CombinedOutput()
			if err != nil {
				out = append(out, err.Error()...)
			}
			done <- string(out)
		}()
	}
	// The kernel counts the other one's hits too, while both record.
	account := regexp.MustCompile(`kprobe:write_null: \d+ kernel hits = 100 samples \+ \d+ filtered \+ 0 lost \+ 0 missed`)
	for range 2 {
		if said := <-done; !account.MatchString(said) {
			t.Error(said)
		}
	}
}

// TestGuestRefused: exit code 1, one clear line, and the place in a definition.
func TestGuestRefused(t *testing.T) {
	guest(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-e", "kprobe:vfs_raed"}, "did you mean vfs_read"},
		{[]string{"-e", "kprobe:*"}, "functions match *, and each is slowed down"},
		{[]string{"-e", "kprobe:vfs_read a=$arg1:u99"}, "p:kprof_"},
		{[]string{"-e", "kprobe:write_null size=$arg3", "-e", "kprobe:nosuchfunction"}, "no such function"},
	} {
		code, _, said := kprof(t, append(append([]string{"record", "-o", filepath.Join(t.TempDir(), "x.data")}, tt.args...), "--", "true")...)
		if code != 1 || !strings.Contains(said, tt.want) {
			t.Errorf("%q: exit code %d, want %q in\n%s", tt.args, code, tt.want, said)
		}
		wantNoProbes(t)
	}
}
