package convert

import (
	"errors"
	"fmt"
	"slices"

	"kprof/convert/replay"
	"kprof/convert/stacks"
)

// selectRows leaves of a profile what the options select, by its labels; of a
// recording the replay does, by what each sample says.
func (p *Profile) selectRows(o *Options) error {
	s := p.Set
	var times replay.Options
	if o.Time.apply(&times); times.From != 0 || times.To != 0 || times.Window != nil {
		return &TimeError{Reason: NoTimes}
	}
	if o.OffCPU && !slices.ContainsFunc(s.Events, func(e stacks.Event) bool { return e.Name == replay.OffCPUEvent }) {
		return replay.ErrNoSwitches
	}
	if o.WallClock && !slices.ContainsFunc(s.Events, func(e stacks.Event) bool { return e.Name == replay.WallClockEvent }) {
		return replay.ErrNoClock
	}
	for _, r := range o.Spans {
		if !slices.ContainsFunc(s.Events, func(e stacks.Event) bool { return e.Name == r.Name }) {
			return &replay.NoSpanEventsError{Rule: r.Name, Missing: []string{r.Families[0].Starts[0].Event, r.Families[0].Ends[0].Event}}
		}
	}
	if err := s.ChooseEvents(o.Events); err != nil {
		return p.EventError(err)
	}
	for key, n := range map[string]int{"comm": len(o.Comms), "cpu": len(o.CPUs), "pid": len(o.PIDs), "tid": len(o.TIDs)} {
		if n > 0 && !hasLabel(s, key) {
			return fmt.Errorf("samples have no %s to select by", key)
		}
	}
	if err := lacksTook(o, s); err != nil {
		return err
	}
	for _, key := range o.FieldLabels {
		if !hasLabel(s, key) {
			return &NoLabelError{key, s.LabelKeys()}
		}
	}
	if o.Value != nil {
		if err := p.checkValue(o.Value); err != nil {
			return err
		}
	}
	if o.Where == nil && len(o.Comms)+len(o.CPUs)+len(o.PIDs)+len(o.TIDs) == 0 {
		return p.emptyReason(o, nil)
	}
	left := leftOut(s)
	if o.Where != nil {
		if err := p.keepMatching(o.Where, left); err != nil {
			return err
		}
	}
	s.Keep(func(l stacks.LabelsID) bool {
		comm, _ := s.Label(l, "comm")
		return (len(o.Comms) == 0 || slices.Contains(o.Comms, comm.Str)) &&
			wanted(s, l, "pid", o.PIDs) && wanted(s, l, "tid", o.TIDs) && wanted(s, l, "cpu", o.CPUs)
	})
	return p.emptyReason(o, left)
}

// lacksTook is an error where times are to be told apart, but samples are no times.
func lacksTook(o *Options, s *stacks.Set) error {
	if o.Labels&replay.LabelTook == 0 || s.NumSamples() == 0 || hasLabel(s, replay.TookLabel) {
		return nil
	}
	return &NoLabelError{replay.TookLabel, s.LabelKeys()}
}

// unusedLabels are those of DropLabels, if nothing selects samples by labels or shows them.
func (o *Options) unusedLabels() []string {
	if o.Where != nil || len(o.Comms)+len(o.CPUs)+len(o.PIDs)+len(o.TIDs)+len(o.FieldLabels)+len(o.TagRoot)+len(o.TagLeaf) > 0 {
		return nil
	}
	return o.DropLabels
}

// UnknownEventError reports an event that a profile does not have.
type UnknownEventError struct {
	Pattern string
	Have    string // the events that there are, with their samples

	// Values are the columns of a profile whose only event has several, for Options.Value: one
	// of them may have been meant.
	Values []string

	err error
}

func (e *UnknownEventError) Error() string {
	return fmt.Sprintf("it has no event %q; events here: %s", e.Pattern, e.Have)
}

func (e *UnknownEventError) Unwrap() error { return e.err }

// EventError makes of stacks.Choose's complaint about an event one that says how
// many samples the others have, an *UnknownEventError. Other errors stay as they are.
func (p *Profile) EventError(err error) error {
	err = chooseError(err, p.eventList)
	var unknown *UnknownEventError
	if !errors.As(err, &unknown) || p.Events != nil || len(p.Set.Events) != 1 {
		return err
	}
	columns := p.Set.Events[0].Values
	if len(columns) < 2 || columns[0].Type == "samples" && len(columns) == 2 {
		return err
	}
	for _, c := range columns {
		unknown.Values = append(unknown.Values, c.Type)
	}
	return err
}

func chooseError(err error, have func() string) error {
	var unknown *stacks.UnknownEventError
	if !errors.As(err, &unknown) {
		return err
	}
	return &UnknownEventError{Pattern: unknown.Pattern, Have: have(), err: err}
}

func wanted(s *stacks.Set, l stacks.LabelsID, key string, list []int32) bool {
	if len(list) == 0 {
		return true
	}
	label, ok := s.Label(l, key)
	return ok && slices.Contains(list, int32(label.Num))
}

func hasLabel(s *stacks.Set, key string) bool {
	for l := range s.NumLabels() {
		if _, ok := s.Label(stacks.LabelsID(l), key); ok {
			return true
		}
	}
	return false
}
