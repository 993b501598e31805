//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"kprof/convert/browsertest"
	"kprof/convert/store/storetest"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

var update = flag.Bool("update", false, "rewrite what the scripts in testdata compare with")

func TestMain(m *testing.M) {
	beCommand()
	os.Unsetenv("GOGC") // which is for the tests, not for the programs that they start
	if dir := os.Getenv("KPROF_PREBUILD"); dir != "" {
		os.Exit(prebuild(dir, os.Getenv("CC")))
	}
	testscript.Main(withBrowser{m}, map[string]func(){
		"kprof":   func() { os.Exit(run(os.Args[1:])) },
		"measure": measure,
		"ticks":   ticks,
		"calls":   calls,
		"setcap":  setcap,
	})
}

// withBrowser runs the tests with a browser for those that want one.
type withBrowser struct{ m *testing.M }

func (w withBrowser) Run() int {
	heedSignals()
	return browsertest.Run(w.m)
}

// heedSignals undoes what nohup and shells have these tests ignore: the programs that
// they start would ignore it too.
func heedSignals() {
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// TestScript runs the scripts in testdata/script. Those that start with live_
// record, and need root, tracefs and perf; the others run anywhere.
func TestScript(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var anywhere, live []string
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f), "live_") {
			live = append(live, f)
		} else {
			anywhere = append(anywhere, f)
		}
	}
	t.Run("anywhere", func(t *testing.T) { runScripts(t, anywhere) })
	t.Run("live", func(t *testing.T) {
		livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
		livetest.TracingOn(t) // trace-cmd leaves it off
		busy(t)
		runScripts(t, live)
	})
}

func runScripts(t *testing.T, files []string) {
	testdata, err := filepath.Abs(filepath.Join(root, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("GOCACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(dir, "go-build")
	}
	store := storetest.New(t)
	testscript.Run(t, testscript.Params{
		Files:               files,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TESTDATA", testdata)
			// A home for pprof and perf to keep things in.
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GOCACHE", cache)
			env.Setenv("STORE", store.URL)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "restricted" { // somebody without capabilities may record little
				level, err := kernelSetting("perf_event_paranoid")
				return level >= 2, err
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"mkfifo":   mkfifo,
			"cut":      cut,
			"perftext": assemble,
			"oneline":  oneLine,
			"lines":    lines,
			"examples": examples,
			"recipes":  recipes,
			"tracedat": traceDat,
		},
	})
}

// exits N PROGRAM [ARG...] runs a program that ends with exit code N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N PROGRAM [ARG...]")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// mkfifo FILE makes a FIFO.
func mkfifo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mkfifo FILE")
	}
	ts.Check(unix.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// cut FILE N OUT writes the first N bytes of FILE to OUT.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut FILE N OUT")
	}
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	var n int
	_, err = fmt.Sscan(args[1], &n)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), b[:n], 0o600))
}

// perftext TEXT OUT [pipe] writes the recording that TEXT describes.
func assemble(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: perftext TEXT OUT [pipe]")
	}
	rec, err := perftext.Parse(ts.ReadFile(args[0]))
	ts.Check(err)
	b, err := rec.Assemble(perftext.Form{Order: abi.LittleEndian, Pipe: len(args) > 2})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o600))
}

// tryHelp is the hint on usage that follows a message.
var tryHelp = regexp.MustCompile(`(?m)^Try 'kprof[a-z ]* --help'\.\n`)

// oneline fails unless the last command wrote one message of one line to
// standard error: it starts with "kprof: ", and only the hint on usage may
// follow. It also fails at the traces of a panic.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: oneline")
	}
	msg := tryHelp.ReplaceAllString(ts.ReadFile("stderr"), "")
	if !strings.HasPrefix(msg, "kprof: ") || strings.Count(msg, "\n") != 1 || strings.Contains(msg, "goroutine ") {
		ts.Fatalf("not one clear line:\n%s", msg)
	}
}

// lines N fails unless the last command wrote N lines to standard output.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lines N")
	}
	if n := strings.Count(ts.ReadFile("stdout"), "\n"); fmt.Sprint(n) != args[0] {
		ts.Fatalf("%d lines, want %s", n, args[0])
	}
}

// exampleStore is the address of the store in examples.
const exampleStore = "http://localhost:4040"

var exampleDuration = regexp.MustCompile(`-d [1-9]s\b`)

// asExample returns what is pasted of an example: its store is ours, and what records for
// seconds does so for a moment, for which busy sees to it that there is something to record.
func asExample(script, store string) string {
	return pasted + exampleDuration.ReplaceAllString(strings.ReplaceAll(script, exampleStore, store), "-d 300ms")
}

// makesProbe tells examples that make a probe in the kernel, of a name that all of this machine share.
const makesProbe = "probe add"

// busy has this machine do something of all that examples record, until t ends: programs
// start, use the CPU, open files, wait for each other. That ends with this process too,
// if it is killed.
func busy(t *testing.T) {
	c := exec.Command("sh", "-c", fmt.Sprintf("while kill -0 %d; do ls -l / | wc; sleep 0.1; done >/dev/null 2>&1", os.Getpid()))
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-c.Process.Pid, unix.SIGKILL)
		_ = c.Wait() // it says only that it was killed
	})
}

// examples COMMAND runs every line below "Examples:" in the help of a command
// ("" for kprof itself) in a shell, as somebody would who pastes it.
func examples(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: examples [COMMAND [SUBCOMMAND]]")
	}
	if strings.Join(args, " ") == makesProbe {
		release, err := livetest.LockProbeNames()
		ts.Check(err)
		ts.Defer(release)
	}
	ts.Check(ts.Exec("kprof", append(args, "--help")...))
	_, rest, ok := strings.Cut(ts.ReadFile("stdout"), "\nExamples:\n")
	if !ok {
		ts.Fatalf("kprof %s --help shows no example", strings.Join(args, " "))
	}
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) == "" {
			break
		}
		if err := ts.Exec("bash", "-o", "pipefail", "-c", asExample(line, ts.Getenv("STORE"))); err != nil {
			ts.Fatalf("%s: %v\n%s", strings.TrimSpace(line), err, ts.ReadFile("stderr"))
		}
	}
}

// recipes FILE runs the blocks of a Markdown file that are marked as sh.
func recipes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: recipes FILE")
	}
	n := 0
	for _, block := range strings.Split(ts.ReadFile(args[0]), "\n```sh\n")[1:] {
		script, _, ok := strings.Cut(block, "\n```\n")
		if !ok {
			ts.Fatalf("%s: a block without end", args[0])
		}
		if err := ts.Exec("bash", "-euo", "pipefail", "-c", asExample(script, ts.Getenv("STORE"))); err != nil {
			ts.Fatalf("%s\n%v\n%s", script, err, ts.ReadFile("stderr"))
		}
		n++
	}
	if n == 0 {
		ts.Fatalf("%s has no recipe", args[0])
	}
}

// kernelSetting reads a number in /proc/sys/kernel.
func kernelSetting(name string) (int, error) {
	b, err := os.ReadFile("/proc/sys/kernel/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}
