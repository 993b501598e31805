package event

import (
	"os"

	"kprof/perfevent/spelling"
)

// An UnknownError is of one word that no event is called. It is os.ErrNotExist too.
type UnknownError struct {
	Word string
	Near []string // events with much the same name
}

func (e *UnknownError) Error() string { return "no event has that name" + spelling.Question(e.Near) }

func (e *UnknownError) Is(target error) bool { return target == os.ErrNotExist }
