// Package ringdir finds the pages of the tracer's ring buffers in a directory, and what
// reading them takes: files as tracefs has them, copied with their paths or without.
//
//	per_cpu/cpu0/trace_pipe_raw   pages of a CPU; or cpu0, cpu0.raw, mine-cpu0
//	instances/foo/per_cpu/…       those of an instance
//	trace_clock                   the clock of the times in pages; instances/foo/trace_clock
//	last_boot_info                where functions were when the buffer was written; likewise
//	events/sched/sched_switch/format
//	events/header_page, saved_cmdlines, printk_formats, kallsyms, modules
//
// Formats may also be the sections of a txtar file, each called "sched.sched_switch". The
// byte order is not in these files; it is that in which the first pages make sense.
package ringdir
