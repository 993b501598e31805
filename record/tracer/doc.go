// Package tracer records functions of the kernel with its function tracers.
//
//	Open   looks the functions up; takes an instance of the tracer of its own, or where
//	       the kernel does not let that have function_graph (before Linux 6.11), the top
//	       one; sets it up, not yet tracing
//	Run    traces, and copies the pages of the rings' buffers to a Pages
//	Close  puts everything back
//
// What is set is the kernel's, not a file descriptor's, and outlasts whoever set it. So
// each change is told to a child first, the guard, which waits for the end of this
// process, however it comes about, and undoes what has not been undone:
//
//	tracing_on      0
//	trace_clock     mono                        all of it in instances/kprof_PID_START,
//	buffer_size_kb  …                           but what every tracer shares:
//	set_ftrace_pid  …, or set_ftrace_notrace_pid
//	set_ftrace_filter FUNC…  or                 set_graph_function, max_graph_depth
//	current_tracer  function_graph
//	tracing_on      1
//
// The tracer comes after the functions: it begins with whatever the filters say, and with
// none of them that is the whole kernel. They are undone the other way round.
package tracer
