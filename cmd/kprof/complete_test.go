//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// terminal is a shell in a pseudo terminal.
type terminal struct {
	t  *testing.T
	in io.Writer
	mu sync.Mutex
	// what has come since the last keys were typed
	out bytes.Buffer
}

func startShell(t *testing.T, dir string, argv ...string) *terminal {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM=dumb", "HOME="+dir, "PATH="+dir+":"+os.Getenv("PATH"), "PS1=$ ")
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	f := interruptible(t, master)
	term := &terminal{t: t, in: f}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := f.Read(b)
			term.mu.Lock()
			term.out.Write(b[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = f.Close()
		<-done
	})
	return term
}

// interruptible returns a file whose reads end when it is closed: those of a terminal would not while
// what the shell has started in the background lives.
func interruptible(t *testing.T, file *os.File) *os.File {
	t.Helper()
	defer file.Close()
	fd, err := unix.Dup(int(file.Fd()))
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), file.Name())
}

// send types keys, and waits until want has come back: at nice 19, beside who computes, a minute is not enough.
func (term *terminal) send(keys, want string) {
	term.t.Helper()
	term.mu.Lock()
	term.out.Reset()
	term.mu.Unlock()
	if _, err := io.WriteString(term.in, keys); err != nil {
		term.t.Fatal(err)
	}
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		term.mu.Lock()
		got := term.out.String()
		term.mu.Unlock()
		if strings.Contains(got, want) {
			return
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("typed %q: %q does not come, but %q", keys, want, got)
		}
	}
}

// TestCompletionWords: what a flag completes is what it takes, as its error for another word says.
func TestCompletionWords(t *testing.T) {
	root := newRoot()
	for _, args := range [][]string{
		{"diff", "--per", "?", "a", "b"}, {"diff", "--format", "?", "a", "b"}, {"history", "--per", "?", "a", "b", "c"},
		{"convert", "--color", "?", "-o", "x.svg", "a"}, {"push", "--protocol", "?", "--to", "http://localhost", "a"},
		{"report", "--sort", "?", "a"}, {"script", "--format", "?", "a"}, {"stat", "--probe-via", "?", "--", "true"},
		{"record", "--call-graph", "?", "--", "true"}, {"record", "--format", "?", "--", "true"},
	} {
		_, stderr, code := outcome(t, t.TempDir(), args...)
		_, list, found := strings.Cut(stderr, `"?": use `)
		list, _, _ = strings.Cut(list, "\n")
		if code != 2 || !found {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
			continue
		}
		want := strings.Split(strings.NewReplacer(" or ", ", ", "event:NAME", "event:", "dwarf,SIZE, ", "").Replace(list), ", ")
		c, _, err := root.Find(args[:1])
		if err != nil {
			t.Fatal(err)
		}
		complete, ok := c.GetFlagCompletionFunc(strings.TrimPrefix(args[1], "--"))
		if !ok {
			t.Errorf("%q: nothing is completed, want %q", args[:2], want)
			continue
		}
		var got []string
		words, _ := complete(c, nil, "")
		for _, w := range words {
			word, _, _ := strings.Cut(w, "\t")
			got = append(got, word)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: completes %q, takes %q", args[:2], got, want)
		}
	}
}

// TestCompletionDescriptions: what shells show beside flags is the text of help, without its marks.
func TestCompletionDescriptions(t *testing.T) {
	for _, args := range [][]string{{"report", "--show"}, {"record", "--"}, {"probe", "list", "--"}, {"--"}} {
		stdout, stderr, code := outcome(t, t.TempDir(), append([]string{"__complete"}, args...)...)
		if code != 0 || !strings.HasPrefix(stdout, "--") || strings.Contains(stdout, "`") {
			t.Errorf("%q: exit code %d, %s\n%s", args, code, stdout, stderr)
		}
	}
	const want = "--show-info\tshow the header with the topologies of the machine\n"
	if stdout, _, _ := outcome(t, t.TempDir(), "__complete", "report", "--show-"); !strings.Contains(stdout, want) {
		t.Errorf("%s\nwant %s", stdout, want)
	}
}

// TestCompletionInShells presses the tab key in real shells: a command, a flag's
// value, an event with a colon, the comm of a recording, a topic.
func TestCompletionInShells(t *testing.T) {
	dir := t.TempDir()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "kprof"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	demo, err := os.ReadFile(filepath.Join(root, "testdata", "demo.data"))
	if err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, filepath.Join(dir, "perf.data"), demo)
	const bashCompletion = "/usr/share/bash-completion/bash_completion"
	for _, shell := range []struct {
		name  string
		argv  []string
		setup string // prints "ready" and the number 42
	}{
		{"bash", []string{"bash", "--norc", "--noprofile", "-i"},
			"bind 'set bell-style none'; source " + bashCompletion + "; source <(kprof completion bash); echo ready$((6*7))\n"},
		{"zsh", []string{"zsh", "-f", "-i"},
			"unsetopt beep; autoload -U compinit; compinit -u; source <(kprof completion zsh); compdef _kprof kprof; echo ready$((6*7))\n"},
		{"fish", []string{"fish", "--no-config", "-i"}, "kprof completion fish | source; echo ready(math 6 x 7)\n"},
	} {
		t.Run(shell.name, func(t *testing.T) {
			livetest.Require(t, livetest.Program(shell.name))
			if shell.name == "bash" {
				if _, err := os.Stat(bashCompletion); err != nil {
					t.Skip("lacking: bash-completion")
				}
			}
			term := startShell(t, dir, shell.argv...)
			term.send(shell.setup, "ready42")
			// What is typed comes back with what the shell adds.
			for _, tt := range []struct{ typed, want string }{
				{"kprof repo\t", "kprof report"},
				{"kprof help compa\t", "kprof help comparing"},
				{"kprof report --sort c\t", "--sort cum"},
				{"kprof report --comm lo\t", "--comm load"},
				{"kprof record -e page-f\t", "-e page-faults"},
			} {
				term.send(tt.typed, strings.TrimPrefix(tt.want, strings.TrimSuffix(tt.typed, "\t")))
				term.send("\x15", "") // Ctrl-U: drop the line
			}
		})
	}
}
