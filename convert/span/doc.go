// Package span pairs events into durations: of a rule the time from its start to its end,
// and a task's switch off a CPU and its return, with what it waited for meanwhile.
//
// Pairs need the order of time, which recordings do not have: records of different CPUs
// lie up to a round of the rings apart. So what is paired is small (Point) and is sorted
// first (timeorder). Nothing here knows of stacks: a Point carries numbers of its caller's
// for what belongs to it. Where records are missing, nothing that was open meanwhile is
// told as a time: what seems to be its end may be that of another.
//
//	samples ─► Point ─► timeorder ─┬► OffCPU ─► OffSpan
//	                               └► Pairs  ─► Span ─► Histogram
package span
