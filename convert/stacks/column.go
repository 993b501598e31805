package stacks

import "fmt"

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
