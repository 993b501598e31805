//go:build !linux || portable

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"
)

// recordFlags say what to record, which is nothing here.
type recordFlags struct {
	command []string // behind --
}

func (f *recordFlags) given(_ *cobra.Command, command []string) { f.command = command }

// flags gives a command the flags of what is selected.
func (f *viewFlags) flags(c *cobra.Command) { f.sel.flags(c) }

// records refuses a command to record, and says what to type where there is no input.
func (f *viewFlags) records(_ *cobra.Command, inputs, command []string) (bool, error) {
	if command != nil {
		return false, errOnlyLinux("recording a command")
	}
	if _, err := os.Stat(defaultInput); len(inputs) == 0 && errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("there is no %s here: name a recording", defaultInput)
	}
	return false, nil
}

func (f *viewFlags) selectShared() {}

func (f *viewFlags) record(context.Context, *shownPages, *viewServer) error {
	return errOnlyLinux("recording")
}

func (f *recordFlags) ending() (syscall.Signal, bool) { return 0, false }

func (f *recordFlags) thenShow(recorded error, _ *shownPages, _ *viewServer) error {
	return recorded
}

// ofRecording completes a shared flag: here they are all of the input.
func ofRecording(_ string, ofInput completion) completion { return ofInput }
