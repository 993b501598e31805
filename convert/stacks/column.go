package stacks

import (
	"fmt"
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

// ColumnName is the name of what is shown where one column of an event is: the event's, but the
// column's own where the event is called after another one, the last, as that of a pprof file is.
func (e *Event) ColumnName(column int) string {
	last, shown := e.Values[len(e.Values)-1].Type, e.Values[column].Type
	if e.Name != last || shown == "samples" || strings.HasPrefix(shown, e.Name+".") {
		return e.Name
	}
	return shown
}
