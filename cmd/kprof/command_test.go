//go:build linux

package main

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/record"
)

// TestEndedBeforeStart: a signal that ends the command while it waits for its
// events, Ctrl-C for example, gives the exit code that it gives later.
func TestEndedBeforeStart(t *testing.T) {
	for name, start := range map[string]bool{"its events were not opened": false, "its start failed": true} {
		c, err := launch([]string{"sleep", "1000"}, &signals{first: make(chan os.Signal)}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Signal(unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		if start && c.start() == nil {
			t.Errorf("%s: no error", name)
		}
		err = c.result(unix.ESRCH)
		if exit := (exitError{}); !errors.As(err, &exit) || exit.code != 130 {
			t.Errorf("%s: %v, want exit status 130", name, err)
		}
	}
}

// TestLostSideband: what is lost and no sample is of the side-band.
func TestLostSideband(t *testing.T) {
	event := func(lost uint64, known bool) record.EventStats {
		return record.EventStats{Lost: lost, LostKnown: known}
	}
	for _, tt := range []struct {
		stats record.Stats
		want  uint64
	}{
		{record.Stats{}, 0},
		{record.Stats{Lost: 10, Events: []record.EventStats{event(7, true), event(3, true)}}, 3},
		{record.Stats{Lost: 10, Events: []record.EventStats{event(7, true), event(1, true), event(0, true)}}, 2},
		{record.Stats{Lost: 10, Events: []record.EventStats{event(10, true), event(0, true)}}, 0},
		{record.Stats{Lost: 10, Events: []record.EventStats{event(0, false), event(0, false)}}, 0},
		{record.Stats{Lost: 10, Events: []record.EventStats{event(12, true), event(0, true)}}, 0}, // told of before the end
	} {
		if got := lostSideband(&tt.stats); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.stats, got, tt.want)
		}
	}
}
