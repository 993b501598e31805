package rig

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// The lines of the walk-throughs that the field has: probes as the kernel's own language
// has them, with and without names and labels, recorded while a program makes calls whose
// arguments are known.

// What the program of the walk-throughs calls, and how often.
const (
	walkCalls  = 3
	walkWrites = 30
	walkPipes  = 12
	walkLen    = 0x12345000
	walkPage   = 0x77
	walkFlags  = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	walkFile   = "/tmp/to walk on"
)

// TestWalkProgram is that program. It says which thread will make the calls, waits for a
// line, makes them, and says where its maps were made.
func TestWalkProgram(t *testing.T) {
	if os.Getenv("KPROF_WALK") == "" {
		t.Skip("runs as a program of TestGuestWalk")
	}
	runtime.LockOSThread()
	var first unix.CPUSet
	first.Set(0)
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("thread %d\n", unix.Gettid())
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for range walkCalls {
		at, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, walkLen, unix.PROT_NONE, walkFlags, ^uintptr(0), uintptr(walkPage*os.Getpagesize()))
		if errno != 0 {
			t.Fatal(errno)
		}
		fmt.Printf("map %#x\n", at)
		if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
			t.Fatal(err)
		}
		if _, err := os.Open(walkFile); !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	// Which take memory by kmalloc, of several sizes.
	for i := range walkPipes {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(ends[0]), unix.F_SETPIPE_SZ, os.Getpagesize()<<(i%3)); err != nil {
			t.Fatal(err)
		}
		_, _ = unix.Close(ends[0]), unix.Close(ends[1])
	}
	for range walkWrites {
		if _, err := unix.Write(int(null.Fd()), []byte("walk")); err != nil {
			t.Fatal(err)
		}
	}
}

// walk is a program that waits to be let go.
type walk struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	thread int
}

func startWalk(t *testing.T) *walk {
	t.Helper()
	w := &walk{Cmd: exec.Command("/proc/self/exe", "-test.run=^TestWalkProgram$")}
	w.Env = append(os.Environ(), "KPROF_WALK=1")
	w.Stderr = os.Stderr
	var err error
	if w.in, err = w.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanf(w.out, "thread %d\n", &w.thread); err != nil {
		t.Fatal(err)
	}
	return w
}

// run lets the program go and waits for it. It returns the addresses of its maps.
func (w *walk) run(t *testing.T) (maps []string) {
	t.Helper()
	if _, err := w.in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(w.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, m := range regexp.MustCompile(`map (0x[0-9a-f]+)`).FindAllStringSubmatch(string(said), -1) {
		maps = append(maps, m[1])
	}
	return maps
}

// recorded records with kprof while f runs, and returns what it said. The command that it
// records beside is let go when everything is recorded.
func recorded(t *testing.T, file string, f func(), args ...string) string {
	t.Helper()
	dir := t.TempDir()
	ready, done := filepath.Join(dir, "ready"), filepath.Join(dir, "done")
	cmd := exec.Command("kprof", append(append([]string{"record", "--no-symbols", "-o", file}, args...),
		"--", "sh", "-c", fmt.Sprintf(": >%s; while [ ! -e %s ]; do sleep 0.1; done", ready, done))...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		var ended unix.Siginfo
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil || ended.Signo != 0 || time.Since(begun) > 60*time.Second {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("kprof does not record: %s", &said)
		}
	}
	f()
	livetest.WriteFile(t, done, "")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	t.Logf("%s", &said)
	return said.String()
}

// texts are the fields of the events in a recording, as kprof script lists them, by event,
// in the order of time.
func texts(t *testing.T, file string) map[string][]string {
	t.Helper()
	code, stdout, stderr := kprof(t, "script", "-F", "event,trace", file)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	found := map[string][]string{}
	for line := range strings.Lines(stdout) {
		event, text, ok := strings.Cut(strings.TrimSpace(line), ": (")
		if !ok {
			t.Fatalf("listed: %q", line)
		}
		found[event] = append(found[event], fieldsOf(text))
	}
	return found
}

// fieldsOf leaves out the place in parentheses, in which the kernel puts names for
// addresses.
func fieldsOf(text string) string {
	_, after, _ := strings.Cut(text, ") ")
	return strings.TrimSpace(after)
}

// TestGuestWalk: six arguments of a function by their registers, unlabelled; a labelled
// $retval; structures followed, with types; an address; a path filtered by ~; a task
// filtered by common_pid. The values are those that the program passed, and those in the
// lines of the kernel's own trace, which watches the same probes; and the kernel's count
// of hits is what became of them.
func TestGuestWalk(t *testing.T) {
	guest(t)
	dir := t.TempDir()
	write := func(name, text string, flag int) {
		t.Helper()
		f, err := os.OpenFile(tracing+name, os.O_WRONLY|flag, 0)
		if err == nil {
			_, err = f.WriteString(text)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}
		if err != nil {
			t.Fatalf("%s > %s: %v", text, name, err)
		}
	}
	six := strings.Join(registers, " ")
	// Probes of somebody else, whom kprof records beside.
	for name, line := range map[string]string{
		"six":  "p:walk/six ksys_mmap_pgoff " + six,
		"wait": "p:walk/wait do_wait arg=+0($arg1):u32 flags=+4($arg1):x32",
		"file": "p:walk/file do_sys_openat2 dfd=$arg1:s32 file=+0($arg2):ustring",
		"ret":  "r:walk/ret do_wait $retval:s64 ret=$retval:s32",
	} {
		write("kprobe_events", line+"\n", os.O_APPEND)
		defer write("kprobe_events", "-:walk/"+name+"\n", os.O_APPEND)
	}
	w := startWalk(t)
	pid := fmt.Sprintf("common_pid == %d", w.thread)
	write("trace", "", os.O_TRUNC)
	for _, name := range []string{"six", "wait", "file", "ret"} {
		write("events/walk/"+name+"/filter", pid, 0)
		write("events/walk/"+name+"/enable", "1", 0)
	}
	var maps []string
	file := filepath.Join(dir, "walk.data")
	said := recorded(t, file, func() {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 70 { // which the filter leaves out
			if _, err := null.Write([]byte("run")); err != nil {
				t.Fatal(err)
			}
		}
		maps = w.run(t)
	}, "-a", "--filter", pid,
		"-e", "walk:six,walk:wait,walk:file,walk:ret",
		"-e", "p ksys_mmap_pgoff "+six,
		"-e", "r ksys_mmap_pgoff at=$retval:x64",
		"-e", fmt.Sprintf("p %#x arg=+0(%s):u32", address(t, "do_wait"), registers[0]), // which has no $arg1
		"-e", "r500:mine/written write_null ret=$retval:s64")
	write("tracing_on", "0", 0)
	b, err := os.ReadFile(tracing + "trace")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"six", "wait", "file", "ret"} {
		write("events/walk/"+name+"/enable", "0", 0)
	}
	write("tracing_on", "1", 0)
	write("trace", "", os.O_TRUNC)

	got := texts(t, file)
	traced := map[string][]string{}
	tracedLine := regexp.MustCompile(`: (six|wait|file|ret): (\(.*)$`)
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if m := tracedLine.FindStringSubmatch(s.Text()); m != nil {
			traced["walk:"+m[1]] = append(traced["walk:"+m[1]], fieldsOf(m[2]))
		}
	}
	for _, name := range []string{"walk:six", "walk:wait", "walk:file", "walk:ret"} {
		if d := cmp.Diff(traced[name], got[name]); d != "" || len(got[name]) < walkCalls {
			t.Errorf("%s: -trace +kprof\n%s", name, d)
		}
	}
	want := func(event string, times int, line string) {
		t.Helper()
		n := 0
		for _, l := range got[event] {
			if l == line {
				n++
			}
		}
		if n != times {
			t.Errorf("%s: %d of %q, want %d, in %q", event, n, line, times, got[event])
		}
	}
	args := fmt.Sprintf("arg1=0x0 arg2=%#x arg3=0x0 arg4=%#x arg5=0xffffffffffffffff arg6=%#x", walkLen, walkFlags, walkPage)
	want("walk:six", walkCalls, args)
	want("kprobes:p_ksys_mmap_pgoff_0", walkCalls, args)
	for _, at := range maps {
		want("kprobes:r_ksys_mmap_pgoff_0", 1, "at="+at)
	}
	// PIDTYPE_MAX, for any child; WNOHANG | WEXITED.
	want("walk:wait", walkCalls, "arg=4 flags=0x5")
	want(fmt.Sprintf("kprobes:p_%#016x", address(t, "do_wait")), walkCalls, "arg=4")
	want("walk:ret", walkCalls, fmt.Sprintf("arg1=%[1]d ret=%[1]d", -int(unix.ECHILD)))
	want("walk:file", walkCalls, fmt.Sprintf(`dfd=-100 file="%s"`, walkFile))
	want("mine:written", walkWrites, "ret=4")
	if ledger := fmt.Sprintf("mine:written: %d kernel hits = %d samples + 70 filtered + 0 lost + 0 missed\n", walkWrites+70, walkWrites); !strings.Contains(said, ledger) {
		t.Errorf("want %q in\n%s", ledger, said)
	}
	sums := regexp.MustCompile(`(?m)(\S+): (\d+) kernel hits = (\d+) samples \+ (\d+) filtered \+ (\d+) lost \+ (\d+) missed`)
	if n := len(sums.FindAllString(said, -1)); n != 8 {
		t.Errorf("of 8 probes %d are accounted for in\n%s", n, said)
	}

	// Only what is filtered by its text.
	glob := filepath.Join(dir, "glob.data")
	w = startWalk(t)
	recorded(t, glob, func() { w.run(t) }, "-a", "-e", "p do_sys_openat2 file=+0($arg2):ustring", "--filter", `file ~ "*to walk*"`)
	const line = `file="` + walkFile + `"`
	if d := cmp.Diff(map[string][]string{"kprobes:p_do_sys_openat2_0": {line, line, line}}, texts(t, glob)); d != "" {
		t.Errorf("filtered by ~: -want +got\n%s", d)
	}
}

// TestGuestFunctionTrace: the function is the leaf, what called it comes next, and
// neither the tracer's frames nor the recorder are in it.
func TestGuestFunctionTrace(t *testing.T) {
	guest(t)
	file := filepath.Join(t.TempDir(), "function.data")
	w := startWalk(t)
	// On one CPU: for each, the kernel patches all of its functions twice.
	recorded(t, file, func() { w.run(t) }, "-a", "-C", "0", "-e", "ftrace:function", "--filter", "ip == vfs_write")
	code, folded, said := kprof(t, "convert", file, "-o", "-", "-f", "folded")
	n := 0
	for l := range strings.Lines(folded) {
		if !strings.Contains(l, ";vfs_write ") || strings.Contains(l, "ftrace") || strings.HasPrefix(l, "kprof") {
			t.Errorf("%s", l)
		}
		var times int
		if i := strings.LastIndexByte(l, ' '); strings.Contains(l, ";ksys_write;vfs_write ") {
			if _, err := fmt.Sscan(l[i:], &times); err != nil {
				t.Fatal(err)
			}
		}
		n += times
	}
	if code != 0 || n < walkWrites {
		t.Errorf("exit code %d, %d calls, want at least %d\n%s%s", code, n, walkWrites, folded, said)
	}
	for _, args := range [][]string{{"-e", "ftrace:function"}, {"-e", "ftrace:function", "--filter", "ip != vfs_write"}} {
		code, _, said := kprof(t, append([]string{"record", "-a", "-d", "1s", "-o", file}, args...)...)
		if code != 1 || !strings.Contains(said, "--all-functions") {
			t.Errorf("%q: exit code %d: %s", args, code, said)
		}
	}
}

// TestGuestLeafOnce: the function in which a tracepoint is has one frame, though arm64
// has its address twice in the callchain; so do accesses to devices, which arm64 traces.
func TestGuestLeafOnce(t *testing.T) {
	guest(t)
	file := filepath.Join(t.TempDir(), "leaf.data")
	events, command := "sched:sched_process_exec", "true"
	mmio := false
	if _, err := os.Stat(tracing + "events/rwmmio/rwmmio_write"); err == nil {
		mmio = true
		events, command = events+",rwmmio:rwmmio_write", "echo >/dev/console; exec true"
	}
	code, _, said := kprof(t, "record", "--no-symbols", "-e", events, "-o", file, "--", "sh", "-c", command)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	leaves := func(event string) {
		code, folded, said := kprof(t, "convert", file, "--event", event, "-o", "-", "-f", "folded")
		if code != 0 || folded == "" {
			t.Fatalf("%s: exit code %d: %s", event, code, said)
		}
		for l := range strings.Lines(folded) {
			frames := strings.Split(l[:strings.LastIndexByte(l, ' ')], ";")
			if n := len(frames); n < 3 || frames[n-1] == frames[n-2] {
				t.Errorf("%s: %s", event, l)
			}
		}
		t.Logf("%s", folded)
	}
	leaves("sched:sched_process_exec")
	if mmio {
		leaves("rwmmio:rwmmio_write")
	}
}

// TestGuestFprobe: entry and return of a function by way of ftrace, the return with the
// arguments of the call, and a tracepoint of the source, where the kernel has them; else
// a word of it.
func TestGuestFprobe(t *testing.T) {
	guest(t)
	readme, err := os.ReadFile(tracing + "README")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "fprobe.data")
	events := []string{"-e", "f vfs_write", "-e", "f:mine/ret vfs_write%return size=$arg3:u64 ret=$retval:s64", "-e", "t:mine/exec sched_process_exec"}
	if !strings.Contains(string(readme), "f[:[<group>/]") {
		if code, _, said := kprof(t, append([]string{"record", "-a", "-d", "1s", "-o", file}, events...)...); code != 1 || !strings.Contains(said, "CONFIG_FPROBE_EVENTS") {
			t.Errorf("exit code %d: %s", code, said)
		}
		return
	}
	code, _, said := kprof(t, append(append([]string{"record", "--no-symbols", "-o", file}, events...), append([]string{"--"}, dd...)...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	n := 0
	for _, l := range texts(t, file)["mine:ret"] {
		if l == "size=1 ret=1" {
			n++
		}
	}
	if n != 100 {
		t.Errorf("%d returns from writing a byte, want 100", n)
	}
	for _, event := range []string{"fprobes:vfs_write__entry", "mine:ret"} {
		code, folded, said := kprof(t, "convert", file, "--event", event, "-o", "-", "-f", "folded")
		if code != 0 || !regexp.MustCompile(`(?m)^dd;.*ksys_write;vfs_write 10[0-9]$`).MatchString(folded) {
			t.Errorf("%s: exit code %d\n%s%s", event, code, folded, said)
		}
	}
	if b, err := os.ReadFile(tracing + "dynamic_events"); err != nil || len(b) > 0 {
		t.Errorf("left: %s, %v", b, err)
	}
}
