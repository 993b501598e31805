//go:build linux

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert/pprof"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// silentServer answers nobody until the test ends. asked is closed when somebody asks.
func silentServer(t *testing.T) (url string, asked chan struct{}) {
	t.Helper()
	asked, gone := make(chan struct{}, 100), make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-gone
	}))
	t.Cleanup(h.Close)
	t.Cleanup(func() { close(gone) })
	return h.URL, asked
}

// unnamedRecording has a sample in a file that only its build id tells.
func unnamedRecording(t *testing.T) string {
	t.Helper()
	return perftext.WriteFile(t, `event cpu-clock type=software config=0
comm t=1 pid=7 comm=x
mmap2 t=1 pid=7 addr=0x1000 len=0x1000 file=/gone/prog buildid=0123456789abcdef0123456789abcdef01234567
sample t=2 pid=7 user 0x1010
`)
}

// TestNamingEndsBySignal: whatever naming waits for, a signal has the profile written
// without the names that are missing, and that is told.
func TestNamingEndsBySignal(t *testing.T) {
	url, asked := silentServer(t)
	out := filepath.Join(t.TempDir(), "x.pb.gz")
	c := kprof(t, "convert", unnamedRecording(t), "--debuginfod", url, "-o", out)
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := c.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !strings.Contains(said.String(), "cut short: ended by SIGTERM") {
		t.Fatalf("%v, said %q", err, said.String())
	}
	f := livetest.Open(t, os.Open, out)
	set, err := pprof.Read(f)
	if err != nil || len(set.Locations) != 1 {
		t.Errorf("%v, %v", set, err)
	}
}

// TestNamingDeadline: so does a deadline, by itself.
func TestNamingDeadline(t *testing.T) {
	var none *signals
	ctx, end := none.limited(context.Background(), time.Millisecond)
	defer end()
	<-ctx.Done()
	if err := context.Cause(ctx); err == nil || !strings.Contains(err.Error(), "longer than 1ms") {
		t.Errorf("ended by %v", err)
	}
}

// TestSignalsWhileNaming: a signal that ended a recording is not the one that ends
// naming, and the second one is not taken for impatience.
func TestSignalsWhileNaming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &signals{first: make(chan os.Signal, 1), in: make(chan os.Signal, 4)}
		go s.watch()
		defer close(s.in)
		s.in <- unix.SIGINT
		if got := <-s.first; got != unix.SIGINT {
			t.Errorf("recording ended by %v", got)
		}
		ended := make(chan os.Signal, 1)
		end := s.during(func(sig os.Signal) { ended <- sig })
		s.in <- unix.SIGINT // by way of a parent: the same wish
		time.Sleep(2 * signalGrace)
		if len(ended) > 0 {
			t.Error("naming ended by the signal that ended the recording")
		}
		s.in <- unix.SIGTERM
		if got := <-ended; got != unix.SIGTERM {
			t.Errorf("naming ended by %v", got)
		}
		end()
	})
}
