// Package marker reads what programs write into tracefs' trace_marker, and the kernel with
// trace_printk(), as samples of events of a session: perf never gets them.
//
//	trace_marker, trace_printk() ──► ring of the top buffer on each CPU
//	                                     │ trace_pipe_raw: pages (perfevent/ringpage)
//	    Reader.Drain, once a round ◄─────┘
//	        └─► samples with the event's raw data, in perf's clock
//
// What is read is gone from the buffer, as with trace_pipe: of two readers each gets a
// part, and what other tracers have written there is passed over and counted.
package marker
