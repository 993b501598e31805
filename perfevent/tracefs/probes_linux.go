package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func probeFile(user bool) string {
	if user {
		return "uprobe_events"
	}
	return "kprobe_events"
}

// dynamicEvents is where all kinds of probes are listed and made, since Linux 5.0.
const dynamicEvents = "dynamic_events"

// file is where p is made.
func (p *Probe) file() string {
	if p.Kind == Breakpoint {
		return probeFile(p.User)
	}
	return dynamicEvents
}

// Probes lists all dynamic probes of the kernel, with what they counted:
// kernel probes first, each kind in the kernel's order, which is that of making.
func (t *FS) Probes() ([]Probe, error) {
	var all []Probe
	for _, user := range []bool{false, true} {
		probes, err := t.probes(user)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		all = append(all, probes...)
	}
	others, err := t.uncounted()
	return append(all, others...), err
}

// uncounted lists the probes of which no file has counts.
func (t *FS) uncounted() ([]Probe, error) {
	b, err := t.read(dynamicEvents)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var probes []Probe
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] != 'f' && line[0] != 't' {
			continue // of the two other files, or no probe
		}
		p, err := ParseProbe(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dynamicEvents, err)
		}
		probes = append(probes, p)
	}
	return probes, nil
}

// TakesProbes reports whether this kernel has probes of a kind: its README in tracefs
// lists what dynamic_events takes. True where that cannot be read.
func (t *FS) TakesProbes(k ProbeKind) bool {
	b, err := t.read("README")
	if err != nil {
		return true
	}
	switch k {
	case Fprobe:
		return strings.Contains(string(b), "f[:[<group>/]")
	case Tracepoint:
		return strings.Contains(string(b), "t[:[<group>/]")
	}
	return true
}

func (t *FS) probes(user bool) ([]Probe, error) {
	// The profile has no groups, so that its lines are told by their order.
	// Probes that come and go in between spoil it: then once more.
	const tries = 5
	for try := 1; ; try++ {
		probes, err := t.definitions(user)
		if err != nil || len(probes) == 0 {
			return probes, err
		}
		profile, err := t.read(strings.Replace(probeFile(user), "_events", "_profile", 1))
		if err != nil {
			return nil, err
		}
		again, err := t.definitions(user)
		if err != nil {
			return nil, err
		}
		if slices.Equal(probes, again) && addCounts(probes, string(profile), user) {
			return probes, nil
		}
		if try == tries {
			return again, nil // without counts
		}
	}
}

// addCounts adds what the lines of a profile say; it is false, and nothing is
// added, when they are not those of probes.
func addCounts(probes []Probe, profile string, user bool) bool {
	var counts []Counts
	for line := range strings.Lines(profile) {
		name, c, ok := profileLine(line, user)
		if i := len(counts); !ok || i >= len(probes) || name != probes[i].Name {
			return false
		}
		counts = append(counts, c)
	}
	if len(counts) != len(probes) {
		return false
	}
	for i := range probes {
		probes[i].Counts = counts[i]
	}
	return true
}

func (t *FS) definitions(user bool) ([]Probe, error) {
	b, err := os.ReadFile(filepath.Join(t.path, probeFile(user)))
	if err != nil {
		return nil, t.probesError(user, err)
	}
	var probes []Probe
	for line := range strings.Lines(string(b)) {
		p, err := ParseProbe(strings.TrimRight(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", probeFile(user), err)
		}
		p.User = user
		probes = append(probes, p)
	}
	return probes, nil
}

// probesError says what it means that kprobe_events is not there.
func (t *FS) probesError(user bool, err error) error {
	option := "CONFIG_KPROBE_EVENTS"
	if user {
		option = "CONFIG_UPROBE_EVENTS"
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("this kernel is built without %s: %w", option, errors.ErrUnsupported)
	}
	return fmt.Errorf("tracefs: %w", err)
}

// AddProbe makes a probe. A definition that the kernel refuses is a
// *ProbeError. It is not there already: the kernel would take a second one of
// that name for another place of the same event.
func (t *FS) AddProbe(p Probe) error {
	if _, err := os.Stat(t.eventPath(p.Event(), "id")); err == nil {
		return &ProbeError{Definition: p.String(), Reason: "there is a probe of that name", Offset: -1, Err: unix.EEXIST}
	}
	err := t.writeProbe(&p, p.String())
	var refused *os.PathError
	if !errors.As(err, &refused) || refused.Op != "write" {
		return err
	}
	pe := &ProbeError{Definition: p.String(), Offset: -1, Err: refused.Err}
	// Since Linux 5.2 the kernel says why.
	if log, rerr := t.read("error_log"); rerr == nil {
		pe.Reason, pe.Offset = parseErrorLog(pe.Definition, string(log))
	}
	return pe
}

// RemoveProbe removes a probe that nobody uses. Events that are being closed
// keep it busy for a moment.
func (t *FS) RemoveProbe(p Probe) error {
	const patience = 2 * time.Second
	line := fmt.Sprintf("-:%s/%s", p.Group, p.Name)
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := t.writeProbe(&p, line)
		if errors.Is(err, unix.EBUSY) && time.Since(begun) < patience {
			continue
		}
		if err != nil {
			return fmt.Errorf("remove probe %s: %w", p.Event(), err)
		}
		return nil
	}
}

// MayProbe returns why this user may not make kernel probes, or those in programs;
// nil if nothing is in the way.
func (t *FS) MayProbe(user bool) error {
	f, err := os.OpenFile(filepath.Join(t.path, probeFile(user)), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return t.probesError(user, err)
	}
	return f.Close()
}

// writeProbe appends a line to p's file. To truncate the file would remove all probes.
func (t *FS) writeProbe(p *Probe, line string) error {
	f, err := os.OpenFile(filepath.Join(t.path, p.file()), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return t.probesError(p.User, err)
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// Cleanup removes the probes that kprofs left behind that are no more, and
// returns them. It goes on after an error.
func (t *FS) Cleanup() (removed []Probe, err error) {
	probes, err := t.Probes()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range probes {
		o, ours := ParseOwner(p.Group)
		if !ours || o.State() != Gone {
			continue
		}
		err := t.RemoveProbe(p)
		if errors.Is(err, unix.ENOENT) {
			continue // by another one who cleans up
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, p)
	}
	return removed, errors.Join(errs...)
}
