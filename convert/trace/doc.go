// Package trace presents what the kernel's tracer recorded as a recording of samples.
//
// Each event of a ring buffer becomes a sample of its tracepoint, with its fields as raw
// data; a stack that the tracer wrote behind it becomes the sample's callchain. So all that
// is made of recordings of perf is made of traces too.
//
//	trace.dat (tracedat) ──┐
//	pages of trace_pipe_raw ──► Trace: rings of pages, formats, symbols, names of tasks
//	                                │
//	   ring of each CPU ──► cursor: events with their stacks ──┐
//	   …                                                       ├─► merged by time ──► records
//	   ring of each CPU ──► cursor ────────────────────────────┘    (perfdata.Source)
package trace
