//go:build !portable

package main

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// noRoom counts what a recording that goes on could not keep for want of room on the disk. That may
// pass, and the end of the recording would lose more.
type noRoom struct {
	one, many string // "profile", "profiles"

	mu    sync.Mutex
	full  bool      // there was no room for the last one
	since time.Time // when that was seen last
	lost  int       // for how many there was none
}

// note takes the error with which one more was kept, nil for none, and returns nil where it was want
// of room, of which it tells the first.
func (n *noRoom) note(err error) error {
	full := errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
	n.mu.Lock()
	defer n.mu.Unlock()
	if full {
		if n.lost++; !n.full {
			messagef("%v; %s are lost until there is room", err, n.many)
		}
		n.since = time.Now()
		err = nil
	} else if n.full && err == nil {
		notef("there is room again")
	}
	n.full = full
	return err
}

// kept takes that one more was kept that was begun then: of one that was begun before there was no
// room any more it is not known that there is room again for what comes.
func (n *noRoom) kept(begun time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.full && begun.After(n.since) {
		notef("there is room again")
		n.full = false
	}
}

// end tells at the end how many are lost, which fails the recording.
func (n *noRoom) end(where string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lost == 0 {
		return nil
	}
	of := n.many
	if n.lost == 1 {
		of = n.one
	}
	messagef("lost: %d %s for which there was no room in %s", n.lost, of, where)
	return exitError{exitFailed}
}
