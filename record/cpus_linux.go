package record

import (
	"fmt"
	"os"
	"slices"

	"kprof/perfevent/procfs"
)

// sysfs is this machine's.
var sysfs = os.DirFS("/sys")

// pickCPUs returns the CPUs to open counters on: those wanted, or all that are
// online; for tasks also those that are offline now, since counters of tasks,
// unlike those of a CPU, may be opened there and count when it has come (Linux
// perf_event_open, which asks whether the CPU is online only without a task).
func pickCPUs(want []int, tasks bool) ([]int, error) {
	online, err := procfs.ReadCPUs(sysfs, procfs.CPUsOnline)
	if err != nil {
		return nil, err
	}
	if len(want) == 0 {
		if present, err := procfs.ReadCPUs(sysfs, procfs.CPUsPresent); tasks && err == nil {
			online = append(online, present...)
			slices.Sort(online)
		}
		return slices.Compact(online), nil
	}
	want = slices.Clone(want)
	slices.Sort(want)
	for _, cpu := range want {
		if !slices.Contains(online, cpu) {
			return nil, fmt.Errorf("cpu %d is not online (%s are)", cpu, procfs.FormatCPUs(online))
		}
	}
	return slices.Compact(want), nil
}
