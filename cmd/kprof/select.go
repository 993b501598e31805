package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/stacks"
)

// selectRows leaves of a profile what the flags select, by its labels; of a
// recording the conversion does, by what each sample says.
func selectRows(s *stacks.Set, o *convert.Options) error {
	if o.From != 0 || o.To != 0 {
		return errors.New("it has no times to select by")
	}
	event := -1
	if o.Event != "" {
		if event = s.EventIndex(o.Event); event < 0 {
			var names []string
			for _, e := range s.Events {
				names = append(names, e.Name)
			}
			return fmt.Errorf("it has no event %q, but %s", o.Event, strings.Join(names, " "))
		}
	}
	for key, n := range map[string]int{"comm": len(o.Comms), "cpu": len(o.CPUs), "pid": len(o.PIDs), "tid": len(o.TIDs)} {
		if n > 0 && !hasLabel(s, key) {
			return fmt.Errorf("no sample tells its %s", key)
		}
	}
	s.Keep(event, func(l stacks.LabelsID) bool {
		comm, _ := s.Label(l, "comm")
		return (len(o.Comms) == 0 || slices.Contains(o.Comms, comm.Str)) &&
			wanted(s, l, "pid", o.PIDs) && wanted(s, l, "tid", o.TIDs) && wanted(s, l, "cpu", o.CPUs)
	})
	return nil
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
