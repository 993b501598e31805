package count

import (
	"io/fs"
	"path"

	"kprof/perfevent/event"
)

// DefaultGroups are the events that perf stat counts when none is named
// (tools/perf/builtin-stat.c, add_default_attributes), each by itself. machine has the
// clock of CPUs in the place of that of tasks.
func DefaultGroups(machine bool) []Group {
	names := []string{"task-clock", "context-switches", "cpu-migrations", "page-faults", "cycles"}
	if machine {
		names[0] = "cpu-clock"
	}
	for _, name := range []string{"stalled-cycles-frontend", "stalled-cycles-backend"} {
		if _, err := fs.Stat(sysfs, path.Join(sysfsPMUs, "cpu/events", name)); err == nil {
			names = append(names, name)
		}
	}
	var groups []Group
	for _, name := range append(names, "instructions", "branches", "branch-misses") {
		spec, err := event.ParseSpec(name)
		if err != nil {
			continue // they are in its table
		}
		groups = append(groups, Group{Specs: []event.Spec{spec}})
	}
	return groups
}
