// Package control takes the commands that say what a recording is to do while it runs, in
// the words of perf record --control. A command ends with a line feed, with a byte of 0, or
// where nothing follows it for 50 ms; each is answered by "ack\n" and a byte of 0 when it has
// been done (tools/perf/util/evlist.c, evlist__ctlfd_recv and evlist__ctlfd_ack).
//
//	enable [EVENT]   disable [EVENT]   snapshot   stop   ping   evlist [-v|-g|-F]
package control

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Recording is what commands are done to.
type Recording interface {
	Enable(event string) error // "" is all of them
	Disable(event string) error
	Snapshot() error
	Stop() error
	List() error // of events
}

// ErrUnknown says that something is no command.
var ErrUnknown = errors.New("no such command: use enable, disable, enable EVENT, disable EVENT, snapshot, stop, ping or evlist")

const (
	maxCommand = 4096                  // bytes
	silence    = 50 * time.Millisecond // that ends a command; perf waits for none
	ack        = "ack\n\x00"           // perf writes a C string with its end
)

// Serve does the commands in r until it ends, which is no error. Each that was done is
// acknowledged in acks, which may be nil; those that could not be are given to failed, and
// not acknowledged. One at a time is done. A command of more than 4096 bytes ends it.
func Serve(r io.Reader, acks io.Writer, to Recording, failed func(command string, err error)) error {
	s := server{acks: acks, to: to, failed: failed}
	defer s.stop()
	buf := make([]byte, maxCommand)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := s.take(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			s.finish()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// server takes bytes from whoever reads, and finishes a command that goes on no further on
// the goroutine of a timer.
type server struct {
	acks   io.Writer
	to     Recording
	failed func(command string, err error)

	mu    sync.Mutex
	begun []byte // of a command
	taken int    // how often bytes were taken: a timer that was set before is void
	timer *time.Timer
}

// take does the commands that end in b, and keeps the beginning of one that does not.
func (s *server) take(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	for len(b) > 0 {
		end := bytes.IndexAny(b, "\n\x00")
		if end < 0 {
			end = len(b)
		}
		if len(s.begun)+end > maxCommand {
			return fmt.Errorf("a command of more than %d bytes", maxCommand)
		}
		s.begun = append(s.begun, b[:end]...)
		if end == len(b) {
			break
		}
		s.doBegun()
		b = b[end+1:]
	}
	if len(s.begun) > 0 {
		set := s.taken
		s.timer = time.AfterFunc(silence, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.taken == set {
				s.doBegun()
			}
		})
	}
	return nil
}

// finish does the command that has begun, if there is one.
func (s *server) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	s.doBegun()
}

// stop has nothing done any more.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
}

// cancel has the timer that was set do nothing.
func (s *server) cancel() {
	s.taken++
	if s.timer != nil {
		s.timer.Stop()
	}
}

// doBegun does the command that has begun, if there is one, and acknowledges it.
func (s *server) doBegun() {
	command := strings.Trim(string(s.begun), " \t\r")
	s.begun = s.begun[:0]
	if command == "" {
		return
	}
	if err := do(command, s.to); err != nil {
		s.failed(command, err)
		return
	}
	if s.acks != nil {
		if _, err := io.WriteString(s.acks, ack); err != nil {
			s.failed(command, fmt.Errorf("acknowledge: %w", err))
		}
	}
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
