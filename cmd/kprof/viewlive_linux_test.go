//go:build !portable

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/page"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/perfdata"
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

// TestViewLiveBounded: however long something is recorded, what pages show of it stays small; they
// say what they have no more.
func TestViewLiveBounded(t *testing.T) {
	shown := &shownPages{recording: make(chan struct{})}
	s := &liveViewSink{view: &liveView{shown: shown, start: func() {}}, bound: replay.NewBound(1)}
	period := func(seed, stacked, times int) *convert.Profile {
		set := stackstest.Wide(1, 1, 3000)
		stackstest.AddStacks(set, rand.New(rand.NewPCG(uint64(seed), 0)), stacked, 20)
		set.TimedSamples = make([]stacks.TimedSample, times)
		for i := range set.TimedSamples {
			set.TimedSamples[i].Time = uint64(1 + i)
		}
		set.Comments = []string{fmt.Sprint("warning: lost ", seed, " samples")}
		return convert.New(set, nil, replay.Stats{}, &perfdata.Features{}, convert.Options{})
	}
	const periods = mostComments + 10
	var want int64
	for i := range periods {
		p := period(i, 2000, 1<<12)
		want += p.Set.Totals(0)[0]
		if err := s.take(p); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.sofar.Totals(0)[0]; got != want {
		t.Errorf("%d samples, want %d", got, want)
	}
	if size := s.sofar.RowsSize() + 24*int64(len(s.sofar.TimedSamples)); size > 16<<20 || len(s.sofar.Comments) > mostComments {
		t.Errorf("%d bytes and %d comments of %d periods", size, len(s.sofar.Comments), periods)
	}

	// With more memory, times that no page has room for are left out all the same.
	s = &liveViewSink{view: s.view}
	for range 4 {
		if err := s.take(period(0, 1, page.MaxTimes/2)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.sofar.TimedSamples); n > 0 || s.left != 2*page.MaxTimes {
		t.Errorf("there are %d times, %d were left out", n, s.left)
	}
}
