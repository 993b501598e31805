package event

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/procfs"
	"kprof/perfevent/spelling"
)

// What sysfs says about a PMU (Documentation/ABI/testing/
// sysfs-bus-event_source-devices-{format,events}), below
// bus/event_source/devices/NAME:
//
//	type           its number
//	format/FIELD   where a term goes: "config:0-7,32-35"
//	events/EVENT   an event as terms: "event=0x3c,umask=0x01", or "domain=0x1,chip=?" where who
//	               asks for the event is to say chip=
//	cpus           the CPUs that it is of, where there are several kinds

func (r *Resolver) pmuPath(elem ...string) string {
	return r.sysfs(append([]string{"bus", "event_source", "devices"}, elem...)...)
}

// PMUType is the number of the PMU called name.
func (r *Resolver) PMUType(name string) (abi.Type, error) {
	b, err := os.ReadFile(r.pmuPath(name, "type"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, errkind.Errorf(os.ErrNotExist, "no PMU %q on this machine%s (there are: %s)", name,
			spelling.Question(spelling.Closest(name, r.PMUs())), strings.Join(r.PMUs(), ", "))
	}
	if err != nil {
		return 0, fmt.Errorf("PMU %q: %w", name, err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("type of PMU %q: %w", name, err)
	}
	return abi.Type(n), nil
}

// PMUs lists the PMUs of this machine, sorted; none when sysfs cannot be read.
func (r *Resolver) PMUs() []string { return fileNames(r.pmuPath()) }

// PMUEvents lists the events that a PMU has names for, sorted.
func (r *Resolver) PMUEvents(pmu string) []string {
	return slices.DeleteFunc(fileNames(r.pmuPath(pmu, "events")), func(n string) bool {
		return strings.HasSuffix(n, ".scale") || strings.HasSuffix(n, ".unit") ||
			strings.HasSuffix(n, ".snapshot") || strings.HasSuffix(n, ".per-pkg")
	})
}

// fileNames lists dir, sorted as os.ReadDir does.
func fileNames(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// pmuEvent fills in the attribute of pmu/terms/, or of a bare word that is an
// event of some PMU.
func (r *Resolver) pmuEvent(ev *Event) error {
	pmu := ev.Source.PMU
	if pmu == "" {
		word := ev.Source.Terms[0].Key
		with := r.pmusWith(word)
		if len(with) == 0 {
			return r.unknownEvent(word)
		}
		pmu = with[0]
	}
	var err error
	if ev.Attr.Type, err = r.PMUType(pmu); err != nil {
		return err
	}
	if ev.CPUs, err = procfs.ReadCPUs(os.DirFS(r.pmuPath(pmu)), "cpus"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, t := range ev.Source.Terms {
		if err := r.applyTerm(&ev.Attr, pmu, t, ev.Source.Terms); err != nil {
			return err
		}
	}
	return nil
}

// applyTerm sets what one term of those asked for says. A bare term may be an event of the PMU,
// whose own terms are applied in its place; these may not be events again, and come with no asked.
func (r *Resolver) applyTerm(a *abi.Attr, pmu string, t Term, asked []Term) error {
	events := len(asked) > 0
	if field := attrField(a, t.Key); field != nil {
		*field |= t.Value
		return nil
	}
	if t.Bare && events {
		if b, err := os.ReadFile(r.pmuPath(pmu, "events", t.Key)); err == nil {
			for term := range strings.SplitSeq(strings.TrimSpace(string(b)), ",") {
				key, value, valued := strings.Cut(term, "=")
				sub := Term{Key: key, Value: 1, Bare: !valued}
				if value == "?" {
					if !slices.ContainsFunc(asked, func(t Term) bool { return t.Key == key && !t.Bare }) {
						return errkind.Errorf(os.ErrInvalid, "event %s of PMU %s wants %s=, as in %s/%s,%s=0/", t.Key, pmu, key, pmu, t.Key, key)
					}
					continue // it is a term of its own, of those asked for
				}
				if valued {
					if sub.Value, err = parseNumber(value); err != nil {
						return fmt.Errorf("event %s of PMU %s: term %q: %w", t.Key, pmu, term, err)
					}
				}
				if err := r.applyTerm(a, pmu, sub, nil); err != nil {
					return fmt.Errorf("event %s of PMU %s: %w", t.Key, pmu, err)
				}
			}
			return nil
		}
	}
	b, err := os.ReadFile(r.pmuPath(pmu, "format", t.Key))
	if err != nil && t.Bare && events && r.applyNumbered(a, pmu, t.Key) {
		return nil
	}
	if err != nil {
		known := append(fileNames(r.pmuPath(pmu, "format")), r.PMUEvents(pmu)...)
		if len(known) == 0 {
			return errkind.Errorf(os.ErrNotExist, "PMU %s has no term or event %q (it has none but config= to config3=)", pmu, t.Key)
		}
		return errkind.Errorf(os.ErrNotExist, "PMU %s has no term or event %q%s (it has: %s)", pmu, t.Key,
			spelling.Question(spelling.Closest(t.Key, known)), strings.Join(known, ", "))
	}
	if err := setField(a, strings.TrimSpace(string(b)), t.Value); err != nil {
		return fmt.Errorf("term %s of PMU %s: %w", t.Key, pmu, err)
	}
	return nil
}

// applyNumbered makes of a the event of a CPU's PMU that every kernel has a number for, as in
// cpu_core/cycles/ and cpu/L1-dcache-load-misses/. Where there are several kinds of CPU, the
// number of the PMU goes above that of the event (PERF_PMU_TYPE_SHIFT in
// include/uapi/linux/perf_event.h).
func (r *Resolver) applyNumbered(a *abi.Attr, pmu, name string) bool {
	typ, config, ok := numbered(name)
	kind := exists(r.pmuPath(pmu, "cpus"))
	if !ok || typ != abi.TypeHardware && typ != abi.TypeHWCache || pmu != "cpu" && !kind {
		return false
	}
	if kind {
		config |= uint64(a.Type) << 32
	}
	a.Type, a.Config = typ, a.Config|config
	return true
}

func attrField(a *abi.Attr, name string) *uint64 {
	switch name {
	case "config":
		return &a.Config
	case "config1":
		return &a.Config1
	case "config2":
		return &a.Config2
	case "config3":
		return &a.Config3
	}
	return nil
}

// setField spreads value over the bits that format names, lowest first:
// "config1:0-7,32" takes nine bits.
func setField(a *abi.Attr, format string, value uint64) error {
	name, ranges, _ := strings.Cut(format, ":")
	field := attrField(a, name)
	if field == nil {
		return fmt.Errorf("format %q: unknown field", format)
	}
	left := value
	for span := range strings.SplitSeq(ranges, ",") {
		lo, hi, ok := procfs.ParseRange(span, 6)
		if !ok {
			return fmt.Errorf("format %q: bits %q", format, span)
		}
		width := hi - lo + 1
		mask := ^uint64(0) >> (64 - width)
		*field = *field&^(mask<<lo) | left&mask<<lo
		left = left >> (width - 1) >> 1
	}
	if left != 0 {
		return fmt.Errorf("value %#x has more bits than %q", value, filepath.Base(format))
	}
	return nil
}
