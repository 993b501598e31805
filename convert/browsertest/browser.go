// Package browsertest opens pages in a headless browser, Chromium or Firefox, for tests of what
// people see.
//
// A package that uses it runs its tests through Run, in TestMain. The browser is
// started by the first Open and shared by all tests; each page has a tab for itself, that a
// test may use beside others, and cookies and what else a page may store are shared.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"kprof/perfevent/livetest"
)

// programs are the names that Chromium goes by.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// Need is a Chromium: a livetest.Need.
func Need() string {
	if program() == "" {
		return "chromium"
	}
	return ""
}

func program() string {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// running is the browser of this test binary, and what ends it.
var running struct {
	sync.Mutex
	inRun bool
	ctx   context.Context
	stop  []func()
	err   error
	free  []*tab // that no test has
}

// Run runs the tests and then ends the browser, if they started one. It returns
// the exit code for TestMain.
func Run(m *testing.M) int {
	running.inRun = true
	defer func() {
		for i := len(running.stop) - 1; i >= 0; i-- {
			running.stop[i]()
		}
	}()
	return m.Run()
}

// browser returns the context of the browser, which it starts if it does not run
// yet.
func browser(t testing.TB) context.Context {
	t.Helper()
	livetest.Require(t, Need)
	running.Lock()
	defer running.Unlock()
	if !running.inRun {
		t.Fatal("a package that uses a browser calls browsertest.Run in its TestMain")
	}
	if running.ctx == nil && running.err == nil {
		running.ctx, running.err = start()
	}
	if running.err != nil {
		t.Fatal(running.err)
	}
	return running.ctx
}

// start starts a browser with a profile of its own, which goes with it.
func start() (context.Context, error) {
	dir, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		return nil, err
	}
	running.stop = append(running.stop, func() { os.RemoveAll(dir) })
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program()),
		chromedp.UserDataDir(dir),
		chromedp.Env("TMPDIR="+dir), // where it leaves its socket, too
		chromedp.ModifyCmdFunc(meek),
		chromedp.NoSandbox, // which is not to be had as root
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// Or input is dropped until a first frame has been committed, which takes its time on a busy machine.
		chromedp.Flag("allow-pre-commit-input", true),
		// A page written as a file may be read by nobody but itself.
		chromedp.Flag("allow-file-access-from-files", false),
	)
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), flags...)
	running.stop = append(running.stop, stopAlloc)
	ctx, stop := chromedp.NewContext(alloc)
	running.stop = append(running.stop, stop)
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w", program(), err)
	}
	return ctx, nil
}
