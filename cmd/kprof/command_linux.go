//go:build !portable

package main

import (
	"errors"

	"kprof/convert"
	"kprof/record"
)

// supervised is a command that is being recorded.
type supervised struct {
	*record.Supervised
	code int // when it has ended
}

// launch prepares a command; Start lets it go. When it ends, stop is called.
func launch(argv []string, signals *signals, stop func()) (*supervised, error) {
	c, err := record.Supervise(argv, signals.first, stop)
	if err != nil {
		messagef("%v", err)
		return nil, exitError{record.ExitCode(err)}
	}
	return &supervised{Supervised: c}, nil
}

// result turns the outcome of the recording and that of the command into one. A
// recording that failed is told of while the command goes on: it is the
// command's exit code that counts, or exitFailed in the place of 0.
func (c *supervised) result(failed error) error {
	running := failed != nil && c.Runs() && c.Outlasts()
	if running {
		messagef("%v; the command goes on and is not recorded any more", failed)
	}
	end := c.End()
	c.code = end.Code
	switch {
	case end.Before != 0:
		messagef("%v before the command was started", end.Before)
		return exitError{128 + int(end.Before)}
	case end.StartErr != nil:
		messagef("%v", end.StartErr)
		return exitError{record.ExitCode(end.StartErr)}
	case !end.Started:
		return failed
	}
	if failed != nil && !running {
		messagef("%v", failed)
	}
	if errors.As(failed, new(*convert.EmptyError)) && end.Err == nil {
		failed = nil // it has been told
	}
	switch {
	case end.Err != nil:
		return end.Err
	case end.Code != 0:
		return exitError{end.Code}
	case failed != nil:
		return exitError{exitFailed}
	}
	return nil
}
