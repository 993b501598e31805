package main

import (
	"slices"

	"kprof/record"
)

// synthesize describes what the target already is, as far as the samples of a
// session will need it.
func synthesize(s *record.Session, t record.Target, write func([]byte) error) error {
	events := s.Events()
	sideband := events[len(events)-1]
	o := record.SynthOptions{Attr: sideband.Attr, ID: sideband.IDs[0], KernelOnly: t.EnableOnExec}
	if !t.AllCPUs && t.Cgroup == nil {
		o.PIDs = slices.Concat(t.PIDs, t.TIDs)
	}
	return record.Synthesize(o, write)
}
