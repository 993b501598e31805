// Package span pairs events into durations: a task's switch off a CPU and its return,
// with what it waited for meanwhile.
//
// Pairs need the order of time, which recordings do not have: records of different CPUs
// lie up to a round of the rings apart. So what is paired is small (Point) and is sorted
// first (timeorder). Nothing here knows of stacks: a Point carries numbers of its caller's
// for what belongs to it.
//
//	samples ─► Point ─► timeorder ─► OffCPU ─► OffSpan
package span
