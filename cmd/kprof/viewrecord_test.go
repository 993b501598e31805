//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert/browsertest"
	"kprof/perfevent/livetest"
	"kprof/record"
)

// spoken is what a program has written so far.
type spoken struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var pageAddress = regexp.MustCompile(`(?m)^http://127\.0\.0\.1:\d+/\w+/$`)

// looking is a kprof that records a command and then serves pages.
type looking struct {
	t         *testing.T
	cmd       *exec.Cmd
	dir       string // where it runs
	out, errs spoken
}

func startLooking(t *testing.T, args ...string) *looking {
	t.Helper()
	l := &looking{t: t, dir: t.TempDir(), cmd: kprof(t, args...)}
	l.start()
	return l
}

// start starts the command in an empty directory, over ssh.
func (l *looking) start() {
	l.t.Helper()
	l.cmd.Dir = l.dir
	l.cmd.Env = append(os.Environ(), "HOME="+l.t.TempDir(), "DISPLAY=", "WAYLAND_DISPLAY=", "SUDO_USER=", "SSH_CONNECTION=10.0.0.9 50000 10.0.0.5 2222")
	l.cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	l.cmd.Stdout, l.cmd.Stderr = &l.out, &l.errs
	if err := l.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = unix.Kill(-l.cmd.Process.Pid, unix.SIGKILL) })
}

// address waits for that of the pages.
func (l *looking) address() string {
	l.t.Helper()
	var addr string
	waitFor(l.t, "the address of the page", func() bool {
		addr = pageAddress.FindString(l.errs.String() + l.out.String())
		return addr != ""
	})
	return addr
}

// end sends a signal and returns the exit code.
func (l *looking) end(s unix.Signal) int {
	l.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
	_ = l.cmd.Wait()
	return l.cmd.ProcessState.ExitCode()
}

// top fetches pprof's table of functions, behind our page or in its place.
func top(t *testing.T, addr string) string {
	t.Helper()
	r, err := http.Get(addr + "pprof/top")
	for err == nil && r.StatusCode == http.StatusServiceUnavailable { // it is recording
		r.Body.Close()
		time.Sleep(50 * time.Millisecond)
		r, err = http.Get(addr + "pprof/top")
	}
	if err == nil && r.StatusCode == http.StatusNotFound {
		r.Body.Close()
		r, err = http.Get(addr + "top")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", r.Status, err)
	}
	return string(b)
}

// testProgram is a command with functions to see: this test program, which ends with
// an exit code.
func testProgram(t *testing.T, code int) []string {
	return []string{"sh", "-c", fmt.Sprintf("%s --version; exit %d", kprof(t).Path, code)}
}

// TestLiveViewCommand records a command, shows what it did in a browser, keeps
// nothing, and passes on the exit code. Standard output is the command's.
func TestLiveViewCommand(t *testing.T) {
	livetest.Require(t, livetest.Root)
	l := startLooking(t, append([]string{"view", "-e", "page-faults", "-c", "1", "--"}, testProgram(t, 7)...)...)
	p := browsertest.Open(t, l.address(), browsertest.View{})
	p.Wait("window.kprof")
	if names := browsertest.Eval[string](p, "kprof.p.names.join()"); !strings.Contains(names, "schedinit") {
		t.Errorf("no function of the command is on the page: %s", names)
	}
	if n := browsertest.Eval[int](p, "kprof.p.head.moments"); n == 0 {
		t.Error("the page has no times")
	}
	if code := l.end(unix.SIGINT); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if out := l.out.String(); strings.Contains(out, "http://") || !strings.Contains(out, "go1") {
		t.Errorf("standard output: %s", out)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	errs := l.errs.String()
	for _, want := range []string{` samples in memory only`, `sh ended with exit code 7`, `: ssh -N -p 2222 -L (\d+):127\.0\.0\.1:\d+ ` + me.Username + `@10\.0\.0\.5\n`} {
		if !regexp.MustCompile(want).MatchString(errs) {
			t.Errorf("no %q in\n%s", want, errs)
		}
	}
	if left, err := os.ReadDir(l.dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestLiveViewGrows: the page is there while a command is recorded, grows with the recording,
// and is the recording when that ends, with all of its samples.
func TestLiveViewGrows(t *testing.T) {
	livetest.Require(t, livetest.Root)
	l := startLooking(t, "view", "-e", "syscalls:sys_enter_umask", "-c", "1", "--", "sh", "-c",
		"n=0; until [ -e stop ]; do umask 022; n=$((n+1)); sleep .01; done; echo $n > n")
	p := browsertest.Open(t, l.address(), browsertest.View{})
	p.Wait("window.kprof")
	const total = "kprof.p.events[0].values[0].reduce((a, b) => a + b, 0)"
	first := browsertest.Eval[int](p, total)
	p.Wait(fmt.Sprintf("kprof.p.head.live && %s > %d", total, first))
	r, err := http.Get(l.address() + "pprof/top")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("pprof's pages of what is being recorded: %s", r.Status)
	}
	livetest.WriteFile(t, filepath.Join(l.dir, "stop"), "")
	p.Wait("kprof.p.head.live === 0")
	whole := browsertest.Eval[int](p, total)
	if code := l.end(unix.SIGINT); code != 0 {
		t.Errorf("exit code %d", code)
	}
	text, err := os.ReadFile(filepath.Join(l.dir, "n"))
	calls, _ := strconv.Atoi(strings.TrimSpace(string(text))) // each of which is some of umask(2)
	if said := l.errs.String(); err != nil || whole < max(calls, 1) || first >= whole || !strings.Contains(said, fmt.Sprintf("kprof: %d samples in memory only", whole)) {
		t.Errorf("%d on the page, %d at first, of %d calls (%v)\n%s", whole, first, calls, err, said)
	}
}

// TestLiveRecordOpen: record --open writes its file and shows it, whatever its
// format; the exit code is the command's.
func TestLiveRecordOpen(t *testing.T) {
	livetest.Require(t, livetest.Root)
	for _, name := range []string{"perf.data", "faults.folded"} {
		l := startLooking(t, append([]string{"record", "--open", "-o", name, "-e", "page-faults", "-c", "1", "--"}, testProgram(t, 7)...)...)
		if page := top(t, l.address()); !strings.Contains(page, "schedinit") {
			t.Errorf("%s: no function of the command is on the page:\n%s", name, page)
		}
		if code := l.end(unix.SIGINT); code != 7 {
			t.Errorf("%s: exit code %d", name, code)
		}
		if errs := l.errs.String(); !strings.Contains(errs, " samples in "+name) || strings.Contains(errs, "to look at it") {
			t.Errorf("it says\n%s", errs)
		}
		out, err := kprof(t, "convert", filepath.Join(l.dir, name), "-f", "folded").Output()
		if err != nil || !bytes.Contains(out, []byte("schedinit")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLiveViewSignals: of a recording that goes on, SIGINT has the page opened, and
// the next SIGINT ends that; the other signals end all at once.
func TestLiveViewSignals(t *testing.T) {
	livetest.Require(t, livetest.Root)
	const work = "while :; do /bin/true; : >ready; done"
	begin := func() *looking {
		l := startLooking(t, "view", "-q", "-e", "page-faults", "-c", "1", "--", "sh", "-c", work)
		waitFor(t, "the command", func() bool { _, err := os.Stat(filepath.Join(l.dir, "ready")); return err == nil })
		return l
	}
	l := begin()
	if err := l.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	top(t, l.address())
	time.Sleep(signalGrace + signalGrace/2) // after which it is another wish
	if code := l.end(unix.SIGINT); code != 128+int(unix.SIGTERM) {
		t.Errorf("exit code %d; the command was ended with SIGTERM", code)
	}
	for try := 1; ; try++ {
		begun := time.Now()
		l = begin()
		if code := l.end(unix.SIGTERM); code != 128+int(unix.SIGTERM) {
			t.Errorf("exit code %d at SIGTERM", code)
		}
		if time.Since(begun) < livePeriod || try == 10 {
			break
		} // else there was a page by then
	}
	if said := l.errs.String() + l.out.String(); !strings.HasSuffix(said, "kprof: ended by SIGTERM, so no page is opened\n") || strings.Contains(said, "http://") {
		t.Errorf("it says %q", said)
	}
}

// TestLiveViewTerminal is what somebody sees who types it: how the recording goes,
// the page after Ctrl-C, and the prompt after the next.
func TestLiveViewTerminal(t *testing.T) {
	livetest.Require(t, livetest.Root)
	dir := t.TempDir()
	if err := os.Rename(kprof(t).Path, filepath.Join(dir, "kprof")); err != nil {
		t.Fatal(err)
	}
	term := startShell(t, dir, "sh")
	term.send("while [ -e kprof ]; do /bin/true; done &\n", "$ ")
	term.send("SSH_CONNECTION= kprof view --no-browser -d 300s -e page-faults -c 1 -p $!; echo exit=$?\n", " lost, ")
	sampled := regexp.MustCompile(`\r\d+s of 5m0s, [1-9][\d,]* samples, \d+ lost, [\d.]+ \w+; Ctrl-C ends and shows`)
	var line string
	waitFor(t, "a line that says how it goes", func() bool { // of the first there may be no sample yet
		term.mu.Lock()
		defer term.mu.Unlock()
		line = term.out.String()
		return sampled.MatchString(line)
	})
	page := "http://127.0.0.1:"
	if strings.Contains(line, page) { // it took so long that there is one already
		page = "the page is there until Ctrl-C"
	}
	term.send("\x03", page)
	time.Sleep(signalGrace + signalGrace/2)
	term.send("\x03", "exit=0")
	term.send("kill $!; kprof record -q -e page-faults -c 1 -- true; echo made=$?\n", "made=0")
	term.send("kprof view --no-browser; echo exit=$?\n", "http://127.0.0.1:")
	term.send("\x03", "exit=0")
}

// TestLiveViewExamples pastes the examples of kprof view's help: each shows a page,
// until Ctrl-C.
func TestLiveViewExamples(t *testing.T) {
	livetest.Require(t, livetest.Root)
	help, err := kprof(t, "view", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(help), "\nExamples:\n")
	examples, _, _ := strings.Cut(rest, "\n\n")
	demo, err := os.ReadFile(filepath.Join(root, "testdata", "demo.data"))
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.ReadFile(viewed(t))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(examples) {
		bin := t.TempDir()
		if err := os.Rename(kprof(t).Path, filepath.Join(bin, "kprof")); err != nil {
			t.Fatal(err)
		}
		line = strings.Replace(strings.TrimSpace(line), "~/src/project", ".", 1)
		l := &looking{t: t, dir: t.TempDir(), cmd: exec.Command("sh", "-c", "PATH="+bin+":$PATH exec "+line)}
		for name, content := range map[string][]byte{"perf.data": demo, "before.data": demo, "after.data": profile, "cpu.pb.gz": profile} {
			livetest.WriteFile(t, filepath.Join(l.dir, name), content)
		}
		if strings.Contains(line, "localhost:8080") {
			if listener, err := net.Listen("tcp", "localhost:8080"); err != nil {
				t.Logf("port 8080 is taken: %s is not run", line)
				continue
			} else {
				listener.Close()
			}
		}
		l.start()
		if addr := l.address(); !strings.Contains(line, "--diff-base") { // pprof compares what has the same values only
			top(t, addr)
		}
		if code := l.end(unix.SIGINT); code != 0 {
			t.Errorf("%s: exit code %d\n%s", line, code, l.errs.String())
		}
		ran++
	}
	if ran < 5 {
		t.Errorf("%d examples in\n%s", ran, help)
	}
}

func TestProgressLine(t *testing.T) {
	for _, tt := range []struct {
		now   record.Progress
		limit time.Duration
		want  string
	}{
		{record.Progress{Elapsed: 3990 * time.Millisecond, Samples: 12345, Bytes: 1 << 20}, 10 * time.Second, "3s of 10s, 12,345 samples, 0 lost, 1.0 MiB"},
		{record.Progress{Elapsed: 200 * time.Millisecond, Samples: 999, Lost: 1000}, 500 * time.Millisecond, "0.2s of 500ms, 999 samples, 1,000 lost, 0 B"},
		{record.Progress{Elapsed: 61 * time.Second, Samples: 1234567}, 0, "61s, 1,234,567 samples, 0 lost, 0 B"},
		{record.Progress{Elapsed: 3100 * time.Millisecond}, 3 * time.Second, "3.0s of 3s, 0 samples, 0 lost, 0 B"},
	} {
		if got := progressLine(tt.now, tt.limit); got != tt.want {
			t.Errorf("%q, not %q", got, tt.want)
		}
	}
}

// TestShellArg has a shell read the names.
func TestShellArg(t *testing.T) {
	for _, name := range []string{"perf.data", "/tmp/a b", "it's", "$(id)", "-o", "é;x", "~", "a\nb"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellArg(name)).Output()
		if err != nil || strings.TrimPrefix(string(out), "./") != name {
			t.Errorf("%q is %q: %v", name, out, err)
		}
	}
	if got := shellArg("perf.data"); got != "perf.data" {
		t.Error(got)
	}
}

func TestSSHHint(t *testing.T) {
	t.Setenv("SUDO_USER", "ada")
	livetest.Table(t, func(connection string) string {
		t.Setenv("SSH_CONNECTION", connection)
		return sshHint(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080})
	}, map[string]string{
		"192.0.2.1 50000 192.0.2.2 22":          "ssh -N -L 8080:127.0.0.1:8080 ada@192.0.2.2",
		"2001:db8::1 50000 2001:db8::2 2222":    "ssh -N -p 2222 -L 8080:127.0.0.1:8080 ada@2001:db8::2",
		"192.0.2.1 50000 $(id) 22":              "",
		"192.0.2.1 50000 192.0.2.2 22;id":       "",
		"192.0.2.1 50000":                       "",
		"192.0.2.1 50000 192.0.2.2 22 and more": "",
	})
}

// TestSSHHintSudo: sudo takes SSH_CONNECTION out of the environment, and it is found
// in that of the shell before.
func TestSSHHintSudo(t *testing.T) {
	v := kprof(t, "view", "--no-browser", viewed(t))
	shell := exec.Command("sh", "-c", `env -u SSH_CONNECTION SUDO_USER=ada "$@"; true`, "sh", v.Path)
	shell.Args = append(shell.Args, v.Args[1:]...)
	shell.Env = append(os.Environ(), "SSH_CONNECTION=192.0.2.1 50000 192.0.2.2 22")
	shell.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	var errs spoken
	shell.Stderr = &errs
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the command for ssh", func() bool { return strings.Contains(errs.String(), ":127.0.0.1:") })
	if !strings.Contains(errs.String(), " ada@192.0.2.2\n") {
		t.Error(errs.String())
	}
	_ = unix.Kill(-shell.Process.Pid, unix.SIGINT)
	_ = shell.Wait()
}
