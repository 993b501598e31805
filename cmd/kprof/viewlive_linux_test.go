//go:build !portable

package main

import (
	"net/http/httptest"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/stacks/stackstest"
)

// TestViewLiveUnseen: what was recorded while nobody looked is there for who looks later, even
// if nothing more is recorded; and nothing is written that is there already.
func TestViewLiveUnseen(t *testing.T) {
	shown := &shownPages{recording: make(chan struct{})}
	started := 0
	s := &liveViewSink{view: &liveView{shown: shown, start: func() { started++ }}}
	take := func(samples int) {
		t.Helper()
		if err := s.take(&convert.Profile{Set: stackstest.Wide(samples, 1, 3)}); err != nil {
			t.Fatal(err)
		}
	}
	take(0)
	if shown.tabs != nil || started > 0 {
		t.Fatal("a page of nothing")
	}
	// ask asks for what is newer than a version, and does something when that is waited for.
	ask := func(after string, then func()) int {
		t.Helper()
		w, answered := httptest.NewRecorder(), make(chan bool)
		go func() {
			shown.tabs.ServeHTTP(w, httptest.NewRequest("GET", "/live?after="+after, nil))
			close(answered)
		}()
		waitFor(t, "who asks", func() bool { return shown.tabs.Waiting() > 0 })
		then()
		select {
		case <-answered:
			return w.Code
		case <-time.After(time.Minute):
			t.Fatalf("after version %s there is no answer", after)
			return 0
		}
	}
	take(1) // is shown
	take(1) // nobody looks
	if code := ask("1", func() { take(0) }); code != 200 {
		t.Errorf("what was not seen: %d", code)
	}
	if code := ask("2", func() { take(0); take(1) }); code != 200 {
		t.Errorf("what is new: %d", code)
	}
	if n := s.sofar.NumSamples(); n == 0 || started != 3 {
		t.Errorf("%d samples, on %d pages", n, started)
	}
	if code := ask("3", func() { shown.finish() }); code != 410 {
		t.Errorf("of what has ended: %d", code)
	}
}
