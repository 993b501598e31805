package event

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/tracefs"
)

// ProbeVia says how probes are made.
type ProbeVia uint8

const (
	// ProbeAuto: through the PMU, but for what only tracefs can: fetch arguments,
	// the kernel's own definitions, and user probes that are inherited.
	ProbeAuto ProbeVia = iota

	// ProbePMU: each counter is a probe of its own, gone with its file
	// descriptor. On one function, each is one more handler that every hit
	// runs.
	ProbePMU

	// ProbeTracefs: one probe whatever the number of counters, in a file of the
	// kernel's, which outlives a process that is killed. See tracefs.Owner.
	ProbeTracefs
)

// tracefsProbe makes a probe in tracefs and returns it as the tracepoint that
// it is. Close removes it.
func (r *Resolver) tracefsProbe(ev Event) (Event, error) {
	def, err := r.definition(ev.Source.Probe)
	if err != nil {
		return ev, err
	}
	fs, err := r.Tracefs()
	if err != nil {
		return ev, perfevent.DeniedTracefs(err, ev.Source.Class())
	}
	self, err := tracefs.Self()
	if err != nil {
		return ev, err
	}
	ev.Name = probeName(ev.Source, def)
	def.Group = self.Group()
	base := def.Name
	for n := 1; ; n++ {
		if n > 1 {
			def.Name = tracefs.Identifier(fmt.Sprintf("%.50s_%d", base, n))
		}
		if _, err := os.Stat(filepath.Join(fs.Path(), "events", def.Group, def.Name)); err != nil {
			break // there is none of that name yet
		}
	}
	if err := fs.AddProbe(def); err != nil {
		return ev, fmt.Errorf("%w%s", perfevent.DeniedTracefs(r.explainProbe(err, ev.Source.Probe), ev.Source.Class()), hintTracefs(err))
	}
	r.probes = append(r.probes, def)
	r.noteInherited(&ev, def.User)
	ev.Tracepoint = def.Event()
	ev.Attr.Type = abi.TypeTracepoint
	ev.Attr.Config, err = fs.ID(ev.Tracepoint)
	return ev, err
}

// Definition is the probe of s as one writes it into tracefs, checked, with no
// group unless the kernel's own definition has one. Of a glob there is none.
func (r *Resolver) Definition(s Spec) (def tracefs.Probe, err error) {
	ev := Event{Source: s}
	switch {
	case s.Kind != KindProbe:
		err = errkind.Errorf(os.ErrInvalid, "not a probe")
	case s.Probe.isGlobbed() && !s.Probe.User:
		err = errkind.Errorf(os.ErrInvalid, "wants one function")
	default:
		err = r.probePMU(&ev)
	}
	if err == nil && s.Probe.User && s.Probe.Raw == "" {
		var places []Spec
		switch places, err = r.expand(s); {
		case len(places) > 1 && (s.Probe.isGlobbed() || s.Probe.Provider == ""):
			err = errkind.Errorf(os.ErrInvalid, "%d %s match, and one is wanted, such as %s", len(places), s.Probe.these(), places[0].Text)
		case len(places) > 1:
			err = errkind.Errorf(os.ErrInvalid, "%d places are this probe, and one is wanted: make each a uprobe:PATH:0xOFF", len(places))
		case err == nil:
			s = places[0]
		}
	}
	if err == nil && !s.Probe.User && s.Probe.Raw == "" {
		_, err = r.checkKernelProbe(s.Probe)
	}
	if err == nil {
		def, err = r.definition(s.Probe)
	}
	if err != nil {
		return def, fmt.Errorf("event %q: %w", s.asked(), err)
	}
	return def, nil
}

// KeptGroup is the group in tracefs of the probes that are to stay.
const KeptGroup = "kprof"

// KeepProbe makes the probe of s, one that stays until it is removed or the machine
// starts again, and returns it: in KeptGroup, unless the kernel's own definition has
// a group. An error says what to do instead.
func (r *Resolver) KeepProbe(s Spec) (tracefs.Probe, error) {
	def, err := r.Definition(s)
	if err != nil {
		return def, err
	}
	if def.Group == "" {
		def.Group = KeptGroup
	}
	fs, err := r.Tracefs()
	if err != nil {
		return def, perfevent.DeniedTracefs(err, s.Class())
	}
	if err := fs.AddProbe(def); err != nil {
		return def, fmt.Errorf("%w%s", perfevent.DeniedTracefs(r.explainProbe(err, s.Probe), s.Class()), hintTracefs(err))
	}
	return def, nil
}

// definition is p in the kernel's language, without a group.
func (r *Resolver) definition(p Probe) (tracefs.Probe, error) {
	if p.Raw != "" {
		return tracefs.ParseProbe(p.Raw)
	}
	args, err := r.namedArguments(p)
	if err != nil {
		return tracefs.Probe{}, err
	}
	def := tracefs.Probe{User: p.User, Return: p.Return, Args: args}
	if p.MaxActive > 0 {
		def.MaxActive = strconv.Itoa(p.MaxActive)
	}
	switch {
	case p.User:
		path, err := filepath.Abs(p.Path)
		if err != nil {
			return def, err
		}
		off, err := probeOffset(path, p)
		if err != nil {
			return def, err
		}
		def.Place = fmt.Sprintf("%s:%#x", path, off)
		if p.Counter != 0 {
			def.Place += fmt.Sprintf("(%#x)", p.Counter)
		}
		def.Name = tracefs.Identifier(p.Symbol)
		if p.Provider != "" {
			def.Name = tracefs.Identifier(p.Provider + "_" + p.Symbol)
		}
		if p.Symbol == "" {
			def.Name = tracefs.Identifier(fmt.Sprintf("%s_%x", filepath.Base(path), off))
		}
	case p.Symbol == "":
		def.Place = fmt.Sprintf("%#x", p.Addr)
		def.Name = tracefs.Identifier(fmt.Sprintf("at_%x", p.Addr))
	default:
		def.Place, def.Name = p.Symbol, tracefs.Identifier(p.Symbol)
		if p.Module != "" {
			def.Place = p.Module + ":" + p.Symbol
		}
	}
	if p.Off != 0 && !p.User {
		def.Place += fmt.Sprintf("+%d", p.Off)
		def.Name += fmt.Sprintf("_%x", p.Off)
	}
	return def, nil
}

// probeName is what a probe's event is called: as it was asked for, without
// fetch arguments, so that recordings of it can be compared; a definition of the
// kernel's as it would be called there.
func probeName(s Spec, def tracefs.Probe) string {
	if s.DisplayName != "" {
		return s.DisplayName
	}
	if s.Probe.Raw == "" {
		name, _, _ := strings.Cut(s.Text, " ")
		return name
	}
	if def.Group == "" {
		switch {
		case def.Kind == tracefs.Fprobe:
			def.Group = "fprobes"
		case def.Kind == tracefs.Tracepoint:
			def.Group = "tracepoints"
		case def.User:
			def.Group = "uprobes"
		default:
			def.Group = "kprobes"
		}
	}
	return def.Event().String()
}

// ProbeCounts are what the kernel counted of a probe that was made in tracefs;
// ok is false for other events.
func (r *Resolver) ProbeCounts(e Event) (c tracefs.Counts, ok bool, err error) {
	if len(r.probes) == 0 || e.Source.Kind != KindProbe || e.Tracepoint == (tracefs.Event{}) {
		return c, false, nil
	}
	all, err := r.fs.Probes()
	if err != nil {
		return c, false, err
	}
	for _, p := range all {
		if p.Event() == e.Tracepoint {
			return p.Counts, true, nil
		}
	}
	return c, false, errkind.Errorf(os.ErrNotExist, "probe %s is gone", e.Tracepoint)
}

// AllProbeCounts are what the kernel has counted of each dynamic probe in tracefs, whoever
// made it, since it is there. Probes that are one event are summed up.
func (r *Resolver) AllProbeCounts() (map[tracefs.Event]tracefs.Counts, error) {
	fs, err := r.Tracefs()
	if err != nil {
		return nil, err
	}
	probes, err := fs.Probes()
	if err != nil {
		return nil, err
	}
	all := map[tracefs.Event]tracefs.Counts{}
	for _, p := range probes {
		c := all[p.Event()]
		all[p.Event()] = tracefs.Counts{Hits: c.Hits + p.Hits, Misses: c.Misses + p.Misses, MissesKnown: c.MissesKnown || p.MissesKnown}
	}
	return all, nil
}

// Close removes the probes that were made. Counters of them must be closed
// before. A second Close does nothing.
func (r *Resolver) Close() error {
	var errs []error
	for _, c := range r.keepers {
		errs = append(errs, c.Close())
	}
	r.keepers = nil
	for _, p := range r.probes {
		errs = append(errs, r.fs.RemoveProbe(p))
	}
	r.probes = nil
	return errors.Join(errs...)
}
