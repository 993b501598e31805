// Package ftracetext reads the text of the kernel's tracer: trace and trace_pipe of
// tracefs, and what trace-cmd report prints.
//
// A line is an event, with or without the columns that options of the tracer add:
//
//	TASK-PID (TGID) [CPU] FLAGS TIME: EVENT: TEXT
//	TASK-PID CPUFLAGS TIMEus : EVENT: TEXT              latency format
//	TIME | CPU) TASK-PID | FLAGS | DURATION | FUNCTION  function_graph
//
// a function of a stack that was printed behind its event, a switch from one task to
// another between lines of function_graph, or says that events were lost. Parse tells
// which, one line by itself; what lines have to do with each other is for who reads them.
package ftracetext
