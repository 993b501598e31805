package count

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/procfs"
)

// What sysfs says about PMUs that measure something other than what the CPU does
// (Documentation/ABI/testing/sysfs-bus-event_source-devices-events): EVENT.scale and
// EVENT.unit beside an event, and cpumask, the CPUs that read for all.

const sysfsPMUs = "bus/event_source/devices"

// sysfs is this machine's.
var sysfs = os.DirFS("/sys")

// firstDynamic is the least number of a PMU that is not the kernel's own (PERF_TYPE_MAX
// in include/uapi/linux/perf_event.h).
const firstDynamic = 6

// unit is what e counts.
func (s *Session) unit(e *event.Event) (scale float64, unit string) {
	if e.Attr.Type == abi.TypeSoftware && (e.Attr.Config == abi.SWCPUClock || e.Attr.Config == abi.SWTaskClock) {
		return 1e-6, "msec"
	}
	pmu := s.pmuOf(e)
	for _, t := range e.Source.Terms {
		if pmu == "" || !t.Bare {
			continue
		}
		file := path.Join(sysfsPMUs, pmu, "events", t.Key)
		if b, err := fs.ReadFile(sysfs, file+".unit"); err == nil {
			unit = strings.TrimSpace(string(b))
		}
		if b, err := fs.ReadFile(sysfs, file+".scale"); err == nil {
			if v, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64); err == nil && v > 0 {
				return v, unit
			}
		}
	}
	return 1, unit
}

// pmuOf is the name of e's PMU, if it is one with a number of its own.
func (s *Session) pmuOf(e *event.Event) string {
	if e.Source.PMU != "" || e.Attr.Type < firstDynamic {
		return e.Source.PMU
	}
	for _, name := range s.resolver.PMUs() {
		if n, err := s.resolver.PMUType(name); err == nil && n == e.Attr.Type {
			return name
		}
	}
	return ""
}

// cpusOf are the CPUs on which e is opened, for all tasks or one of them: of those asked for, the
// ones that its PMU is of, and for all tasks those that it reads on, if it says.
func (s *Session) cpusOf(e *event.Event, tid int) []int {
	pmu := s.pmuOf(e)
	if pmu == "" {
		return s.cpus
	}
	if e.CPUs != nil || tid != perfevent.AllTasks {
		return slices.DeleteFunc(slices.Clone(s.cpus), func(cpu int) bool { return !e.IsOn(cpu) })
	}
	mask, err := procfs.ReadCPUs(sysfs, path.Join(sysfsPMUs, pmu, "cpumask"))
	if err != nil || len(s.opts.Target.CPUs) > 0 {
		return s.cpus
	}
	return mask
}
