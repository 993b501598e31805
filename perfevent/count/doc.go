// Package count counts events of the kernel on tasks, CPUs and cgroups, without
// recording any of them.
//
//	ParseGroups  reads what -e takes, groups in braces included, without a look at
//	             the machine
//	Open         resolves the events and opens a counter of each in each place: for
//	             each task, on each CPU, in each cgroup; disabled
//	Enable       starts them all; those of a command start by themselves, when it
//	             calls exec
//	Read         returns what every counter has counted since, as often as wanted;
//	             Sum adds up those that belong together
//	Close        gives everything back
//
// # Who opens
//
// Counters are those of github.com/elastic/go-perf wherever it can express the
// event: its attribute is older than some of the kernel's bits, but counting needs
// few. The rest goes to perfevent.OpenInGroup, as every event that samples does:
//
//   - probes of the kprobe and uprobe PMUs, since the library tries each EINVAL a
//     second time and would register the probe twice;
//   - attributes with config3 or config4, with bits that are younger than the
//     library, or with a precision above 1, which it encodes wrongly;
//   - groups that are pinned, or on CPUs for all tasks: of a group that the kernel
//     has given up on or taken apart, as it does when it takes the CPU offline, it
//     returns fewer counts than there are members, and the library indexes them
//     nevertheless.
//
// A group is opened by one of the two, not by both.
//
// # Scaling
//
// More events than the PMU has counters for take turns. The kernel says for how
// long a counter was enabled and for how long it was on the PMU, its running time;
// Sum scales each count by their ratio, on the assumption that nothing was other
// when it was not its turn.
package count
