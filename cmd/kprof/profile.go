package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// profile is a Set with what belongs to it: where it comes from and what was
// lost on the way.
type profile struct {
	set    *stacks.Set
	stats  convert.Stats
	events []abi.Event // of the recording, nil for a profile of another tool
	source string      // name of the input

	symbols []perfdata.FileSymbols // that the recording brings along
}

// oneEvent returns the event to show where only one can be: the one asked for,
// else the first. It tells about the others.
func (p *profile) oneEvent() int {
	if len(p.set.Events) < 2 {
		return 0
	}
	names := make([]string, 0, len(p.set.Events)-1)
	for _, e := range p.set.Events[1:] {
		names = append(names, e.Name)
	}
	messagef("showing event %s only; choose another with --event: %s", p.set.Events[0].Name, strings.Join(names, ", "))
	return 0
}

// weightColumn is the column of an event that its weights are taken from.
func (p *profile) weightColumn(event int) int {
	i := slices.IndexFunc(p.events, func(e abi.Event) bool { return e.Name == p.set.Events[event].Name })
	if i < 0 {
		return len(p.set.Events[event].Values) - 1
	}
	return convert.WeightColumn(p.set, event, &p.events[i].Attr)
}

// symbolOptions are the flags that say where names come from.
type symbolOptions struct {
	kallsyms   string
	vmlinux    string
	force      bool
	symfs      string
	inline     bool
	lines      bool
	namesOnly  bool   // the output shows nothing else
	debuginfod string // servers, separated by blanks

	// What the recording says.
	release  string // of the kernel
	foreign  bool   // not recorded by this kernel since it booted
	none     bool   // nothing is to be named
	unwind   bool   // it has copies of stacks
	recorded []byte // kallsyms that the recording brings, nil for none

	keeper *symbolize.Keeper // of files that were mapped, nil for none
}

// symbolizer returns what names frames as the flags and the recording say.
func (o *symbolOptions) symbolizer() *symbolize.Symbolizer {
	so := symbolize.Options{
		Foreign:      o.foreign,
		KallsymsPath: o.kallsyms,
		Root:         o.symfs,
		BuildIDCache: buildIDCache(),
		Vmlinux:      o.vmlinux,
		Force:        o.force,
		Release:      o.release,
		Keeper:       o.keeper,
		Inline:       o.inline,
		Lines:        o.lines,
		NamesOnly:    o.namesOnly,
		CallFrames:   o.unwind,

		DebuginfodURLs: strings.Fields(o.debuginfod),
	}
	if len(o.recorded) > 0 {
		so.Kallsyms = bytes.NewReader(o.recorded)
	}
	return symbolize.New(so)
}

// name fills in the names of all frames and tells which could not be had.
func (p *profile) name(ctx context.Context, sym *symbolize.Symbolizer, o *symbolOptions) error {
	if o.none {
		return nil
	}
	for _, d := range p.stats.JITDumps {
		sym.AddJITDump(d.PID, d.Path)
	}
	convert.NameRecorded(p.set, p.symbols, symbolize.DemangleSimple)
	missing, err := convert.Name(ctx, p.set, sym)
	if err != nil {
		return err
	}
	for _, m := range missing {
		var given *symbolize.VmlinuxError
		if !errors.As(m.Err, &given) {
			continue
		}
		var other *symbolize.BuildIDError
		if errors.As(given, &other) {
			return fmt.Errorf("--vmlinux: %w: use the vmlinux of the recorded kernel, or --force", other)
		}
		return fmt.Errorf("--vmlinux: %w", given)
	}
	for _, other := range sym.Overridden() {
		p.warn(fmt.Sprintf("names may be wrong: %v", other))
	}
	p.tellMissing(missing)
	if slices.ContainsFunc(p.set.Locations, func(l stacks.Location) bool { return l.Mapping == stacks.NoMapping && l.Kind == stacks.KindKernel }) {
		p.warn("the recording does not say where its kernel was: name that kernel's frames with its --kallsyms")
	}
	return nil
}

// buildIDCache is where perf keeps files by build id.
func buildIDCache() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home + "/.debug"
}

// warn tells something that makes the profile less than it should be, and puts it
// into the profile.
func (p *profile) warn(what string) {
	messagef("%s", what)
	p.set.Comments = append(p.set.Comments, "warning: "+what)
}

// tellLost tells what the recording does not hold.
func (p *profile) tellLost() {
	st := &p.stats
	for _, l := range st.Losses() {
		p.warn(l)
	}
	if st.Truncated != nil {
		p.warn(fmt.Sprintf("%s: %v; everything before is converted", p.source, st.Truncated))
	}
}

// shownMissing is how many mappings without names are told one by one, and
// leastShown the share of samples from which they are.
const (
	shownMissing = 5
	leastShown   = 0.001
)

// missingNames is what is told of the mappings that share a file and a reason.
type missingNames struct {
	file, reason string
	share        float64 // of samples
}

// missingList gathers what is missing, once for each file and reason.
type missingList struct {
	all   []missingNames
	index map[missingNames]int // in all, without the share
}

func (l *missingList) add(file, reason string, share float64) {
	if share == 0 {
		return
	}
	if l.index == nil {
		l.index = map[missingNames]int{}
	}
	key := missingNames{file: file, reason: reason}
	i, known := l.index[key]
	if !known {
		i = len(l.all)
		l.index[key] = i
		l.all = append(l.all, key)
	}
	// A sample may have frames in several mappings of a file.
	l.all[i].share = min(l.all[i].share+share, 1)
}

// tell writes what is missing into the profile's comments, and the most of it as
// messages, most samples first.
func (l *missingList) tell(p *profile, what string) {
	slices.SortStableFunc(l.all, func(a, b missingNames) int { return cmp.Compare(b.share, a.share) })
	comment := func(format string, args ...any) string {
		line := fmt.Sprintf(format, args...)
		p.set.Comments = append(p.set.Comments, line)
		return line
	}
	shown := l.all
	if i := slices.IndexFunc(l.all, func(u missingNames) bool { return u.share < leastShown }); i >= 0 {
		shown = l.all[:i]
	}
	for i, u := range shown {
		line := comment("%.1f%% of samples have frames without %s in %s: %s", 100*u.share, what, u.file, u.reason)
		if i < shownMissing {
			messagef("%s", line)
		}
	}
	if n := len(shown) - shownMissing; n > 0 {
		messagef("and %d more, listed in the comments of a profile (-o FILE.pb.gz)", n)
	}
	if n := len(l.all) - len(shown); n > 0 {
		comment("files with frames without %s in less than %.1f%% of samples: %d", what, 100*leastShown, n)
	}
}

// tellMissing tells what could not be named and why, and what has no lines though
// these were asked for.
func (p *profile) tellMissing(missing []convert.Missing) {
	var names, lines missingList
	if len(missing) == 0 {
		return
	}
	unnamed := p.set.UnnamedShares()
	var lineless []float64 // looked up at the first need: all stacks are
	for _, m := range missing {
		file := p.set.Mappings[m.Mapping].File
		names.add(file, m.Reason(), unnamed[m.Mapping])
		if m.Debug != nil {
			if lineless == nil {
				lineless = p.set.LinelessShares()
			}
			lines.add(file, m.Debug.Error(), lineless[m.Mapping])
		}
	}
	names.tell(p, "a name")
	lines.tell(p, "lines")
}

// describe writes into the profile's comments what the recording says of itself.
func describe(set *stacks.Set, f *perfdata.Features) {
	add := func(what, value string) {
		if value != "" {
			set.Comments = append(set.Comments, what+": "+value)
		}
	}
	add("command", strings.Join(f.Cmdline, " "))
	add("host", f.Hostname)
	add("kernel", strings.TrimSpace(f.OSRelease+" "+f.Arch))
	add("cpu", f.CPUDesc)
	for i := range set.Events {
		add("event", set.Events[i].Name)
	}
}
