// Package control takes the commands that say what a recording is to do while it runs, in
// the words of perf record --control: a command a line, each answered by a line "ack" when
// it has been done.
//
//	enable [EVENT]   disable [EVENT]   snapshot   stop   ping   evlist [-v|-g|-F]
package control

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Recording is what commands are done to.
type Recording interface {
	Enable(event string) error // "" is all of them
	Disable(event string) error
	Snapshot() error
	Stop() error
	List() error // of events
}

// ErrUnknown says that a line is no command.
var ErrUnknown = errors.New("no such command: use enable, disable, enable EVENT, disable EVENT, snapshot, stop, ping or evlist")

// maxLine bounds a command, in bytes.
const maxLine = 4096

// Serve does what the lines of r say until it ends, which is no error. Each that was done
// is acknowledged in ack, which may be nil; those that could not be are given to failed,
// and not acknowledged. A line of more than 4096 bytes ends it.
func Serve(r io.Reader, ack io.Writer, to Recording, failed func(command string, err error)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 256), maxLine)
	for lines.Scan() {
		command := strings.Trim(lines.Text(), " \t\r\x00")
		if command == "" {
			continue
		}
		if err := do(command, to); err != nil {
			failed(command, err)
			continue
		}
		if ack != nil {
			if _, err := io.WriteString(ack, "ack\n"); err != nil {
				failed(command, fmt.Errorf("acknowledge: %w", err))
			}
		}
	}
	return lines.Err()
}

func do(command string, to Recording) error {
	word, event, _ := strings.Cut(command, " ")
	event = strings.TrimSpace(event)
	switch {
	case word == "enable":
		return to.Enable(event)
	case word == "disable":
		return to.Disable(event)
	case word == "evlist": // -v, -g and -F say how perf prints them
		return to.List()
	case event != "":
	case word == "snapshot":
		return to.Snapshot()
	case word == "stop":
		return to.Stop()
	case word == "ping":
		return nil
	}
	return ErrUnknown
}
