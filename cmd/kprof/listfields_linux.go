//go:build !portable

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"kprof/convert/printable"
	"kprof/perfevent/event"
	eventformat "kprof/perfevent/format"
	"kprof/perfevent/tracefs"
)

// fieldLine is a field of an event as list --fields shows it.
type fieldLine struct {
	Name string `json:"name"`
	Type string `json:"type"` // as the kernel declares it: char[16]
}

// withFields returns the tracepoints among events, with their fields. Those that are removed
// meanwhile, as probes are, are left out.
func withFields(r *event.Resolver, glob string, events []eventLine) (lines []eventLine, err error) {
	for _, l := range events {
		if !l.tracepoint {
			continue
		}
		t, err := r.Tracefs()
		if err != nil {
			return nil, err
		}
		system, name, _ := strings.Cut(l.Name, ":")
		text, err := t.Format(tracefs.Event{System: system, Name: name})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := eventformat.Parse(string(text), eventformat.Machine{})
		if err != nil {
			return nil, fmt.Errorf("the format of %s: %w", l.Name, err)
		}
		for _, field := range f.Own() {
			l.Fields = append(l.Fields, fieldLine{field.Name, field.Type})
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no tracepoint matches %q, and nothing else has fields: a probe has those that are asked for behind its name (kprof help fields)", glob)
	}
	return lines, nil
}

// writeFields writes a line for each field of an event, below that.
func writeFields(w io.Writer, fields []fieldLine) {
	width := 0
	for _, f := range fields {
		width = max(width, min(len(f.Name), 30))
	}
	for _, f := range fields {
		fmt.Fprintf(w, "    %-*s  %s\n", width, printable.Text(f.Name), printable.Text(f.Type))
	}
}
