package stacks

import (
	"fmt"
	"math"
	"strings"
)

// CheckColumn says what is wrong with the choice of an event and one of its columns.
func (s *Set) CheckColumn(event, column int) error {
	if event < 0 || event >= len(s.Events) {
		return fmt.Errorf("no event %d among %d", event, len(s.Events))
	}
	if n := len(s.Events[event].Values); column < 0 || column >= n {
		return fmt.Errorf("no column %d among %d of event %q", column, n, s.Events[event].Name)
	}
	return nil
}

// Sum adds up values of a column, as far as an int64 is sure to hold the sum of any of them.
type Sum struct {
	Total int64
	sizes uint64
}

// Add adds a value of a column of an event. The error is a *TooLargeSumError.
func (t *Sum) Add(v int64, e *Event, column int) error {
	t.Total += v
	size := uint64(v)
	if v < 0 {
		size = -size
	}
	if t.sizes += size; t.sizes > math.MaxInt64 {
		return &TooLargeSumError{Event: e.Name, Column: e.Values[column].Type}
	}
	return nil
}

// CheckSum is CheckColumn, and says that the column's values add up to more than an int64 holds, with a
// *TooLargeSumError.
func (s *Set) CheckSum(event, column int) error {
	if err := s.CheckColumn(event, column); err != nil {
		return err
	}
	var sum Sum
	for i := range s.NumSamples() {
		if x := s.Sample(i); x.Event == event {
			if err := sum.Add(x.Values[column], &s.Events[event], column); err != nil {
				return err
			}
		}
	}
	return nil
}

// ColumnName is the name of what is shown where one column of an event is: the event's, but the
// column's own where the event is called after another one, the last, as that of a pprof file is.
func (e *Event) ColumnName(column int) string {
	last, shown := e.Values[len(e.Values)-1].Type, e.Values[column].Type
	if e.Name != last || shown == "samples" || strings.HasPrefix(shown, e.Name+".") {
		return e.Name
	}
	return shown
}
