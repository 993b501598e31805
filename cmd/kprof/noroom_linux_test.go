//go:build linux

package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNoRoom: that there is room again is known of what was begun after there was none, and not of
// what was begun before and kept meanwhile.
func TestNoRoom(t *testing.T) {
	n := noRoom{one: "file", many: "files"}
	before := time.Now()
	for _, err := range []error{unix.ENOSPC, fmt.Errorf("a file: %w", unix.EDQUOT)} {
		if err := n.note(err); err != nil || !n.full {
			t.Errorf("%v, full: %v", err, n.full)
		}
	}
	if n.kept(before); !n.full {
		t.Error("there is room again by what was begun before")
	}
	if n.kept(n.since.Add(1)); n.full {
		t.Error("there is no room by what was begun since")
	}
	if err := n.note(unix.EIO); !errors.Is(err, unix.EIO) || n.lost != 2 {
		t.Errorf("%v, %d lost", err, n.lost)
	}
	if err := n.end("here"); err == nil {
		t.Error("what was lost is no failure")
	}
}
