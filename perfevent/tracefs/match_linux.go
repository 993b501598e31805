package tracefs

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"kprof/perfevent/spelling"
)

// MatchName returns which names of events a glob selects: one without any of * ? [
// selects those that contain it.
func MatchName(glob string) (func(string) bool, error) {
	if !strings.ContainsAny(glob, `*?[\`) {
		return func(name string) bool { return strings.Contains(name, glob) }, nil
	}
	// A slash in a name is no border between directories.
	plain := func(s string) string { return strings.ReplaceAll(s, "/", "\x01") }
	if _, err := path.Match(plain(glob), ""); err != nil {
		return nil, fmt.Errorf("%q is not a pattern: %w", glob, err)
	}
	return func(name string) bool {
		ok, _ := path.Match(plain(glob), plain(name))
		return ok
	}, nil
}

// RemoveMatching removes the probes whose event, GROUP:NAME, a glob of MatchName selects;
// without any of * ? [ it is the whole name. That there is none is an error, with the
// names that may have been meant.
func (f *FS) RemoveMatching(glob string) error {
	match := func(name string) bool { return name == glob }
	if strings.ContainsAny(glob, `*?[`) {
		matched, err := MatchName(glob)
		if err != nil {
			return err
		}
		match = func(name string) bool { return name == glob || matched(name) }
	}
	probes, err := f.Probes()
	if err != nil {
		return err
	}
	var names []string
	var errs []error
	for _, p := range probes {
		name := p.Event().String()
		names = append(names, name)
		if match(name) {
			errs = append(errs, f.RemoveProbe(p))
		}
	}
	if len(errs) == 0 {
		return fmt.Errorf("there is no probe %q%s", glob, spelling.Question(spelling.Closest(glob, names)))
	}
	return errors.Join(errs...)
}

// OwnerText says whose a probe is; those of group kept are to stay.
func (p *Probe) OwnerText(kept string) string {
	o, stamped := ParseOwner(p.Group)
	switch {
	case p.Group == kept:
		return "kept"
	case !stamped:
		return "another program"
	}
	state := map[State]string{Gone: "gone", Running: "running", Elsewhere: "in another pid namespace"}
	return fmt.Sprintf("kprof %d (%s)", o.PID, state[o.State()])
}
