//go:build !portable

package main

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// noRoom counts what a recording that goes on could not keep for want of room on the disk. That may
// pass, and the end of the recording would lose more.
type noRoom struct {
	one, many string // "profile", "profiles"

	mu   sync.Mutex
	full bool // there was no room for the last one
	lost int  // for how many there was none
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
		err = nil
	} else if n.full && err == nil {
		notef("there is room again")
	}
	n.full = full
	return err
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
