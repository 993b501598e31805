package convert

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// SumOptions say how profiles are added up.
type SumOptions struct {
	// Functions tells code apart by function and line only, not by address: the sum is
	// smaller, above all where it is of different builds.
	Functions bool
	// Drop are keys of labels that are left out.
	Drop []string
	// Rate makes every profile one of RateNanos: its values are multiplied as if it had
	// gone on that long. A profile whose duration is not known is then an error,
	// ErrNoDuration.
	Rate bool
}

// RateNanos is how long profiles are made to last so that their rates can be added up:
// an hour, in nanoseconds.
const RateNanos = int64(3600e9)

// ErrNoDuration says that a profile does not tell how long it took.
var ErrNoDuration = errors.New("it does not tell how long it took, so it has no rate")

// Sum adds up profiles, of which it keeps nothing but what is different in them: see
// stacks.Merger. It needs no more than one at a time. The zero value is not ready; use
// NewSum.
type Sum struct {
	o        SumOptions
	merger   *stacks.Merger
	sum      Profile
	n        int
	warnings map[string]int // index in sum.Warnings
	others   map[string]int // comments that are in no profile's Warnings, see comment
	comments []string
}

// NewSum returns a Sum of nothing.
func NewSum(o SumOptions) *Sum {
	return &Sum{
		o: o, merger: stacks.NewMerger(stacks.MergeOptions{Functions: o.Functions}),
		warnings: map[string]int{}, others: map[string]int{},
	}
}

// Len is how many profiles have been added.
func (s *Sum) Len() int { return s.n }

// Add adds a profile, which is not needed afterwards; labels are those that all its
// samples get, instead of those with the same keys. After an error, which is of this
// profile, the sum is what it was.
func (s *Sum) Add(p *Profile, labels ...stacks.Label) error {
	how := stacks.Addend{Drop: s.o.Drop, Labels: labels}
	if s.o.Rate {
		if p.Set.DurationNanos <= 0 {
			return ErrNoDuration
		}
		how.Scale = float64(RateNanos) / float64(p.Set.DurationNanos)
	}
	comments := p.Set.Comments
	p.Set.Comments = nil
	err := s.merger.Add(p.Set, how)
	p.Set.Comments = comments
	if err != nil {
		return err
	}
	s.n++
	if s.n == 1 {
		s.sum.opts, s.sum.Source, s.sum.Header = p.opts, p.Source, p.Header
	}
	for _, c := range comments {
		s.comment(c)
	}
	for _, e := range p.Events {
		if !slices.ContainsFunc(s.sum.Events, func(o abi.Event) bool { return o.Name == e.Name }) {
			s.sum.Events = append(s.sum.Events, e)
		}
	}
	for _, w := range p.Warnings {
		s.warn(w)
	}
	s.sum.perfScript = s.sum.perfScript || p.perfScript
	return nil
}

// warn adds a warning to an equal one about something else: counts are added up, of
// shares the largest is kept.
func (s *Sum) warn(w Warning) {
	key := fmt.Sprint(w.Kind, "\x00", w.File, "\x00", w.Event, "\x00", w.Key, "\x00", w.Reason, "\x00", w.Fields, "\x00", w.Trace.Kind)
	if w.Kind.IsMissing() {
		key += "\x00" + reasonText(w.Reason, cmp.Or(w.Err, errUnknown))
	} else if w.Err != nil {
		key += "\x00" + w.Err.Error()
	}
	i, known := s.warnings[key]
	if !known {
		s.warnings[key] = len(s.sum.Warnings)
		w.Events = slices.Clone(w.Events)
		s.sum.Warnings = append(s.sum.Warnings, w)
		return
	}
	had := &s.sum.Warnings[i]
	had.Count += w.Count
	had.Share = max(had.Share, w.Share)
	had.Trace.Bytes += w.Trace.Bytes
	for _, e := range w.Events {
		if i := slices.IndexFunc(had.Events, func(o EventCount) bool { return o.Name == e.Name }); i >= 0 {
			had.Events[i].Samples += e.Samples
		} else {
			had.Events = append(had.Events, e)
		}
	}
}

var errUnknown = errors.New("unknown")

// maxComments bounds the different comments that a sum keeps. Of thousands of machines
// each has its name.
const maxComments = 200

// comment keeps a comment that no other profile has. Losses are added up where it is
// only their numbers that differ ("warning: lost 3 samples while recording").
func (s *Sum) comment(c string) {
	rest, isWarning := strings.CutPrefix(c, "warning: ")
	if !isWarning {
		s.others[c]++
		if s.others[c] == 1 {
			s.comments = append(s.comments, c)
		}
		return
	}
	for part := range strings.SplitSeq(rest, "; ") {
		var n int
		if _, err := fmt.Sscanf(part, "lost %d ", &n); err != nil || n <= 0 {
			s.others["warning: "+part]++
			if s.others["warning: "+part] == 1 {
				s.comments = append(s.comments, "warning: "+part)
			}
			continue
		}
		_, of, _ := strings.Cut(strings.TrimPrefix(part, "lost "), " ")
		of = strings.TrimSpace(strings.Replace(strings.Replace(of, "record ", "records ", 1), "sample ", "samples ", 1))
		key := "\x00" + of
		if s.others[key] == 0 {
			s.comments = append(s.comments, key)
		}
		if n > math.MaxInt-s.others[key] {
			n = math.MaxInt - s.others[key]
		}
		s.others[key] += n
	}
}

// commentLines are the comments of the sum.
func (s *Sum) commentLines() []string {
	lines := make([]string, 0, min(len(s.comments), maxComments)+1)
	left := 0
	for _, c := range s.comments {
		of, isLoss := strings.CutPrefix(c, "\x00")
		switch {
		case isLoss: // always kept: there are few kinds
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("warning: lost %d %s", s.others[c], of)))
		case len(lines) < maxComments:
			lines = append(lines, c)
		default:
			left++
		}
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("%d more comments of the %d profiles that were added up", left, s.n))
	}
	return lines
}

// Profile returns the sum, after the last Add; nil of nothing. Its Stats count nothing:
// what was lost is in the Warnings.
func (s *Sum) Profile() *Profile {
	if s.n == 0 {
		return nil
	}
	p := &s.sum
	p.Set = s.merger.Set()
	p.Set.Comments = s.commentLines()
	if s.n > 1 {
		p.Source = fmt.Sprintf("%s and %d more", p.Source, s.n-1)
		p.Header = nil
	}
	if s.o.Rate {
		p.Set.DurationNanos = RateNanos
	}
	p.ShownFirst()
	return p
}

// Losses are the Warnings of what the recording does not hold.
func (p *Profile) Losses() (losses []Warning) {
	for _, w := range p.Warnings {
		if w.Kind.IsLoss() && w.Kind != TruncatedRecording {
			losses = append(losses, w)
		}
	}
	return losses
}
