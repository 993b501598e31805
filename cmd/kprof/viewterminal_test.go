//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/browsertest"
	"kprof/perfevent/livetest"
)

// screenReader is a terminal with a program on it, as far as what tcell writes for xterm.
type screenReader struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd

	mu   sync.Mutex
	rows [][]rune
	x, y int
}

const terminalWidth80, terminalHeight24 = 80, 24

func startOnTerminal(t *testing.T, args ...string) *screenReader {
	t.Helper()
	master, tty := openTerminal(t)
	defer tty.Close()
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: terminalHeight24, Col: terminalWidth80}); err != nil {
		t.Fatal(err)
	}
	x := &screenReader{t: t, master: master, cmd: kprof(t, args...)}
	x.clear()
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = tty, tty, tty
	x.cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "DISPLAY=", "WAYLAND_DISPLAY=", "SSH_CONNECTION=", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
	x.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		var left []byte
		buf := make([]byte, 1<<16)
		for {
			n, err := master.Read(buf)
			left = x.write(append(left, buf[:n]...))
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		_ = x.cmd.Wait()
		master.Close()
		<-read
	})
	return x
}

func (x *screenReader) clear() {
	x.rows = make([][]rune, terminalHeight24)
	for i := range x.rows {
		x.rows[i] = []rune(strings.Repeat(" ", terminalWidth80))
	}
	x.x, x.y = 0, 0
}

// write does what text tells the terminal, and returns the end of what is not whole yet.
func (x *screenReader) write(b []byte) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(b) > 0 {
		if b[0] == 0x1b {
			end := 0
			switch {
			case len(b) < 2:
				return b
			case b[1] == '[':
				end = bytes.IndexFunc(b[2:], func(r rune) bool { return r >= '@' && r <= '~' })
				if end < 0 {
					return b
				}
				x.control(string(b[2:2+end]), b[2+end])
				end += 3
			case b[1] == ']':
				if end = bytes.IndexAny(b, "\a"); end < 0 {
					if end = bytes.Index(b, []byte("\x1b\\")); end < 0 {
						return b
					}
					end++
				}
				end++
			case b[1] == '(' || b[1] == ')':
				if len(b) < 3 {
					return b
				}
				end = 3
			default:
				end = 2
			}
			b = b[end:]
			continue
		}
		r := []rune(string(b[:min(len(b), 4)]))[0]
		size := len(string(r))
		if r == 0xfffd && len(b) < 4 {
			return b
		}
		b = b[size:]
		switch {
		case r == '\r':
			x.x = 0
		case r == '\n':
			x.y = min(x.y+1, terminalHeight24-1)
		case r >= ' ' && x.x < terminalWidth80:
			x.rows[x.y][x.x] = r
			x.x++
		}
	}
	return nil
}

func (x *screenReader) control(parameters string, what byte) {
	switch what {
	case 'H':
		x.x, x.y = 0, 0
		var row, column int
		if n, _ := fmt.Sscanf(parameters, "%d;%d", &row, &column); n == 2 {
			x.y, x.x = min(max(row-1, 0), terminalHeight24-1), min(max(column-1, 0), terminalWidth80-1)
		}
	case 'J':
		x.clear()
	case 'K':
		for i := x.x; i < terminalWidth80; i++ {
			x.rows[x.y][i] = ' '
		}
	}
}

// frame is what there is to see.
func (x *screenReader) frame() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var lines []string
	for _, r := range x.rows {
		lines = append(lines, strings.TrimRight(string(r), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// wait waits until something is to be seen, and nothing has changed for a while: a frame may come in
// parts.
func (x *screenReader) wait(text string) string {
	x.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for last, same := "", 0; ; {
		f := x.frame()
		if same++; f != last {
			same = 0
		}
		if strings.Contains(f, text) && same >= 5 {
			return f
		}
		if last = f; time.Now().After(deadline) {
			x.t.Fatalf("%q is not to be seen:\n%s", text, f)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// ends waits for the program to end, as it should; else it says what did not.
func (x *screenReader) ends(otherwise string) {
	x.t.Helper()
	done := make(chan error, 1)
	go func() { done <- x.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			x.t.Error(err)
		}
	case <-time.After(time.Minute):
		x.t.Error(otherwise)
	}
}

func (x *screenReader) keys(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.master, keys); err != nil {
		x.t.Fatal(err)
	}
}

// TestViewTerminal: kprof report on a terminal is a table to look around in, whose frames are
// those of a golden file, and whose numbers those of the text in a pipe.
func TestViewTerminal(t *testing.T) {
	data := filepath.Join(root, "testdata")
	args := []string{"report", "--kallsyms", filepath.Join(data, "demo.kallsyms"), "--symfs", filepath.Join(data, "symfs"), filepath.Join(data, "demo.data")}
	text, err := kprof(t, append(args, "-n", "0", "--wide")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 6 {
			numbers[f[5]] = f[:4]
		}
	}
	x := startOnTerminal(t, args...)
	var frames strings.Builder
	for _, step := range []struct{ keys, until string }{
		{"", "exc_page_fault"},
		{"s", "↓cum"},
		{"s", "↓self"},
		{"/vfs_\r", "search: vfs_"},
		{"c", "callers of vfs_read"},
		{"u", "87 functions"},
		{"t", "Total: 995ms in calls"},
		{"jj\x1b[B\x1b[C", "asm_exc"},
		{"K", "collapse [kernel]"},
		{"u&^parse$\r", "focus (?i:"},
		{"b", "1 group by comm"},
		{"?", "another event"},
	} {
		x.keys(step.keys)
		f := x.wait(step.until)
		fmt.Fprintf(&frames, "-- %q --\n%s", step.keys, f)
		if step.keys == "" || step.keys == "s" {
			rows := 0
			for line := range strings.Lines(f) {
				if w := strings.Fields(line); len(w) >= 5 && strings.HasSuffix(w[1], "%") && w[1] != "self%" {
					rows++
					if d := cmp.Diff(numbers[w[4]], w[:4]); d != "" {
						t.Errorf("%s: %s", w[4], d)
					}
				}
			}
			if rows < 15 {
				t.Errorf("%d rows:\n%s", rows, f)
			}
		}
	}
	x.keys("qq") // the first leaves the help
	x.ends("q does not leave")
	golden := filepath.Join("testdata", "frames.txt")
	got := strings.ReplaceAll(frames.String(), data+"/", "")
	if *update {
		livetest.WriteFile(t, golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("frames, which -update writes: %s", d)
	}
}

// TestViewTerminalPage: a key has what is looked at on the terminal served as a page, with the
// functions that are selected.
func TestViewTerminalPage(t *testing.T) {
	data := filepath.Join(root, "testdata")
	x := startOnTerminal(t, "report", "--kallsyms", filepath.Join(data, "demo.kallsyms"), "--symfs", filepath.Join(data, "symfs"), filepath.Join(data, "demo.data"))
	x.wait("exc_page_fault")
	x.keys("f") // only stacks with mix, which is the first
	x.wait("; focus ^mix$")
	x.keys("w")
	f := x.wait("http://")
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/#value=0\.1&focus=%5Emix%24`).FindString(f)
	if address == "" {
		t.Fatalf("no address with what is selected:\n%s", f)
	}
	p := browsertest.Open(t, address, browsertest.View{})
	p.Wait("window.kprof")
	if total := browsertest.Eval[int64](p, "kprof.sums().total[0]"); total != 395e6 {
		t.Errorf("the page has %d ns, the table 395ms", total)
	}
	x.keys("\x03")
	x.ends("Ctrl-C does not end it")
}

// TestPagerInterrupted: Ctrl-C is for the pager, which has the terminal until it ends.
func TestPagerInterrupted(t *testing.T) {
	dir := t.TempDir()
	pager := filepath.Join(dir, "pager")
	if err := os.WriteFile(pager, []byte(`#!/bin/sh
cat >/dev/null
trap 'echo interrupted' INT
echo ready
until read key </dev/tty; do :; done
echo "then $key"
`), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAGER", pager)
	data := filepath.Join(root, "testdata")
	x := startOnTerminal(t, "report", "-n", "0", "--kallsyms", filepath.Join(data, "demo.kallsyms"), filepath.Join(data, "demo.data"))
	x.wait("ready")
	x.keys("\x03")
	x.wait("interrupted")
	x.keys("q\r")
	x.wait("then q")
	x.ends("the pager has ended")
}

// TestPagerEndsByInterrupt: a pager that Ctrl-C ends, as more, has shown what was wanted.
func TestPagerEndsByInterrupt(t *testing.T) {
	pager := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(pager, []byte("#!/bin/sh\ncat >/dev/null\necho ready\nread key </dev/tty\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PAGER", pager)
	data := filepath.Join(root, "testdata")
	x := startOnTerminal(t, "report", "-n", "0", "--kallsyms", filepath.Join(data, "demo.kallsyms"), filepath.Join(data, "demo.data"))
	x.wait("ready")
	x.keys("\x03")
	x.ends("the pager has ended")
}
