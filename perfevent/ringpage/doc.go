// Package ringpage decodes the pages of the kernel's tracing ring buffer.
//
// A page is what trace_pipe_raw of tracefs gives at once, and what the data of each CPU in
// a trace.dat file are made of; sub-buffers of several pages look the same
// (kernel/trace/ring_buffer.c, struct buffer_data_page; include/linux/ring_buffer.h):
//
//	u64   time of the page, which the deltas of its events count from
//	long  commit: bytes of events (27 bits), bit 31: events were lost before this page,
//	      bit 30: how many is told, in a long behind the events
//	      events, each of a u32: 5 bits of type or length, 27 bits of time since the one before
//
//	type  29  padding; the next u32 is its length, unless the time is 0: then nothing follows
//	      30  the next u32 is the time above the 27 bits
//	      31  the same, and the time is absolute, but for its 5 highest bits
//	       0  the next u32 is the length of the data, itself included
//	    1-28  the length of the data, in u32
//
// In big-endian pages the type is in the highest bits of its u32. How wide a long is, and
// where events begin, is in the text of events/header_page.
package ringpage
