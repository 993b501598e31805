//go:build linux

package main

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
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
		if start && c.Start() == nil {
			t.Errorf("%s: no error", name)
		}
		err = c.result(unix.ESRCH)
		if exit := (exitError{}); !errors.As(err, &exit) || exit.code != 130 {
			t.Errorf("%s: %v, want exit status 130", name, err)
		}
	}
}
