package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/spelling"
)

// Events returns the events whose system and name match the two globs (`*`,
// `?` and `[…]`), sorted. Plain names are globs that match themselves. No match
// is an error that is os.ErrNotExist and names events of similar spelling.
func (t *FS) Events(system, name string) ([]Event, error) {
	all, err := t.list(system, name)
	if err != nil {
		return nil, err
	}
	if len(all) > 0 {
		return all, nil
	}
	return nil, errkind.Errorf(os.ErrNotExist, "no tracepoint %s%s", Event{system, name}, spelling.Question(t.near(system, name)))
}

func (t *FS) list(system, name string) ([]Event, error) {
	system, name = shellGlob(system), shellGlob(name)
	if _, err := path.Match(system, ""); err != nil {
		return nil, fmt.Errorf("event system %q: %w", system, err)
	}
	if _, err := path.Match(name, ""); err != nil {
		return nil, fmt.Errorf("event name %q: %w", name, err)
	}
	systems, err := subdirs(filepath.Join(t.path, "events"), system)
	if err != nil {
		return nil, err
	}
	var all []Event
	for _, s := range systems {
		names, err := subdirs(filepath.Join(t.path, "events", s), name)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			// Entries of ftrace's own without an id cannot be opened.
			if _, err := os.Stat(t.eventPath(Event{s, n}, "id")); err == nil {
				all = append(all, Event{s, n})
			}
		}
	}
	return all, nil
}

// shellGlob turns perf's [!…] into path.Match's [^…].
func shellGlob(glob string) string { return strings.ReplaceAll(glob, "[!", "[^") }

// subdirs returns the sorted names of the directories in dir that match glob.
// A name without meta characters costs one stat instead of a listing.
func subdirs(dir, glob string) ([]string, error) {
	if !strings.ContainsAny(glob, `*?[\`) {
		if glob == "" || glob == "." || glob == ".." || strings.Contains(glob, "/") {
			return nil, nil
		}
		fi, err := os.Stat(filepath.Join(dir, glob))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !fi.IsDir() {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("tracefs: %w", err)
		}
		return []string{glob}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("tracefs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if ok, _ := path.Match(glob, e.Name()); ok && e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// near returns events that system:name may have been meant to be: those of that
// name in other systems, else those of similar spelling in that system, else in
// all.
func (t *FS) near(system, name string) []string {
	if strings.ContainsAny(system+name, `*?[\`) {
		return nil
	}
	if near := t.Named(name); len(near) > 0 {
		return near
	}
	if near := t.similar(system, name, func(e Event) string { return e.Name }); len(near) > 0 {
		for i, n := range near {
			near[i] = Event{system, n}.String()
		}
		return near
	}
	return t.similar("*", Event{system, name}.String(), Event.String)
}

// Similar returns the events, as SYSTEM:NAME, whose name is spelled much like
// name, best first.
func (t *FS) Similar(name string) []string {
	var found []string
	for _, n := range t.similar("*", name, func(e Event) string { return e.Name }) {
		found = append(found, t.Named(n)...)
	}
	return found[:min(len(found), spelling.Most)]
}

// similar returns what text makes of those events of the systems that come
// closest to word.
func (t *FS) similar(system, word string, text func(Event) string) []string {
	var all []string
	systems, err := subdirs(filepath.Join(t.path, "events"), system)
	if err != nil {
		return nil
	}
	for _, s := range systems {
		names, err := subdirs(filepath.Join(t.path, "events", s), "*")
		if err != nil {
			continue
		}
		for _, n := range names {
			all = append(all, text(Event{s, n}))
		}
	}
	return spelling.Closest(word, all)
}

// Named returns the events called name, of whatever system, as SYSTEM:NAME,
// sorted; none where events cannot be listed.
func (t *FS) Named(name string) []string {
	found, err := t.list("*", name)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range found {
		names = append(names, e.String())
	}
	return names
}

func (t *FS) eventPath(e Event, file string) string {
	return filepath.Join(t.path, "events", e.System, e.Name, file)
}

// ID is the number of e, the config of its perf event.
func (t *FS) ID(e Event) (uint64, error) {
	b, err := t.read("events", e.System, e.Name, "id")
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("id of tracepoint %s: %w", e, err)
	}
	return id, nil
}

// Format is the text of e's format file: its fields, their offsets and sizes,
// and how to print them.
func (t *FS) Format(e Event) ([]byte, error) {
	return t.read("events", e.System, e.Name, "format")
}
