package convert

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/format/expr"
)

// NoFieldsError says that an expression cannot be evaluated on a profile, which has no
// fields of events as a recording has. What it has is comm, pid, tid and cpu as labels.
type NoFieldsError struct{ Expr *expr.Error }

func (e *NoFieldsError) Error() string {
	return "it is a profile, which has no fields of events as a recording has: " + e.Expr.Reason
}

func (e *NoFieldsError) Unwrap() error { return e.Expr }

// profilePrograms compile a condition for the events of a profile, which have no fields.
func profilePrograms(s *stacks.Set, where *expr.Expr) ([]*expr.Program, error) {
	var programs []*expr.Program
	for _, e := range s.Events {
		p, err := where.Compile(e.Name, nil)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	return programs, where.Check(programs, []string{"comm", "pid", "tid", "cpu", "event"})
}

// labelled makes x what labels say of a sample.
func labelled(x *expr.Sample, s *stacks.Set, l stacks.LabelsID) {
	*x = expr.Sample{Without: expr.OwnComm | expr.OwnPID | expr.OwnTID | expr.OwnCPU | expr.OwnTime}
	for _, label := range s.Labels(l) {
		switch label.Key {
		case "comm":
			x.Comm, x.Without = label.Str, x.Without&^expr.OwnComm
		case "pid":
			x.PID, x.Without = int32(label.Num), x.Without&^expr.OwnPID
		case "tid":
			x.TID, x.Without = int32(label.Num), x.Without&^expr.OwnTID
		case "cpu":
			x.CPU, x.Without = uint32(label.Num), x.Without&^expr.OwnCPU
		}
	}
}

// keepMatching leaves of a profile the rows that match by their labels and events, and
// counts the others.
func (p *Profile) keepMatching(where *expr.Expr, left *replay.LeftOut) error {
	s := p.Set
	programs, err := profilePrograms(s, where)
	if e := (*expr.Error)(nil); errors.As(err, &e) {
		return &NoFieldsError{e}
	}
	var x expr.Sample
	match := func(event int, l stacks.LabelsID) expr.Result {
		labelled(&x, s, l)
		return programs[event].Match(&x)
	}
	unmatched := make([]uint64, len(s.Events))
	for i := range s.NumSamples() {
		r := s.Sample(i)
		n := uint64(1)
		if len(r.Values) > 0 && r.Values[0] > 0 {
			n = uint64(r.Values[0])
		}
		switch match(r.Event, r.Labels) {
		case expr.Yes:
			left.Matching += n
		case expr.Unknown:
			left.Unmatched += n
			unmatched[r.Event] += n
		}
	}
	s.KeepRows(func(event int, l stacks.LabelsID) bool { return match(event, l) == expr.Yes })
	for i, n := range unmatched {
		if n > 0 && left.Matching > 0 {
			p.warn(Warning{Kind: UnmatchedSamples, Count: n, Event: s.Events[i].Name, Fields: programs[i].Missing()})
		}
	}
	return nil
}

// NoValueError says that a profile has no values called as Options.Value says.
type NoValueError struct {
	Value string
	Have  []string // the values that there are
}

func (e *NoValueError) Error() string {
	var have []string
	for _, name := range e.Have {
		if strings.ContainsAny(name, " \t") { // an expression has it in quotes
			name = strconv.Quote(name)
		}
		have = append(have, name)
	}
	return fmt.Sprintf("it is a profile without fields of events, and has no values %q; it has %s", e.Value, strings.Join(have, ", "))
}

// checkValue returns an error if no event of a profile has values called so.
func (p *Profile) checkValue(value *expr.Expr) error {
	e := &NoValueError{Value: value.Text()}
	for i := range p.Set.Events {
		ev := &p.Set.Events[i]
		for _, v := range ev.Values {
			if v.Type == e.Value || v.Type == ev.Name+"."+e.Value {
				return nil
			}
			if !slices.Contains(e.Have, v.Type) {
				e.Have = append(e.Have, v.Type)
			}
		}
	}
	return e
}
