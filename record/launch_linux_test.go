package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"

	"golang.org/x/sys/unix"
)

// shift is what this program does instead, where KPROF_SHIFTER says so, on architectures
// that have it.
var shift func(files []string, at int)

func TestMain(m *testing.M) {
	ShimMain()
	if at, err := strconv.Atoi(os.Getenv("KPROF_SHIFTER")); err == nil && shift != nil {
		shift(strings.Split(os.Args[1], ":"), at)
	}
	os.Exit(m.Run())
}

// runLaunched launches argv to the end and returns its output.
func runLaunched(t *testing.T, argv ...string) (string, int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := Launch(argv, LaunchOptions{Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	code, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.Wait(); again != code {
		t.Errorf("Wait says %d, then %d", code, again)
	}
	return string(out), code
}

func TestLaunchExitCodes(t *testing.T) {
	livetest.Table(t, func(script string) int {
		_, code := runLaunched(t, "sh", "-c", script)
		return code
	}, map[string]int{
		"exit 0": 0, "exit 7": 7, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9,
	})
}

func TestLaunchCannotRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	tests := []struct {
		path string
		code int
	}{
		{"kprof-no-such-command", 127},
		{filepath.Join(dir, "nothing"), 127},
		{write("plain", "x", 0o644), 126},
		{dir, 126},
		{write("lost", "#!/no/such/interpreter\n", 0o755), 127},
		{write("garbage", "\x7fELF garbage", 0o755), 126},
	}
	for _, tt := range tests {
		c, err := Launch([]string{tt.path}, LaunchOptions{Stderr: devNull(t)})
		if err == nil {
			err = c.Start()
			code, werr := c.Wait()
			if werr != nil {
				t.Errorf("%s: %v", tt.path, werr)
			}
			if err != nil && code != ExitCode(err) {
				t.Errorf("%s: the shim's code is %d, that of %v is %d", tt.path, code, err, ExitCode(err))
			}
			if err == nil { // a shell ran it
				if code != tt.code && code != 127 {
					t.Errorf("%s: code %d, want %d", tt.path, code, tt.code)
				}
				continue
			}
		}
		if got := ExitCode(err); got != tt.code {
			t.Errorf("%s: code %d for %v, want %d", tt.path, got, err, tt.code)
		}
	}
	// A script without #! is run by a shell.
	if out, code := runLaunched(t, write("script", "echo $1; exit 3\n", 0o755), "arg"); out != "arg\n" || code != 3 {
		t.Errorf("script: %q, %d", out, code)
	}
}

func devNull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestLaunchSameProcess(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := Launch([]string{"sh", "-c", "echo $$; ps -o pgid= -p $$ >&2"}, LaunchOptions{Stdout: w, Stderr: w, Env: []string{"PATH=/usr/bin:/bin"}})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(c.PID()) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(status, []byte("Tgid:\t"+strconv.Itoa(c.PID()))) {
		t.Errorf("status of the shim: %s", status)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("second Start: %v", err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(out))
	if len(f) != 2 || f[0] != strconv.Itoa(c.PID()) || f[1] != strconv.Itoa(unix.Getpgrp()) {
		t.Errorf("pid and process group %q, want %d and %d", f, c.PID(), unix.Getpgrp())
	}
	if code, err := c.Wait(); code != 0 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
}

func TestLaunchRelease(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	c, err := Launch([]string{"touch", marker}, LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Release(), c.Release()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the command ran: %v", err)
	}
	if err := unix.Kill(c.PID(), 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the shim is still there: %v", err)
	}
	if err := c.Start(); err == nil {
		t.Error("started after release")
	}
}

// The command has no descriptors but the standard ones, the caller's limit of
// open files, and default signals.
func TestLaunchInherits(t *testing.T) {
	const script = `ulimit -Sn; grep -E 'SigIgn|SigBlk' /proc/self/status; exec ls /proc/self/fd`
	if os.Getenv("KPROF_TEST_LAUNCH") != "" {
		c, err := Launch([]string{"sh", "-c", script}, LaunchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if code, err := c.Wait(); code != 0 || err != nil {
			t.Fatal(code, err)
		}
		return
	}
	// Whatever else the caller of this test has left open is closed.
	const closed = `for f in $(ls /proc/self/fd); do [ $f -gt 2 ] && [ $f -lt 10 ] && eval "exec $f>&-"; done; ulimit -Sn 321; `
	var want bytes.Buffer
	direct := exec.Command("sh", "-c", closed+script)
	direct.Stdout = &want
	if err := direct.Run(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", closed+"exec "+os.Args[0]+" -test.run=TestLaunchInherits$")
	cmd.Env = append(os.Environ(), "KPROF_TEST_LAUNCH=1")
	var got bytes.Buffer
	cmd.Stdout = &got
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	out := got.String()
	if !strings.HasPrefix(out, want.String()) || !strings.Contains(out, "321\n") {
		t.Errorf("launched command inherits\n%swant\n%s", out, want.String())
	}
}

// TestLaunchDescriptors: what the caller has inherited, the command inherits at its
// number, wherever the pipes of the shim are, and nothing else.
func TestLaunchDescriptors(t *testing.T) {
	const list = `cd /proc/$$/fd; for f in [3-9] [1-9][0-9]*; do [ -e $f ] && readlink $f | sed "s/^/$f /"; done`
	if os.Getenv("KPROF_TEST_LAUNCH") == "descriptors" {
		out, code := runLaunched(t, "bash", "-c", list)
		os.Stderr.WriteString(out)
		os.Exit(code)
	}
	dir := t.TempDir()
	var open, want strings.Builder
	for _, n := range []int{3, 4, 5, 7, 8, 20} {
		name := filepath.Join(dir, strconv.Itoa(n))
		livetest.WriteFile(t, name, "")
		fmt.Fprintf(&open, "exec %d<>%s\n", n, name)
		fmt.Fprintf(&want, "%d %s\n", n, name)
	}
	// Whatever else the caller of this test has left open is closed.
	const closeAll = `for f in $(ls /proc/self/fd); do [ $f -gt 2 ] && eval "exec $f>&-"; done` + "\n"
	cmd := exec.Command("bash", "-c", closeAll+open.String()+"exec "+os.Args[0]+" -test.run=TestLaunchDescriptors$")
	cmd.Env = append(os.Environ(), "KPROF_TEST_LAUNCH=descriptors")
	var got bytes.Buffer
	cmd.Stderr = &got
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, got.String())
	}
	// bash has its script, or itself, at 255.
	out := regexp.MustCompile(`(?m)^255 .*\n`).ReplaceAllString(got.String(), "")
	if out != want.String() {
		t.Errorf("the command has\n%swant\n%s", out, want.String())
	}
}

// TestWitness: it has seen what its process group has got, and not what went to
// this process alone.
func TestWitness(t *testing.T) {
	switch os.Getenv("KPROF_TEST_LAUNCH") {
	case "alone", "group":
		got := make(chan os.Signal, 1)
		signal.Notify(got, unix.SIGINT)
		w, err := StartWitness()
		if err != nil {
			t.Fatal(err)
		}
		to := os.Getpid()
		if os.Getenv("KPROF_TEST_LAUNCH") == "group" {
			to = 0
		}
		if err := unix.Kill(to, unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		sig := <-got
		saw := w.Saw(sig)
		for i := 0; to == 0 && !saw && i < 100; i++ { // its CPU may be another machine's for a while
			saw = w.Saw(sig)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if saw != (to == 0) {
			t.Errorf("%s: the witness saw it: %v", os.Getenv("KPROF_TEST_LAUNCH"), saw)
		}
		return
	}
	for _, how := range []string{"alone", "group"} {
		cmd := exec.Command(os.Args[0], "-test.run=TestWitness$")
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		cmd.Env = append(os.Environ(), "KPROF_TEST_LAUNCH="+how)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", how, err, out)
		}
	}
}

// A parent that dies takes the waiting shim with it.
func TestLaunchParentDies(t *testing.T) {
	if os.Getenv("KPROF_TEST_LAUNCH") == "die" {
		c, err := Launch([]string{"true"}, LaunchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString(strconv.Itoa(c.PID()) + "\n")
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestLaunchParentDies$")
	cmd.Env = append(os.Environ(), "KPROF_TEST_LAUNCH=die")
	out, _ := cmd.Output()
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	for range 500 {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || bytes.Contains(comm, []byte(") Z ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("shim %d lives on", pid)
}
