package tracer

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/ringpage"
)

// undo is a step that puts something back.
type undo struct {
	Path   string
	Lines  []string // to be written, each by a write(2) of its own
	Empty  bool     // the file first: of a list
	Remove bool     // an instance, in place of all that
}

// busy is how long an instance may be in use by what of its owner is just ending.
const busy = 5 * time.Second

func (u *undo) do() error {
	if !u.Remove {
		return write(u.Path, u.Empty, u.Lines...)
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Rmdir(u.Path)
		switch {
		case err == nil || err == unix.ENOENT || err == unix.ENODEV: // instance_rmdir, of one that somebody else removes
			return nil
		case !errors.Is(err, unix.EBUSY) || time.Since(begun) > busy:
			return &os.PathError{Op: "rmdir", Path: u.Path, Err: err}
		}
	}
}

// undoAll takes the steps, the last one first. What cannot be put back does not keep the
// rest from it.
func undoAll(steps []undo) error {
	var errs []error
	for i := len(steps) - 1; i >= 0; i-- {
		if err := steps[i].do(); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// write writes lines to a file of tracefs. What a list takes at its close is an error too.
func write(path string, empty bool, lines ...string) error {
	flags := os.O_WRONLY
	if empty {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if _, werr := f.WriteString(l + "\n"); werr != nil {
			err = errors.Join(err, fmt.Errorf("write %q: %w", shorten(l), werr))
		}
	}
	return errors.Join(err, f.Close())
}

func shorten(s string) string { return s[:min(len(s), 80)] }

// settings changes files of the tracer, and notes with the guard how they were.
type settings struct {
	guard *guard
	done  []undo
}

func (s *settings) note(u undo) error {
	if err := s.guard.note(u); err != nil {
		return err
	}
	s.done = append(s.done, u)
	return nil
}

// set writes a value to a file that holds one.
func (s *settings) set(path, value string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	was := chosen(string(old))
	if err := s.note(undo{Path: path, Lines: []string{was}}); err != nil {
		return err
	}
	return write(path, false, value)
}

// list writes a list in the place of another.
func (s *settings) list(path string, lines ...string) error {
	old, err := readList(path)
	if err != nil {
		return err
	}
	if len(old)+len(lines) == 0 {
		return nil
	}
	if err := s.note(undo{Path: path, Lines: old, Empty: true}); err != nil {
		return err
	}
	return write(path, true, lines...)
}

// undo puts all back, and lets the guard go.
func (s *settings) undo() error {
	err := undoAll(s.done)
	s.done = nil
	return errors.Join(err, s.guard.close())
}

// chosen is the value that a file shows: of "[local] global" local, as trace_clock has it,
// and of "7 (expanded: 1408)" 1408, as buffer_size_kb has it of rings that nobody has used.
func chosen(text string) string {
	if _, rest, ok := strings.Cut(text, "(expanded: "); ok {
		text, _, _ = strings.Cut(rest, ")")
	}
	return ringpage.ChosenClock(text)
}

// readList reads a list of functions or of threads, as it is to be written again. What
// commands are set for functions (FUNC:COMMAND) is in the file too, and is not changed by
// writing to it.
func readList(path string) (list []string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line == "no pid" || strings.HasPrefix(line, "#") || strings.Contains(line, ":") {
			continue
		}
		name, _, _ := strings.Cut(line, " ") // "FUNC [module]"
		list = append(list, name)
	}
	return list, nil
}
