package convert

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"kprof/convert/naming"
	"kprof/convert/stacks"
	"kprof/symbolize"
)

// MissingReason says why names or lines are missing.
type MissingReason uint8

// Why names or lines are missing.
const (
	ReasonError         MissingReason = iota // the Warning's Err says it
	ReasonNoSymbol                           // no symbol covers the address
	ReasonForeignKernel                      // only the recorded machine has the kernel's symbols, and the recording does not bring them
	ReasonForeignFile                        // only the recorded machine has the file
	ReasonNotInRoot                          // the directory of the recorded machine's files does not hold it
	ReasonRuntimeCode                        // code made at run time, of which the process left nothing
	ReasonFileGone                           // the file was here and is gone
	ReasonGuestKernel                        // the kernel of a virtual machine, whose symbols were not given
	ReasonLongPath                           // a file whose path is longer than the kernel says (//toolong)
)

// missingReason finds out why the names of a mapping are missing.
func missingReason(m *naming.Missing) MissingReason {
	var e *symbolize.Error
	if m.Err == nil {
		return ReasonNoSymbol
	}
	if !errors.As(m.Err, &e) {
		return ReasonError
	}
	missing := errors.Is(e, fs.ErrNotExist)
	var other *symbolize.BuildIDError
	foreign := errors.Is(e, symbolize.ErrForeign)
	if foreign {
		errors.As(e, &other)
	}
	kernel := e.Mapping.Kind == stacks.KindKernel || e.Mapping.Kind == stacks.KindModule
	switch {
	case errors.Is(e, symbolize.ErrGuest):
		return ReasonGuestKernel
	case foreign && kernel:
		return ReasonForeignKernel
	case foreign && (missing || other != nil):
		return ReasonForeignFile
	case missing && errors.Is(e, symbolize.ErrNotInRoot):
		return ReasonNotInRoot
	case !missing, kernel:
		return ReasonError
	case strings.HasPrefix(e.Mapping.File, "//toolong"): // kernel/events/core.c, perf_event_mmap_event
		return ReasonLongPath
	case e.Mapping.Kind == stacks.KindAnon:
		return ReasonRuntimeCode
	}
	return ReasonFileGone
}

// reasonText puts a reason into a few words, without the name of the file. of is the
// error of a mapping.
func reasonText(r MissingReason, of error) string {
	switch r {
	case ReasonNoSymbol:
		return "no symbol covers the address"
	case ReasonForeignKernel:
		return foreignText(of) + ", and does not bring its symbols"
	case ReasonForeignFile:
		return elsewhereText(of)
	case ReasonNotInRoot:
		return symbolize.ErrNotInRoot.Error()
	case ReasonRuntimeCode:
		return "code made at run time, and the process left no perf-PID.map and no jitdump"
	case ReasonLongPath:
		return "files whose paths are longer than the kernel says"
	case ReasonGuestKernel:
		return symbolize.ErrGuest.Error()
	case ReasonFileGone:
		return "the file is not there any more"
	}
	var e *symbolize.Error
	if errors.As(of, &e) && e.Err != nil {
		return e.Err.Error()
	}
	return of.Error()
}

// foreignText says that a kernel is not this one, and what is here where that matters.
func foreignText(err error) string {
	var e *symbolize.Error
	var other *symbolize.BuildIDError
	if errors.As(err, &e) && !errors.Is(e, fs.ErrNotExist) && !errors.As(e, &other) {
		return e.Err.Error()
	}
	return elsewhereText(err)
}

// elsewhereText says that a recording is of another machine, or does not say of which.
func elsewhereText(err error) string {
	if errors.Is(err, symbolize.ErrUnplaced) {
		return symbolize.ErrUnplaced.Error()
	}
	return symbolize.ErrForeign.Error()
}

// leastShown is the share of samples from which a file without names has a comment.
const leastShown = 0.001

// missingList gathers what is missing, once for each file and text of a reason.
type missingList struct {
	kind  WarningKind
	all   []Warning
	index map[[2]string]int // in all
}

func (l *missingList) add(w Warning) {
	if w.Share == 0 {
		return
	}
	if l.index == nil {
		l.index = map[[2]string]int{}
	}
	w.Kind = l.kind
	key := [2]string{w.File, reasonText(w.Reason, w.Err)}
	i, known := l.index[key]
	if !known {
		l.index[key] = len(l.all)
		l.all = append(l.all, w)
		return
	}
	// A sample may have frames in several mappings of a file.
	l.all[i].Share = min(l.all[i].Share+w.Share, 1)
}

// addTo adds what is missing to a profile's warnings, most samples first, and to its
// comments.
func (l *missingList) addTo(p *Profile) {
	slices.SortStableFunc(l.all, func(a, b Warning) int { return cmp.Compare(b.Share, a.Share) })
	few := 0
	for _, w := range l.all {
		p.Warnings = append(p.Warnings, w)
		if !w.Shown() {
			few++
			continue
		}
		p.Set.Comments = append(p.Set.Comments, p.opts.word(&w))
	}
	if few > 0 {
		p.Set.Comments = append(p.Set.Comments,
			fmt.Sprintf("files with frames without %s in less than %.1f%% of samples: %d", l.kind.missing(), 100*leastShown, few))
	}
}

// Shown reports whether a warning of what is missing concerns enough samples to be
// told apart from others.
func (w *Warning) Shown() bool { return w.Share >= leastShown }

// addMissing warns of what could not be named and why, and of what has no lines or no
// inlined functions though these were asked for.
func (p *Profile) addMissing(missing []naming.Missing) {
	names, lines, inlined := missingList{kind: MissingNames}, missingList{kind: MissingLines}, missingList{kind: MissingInlined}
	if len(missing) == 0 {
		return
	}
	unnamed := p.Set.UnnamedShares()
	var lineless, lined []float64 // looked up at the first need: all stacks are
	for i := range missing {
		m := &missing[i]
		file := p.Set.Mappings[m.Mapping].File
		names.add(Warning{File: file, Reason: missingReason(m), Err: m.Err, Share: unnamed[m.Mapping]})
		if m.Debug != nil {
			if lineless == nil {
				lineless = p.Set.LinelessShares()
			}
			lines.add(Warning{File: file, Err: m.Debug, Share: lineless[m.Mapping]})
		}
		if m.Inlined != nil {
			if lined == nil {
				lined = p.Set.LinedShares()
			}
			inlined.add(Warning{File: file, Err: m.Inlined, Share: lined[m.Mapping]})
		}
	}
	names.addTo(p)
	lines.addTo(p)
	inlined.addTo(p)
}
