// Package tracefs finds the kernel's tracing file system and reads what it says
// about events.
//
// What is where (Documentation/trace/events.rst, ftrace.rst):
//
//	events/SYSTEM/NAME/id       the number perf_event_attr.config takes
//	events/SYSTEM/NAME/format   the fields of the event's raw data
//	events/header_page, header_event, events/ftrace/*/format,
//	printk_formats, saved_cmdlines
//	                            what a perf.data tracing-data section holds
//	instances/                  private copies of the tracer, see CheckFilter
//	kprobe_events, uprobe_events, dynamic_events
//	                            dynamic probes
//	kprobe_profile, uprobe_profile
//	                            their hits, and those of kernel probes that were missed
package tracefs
