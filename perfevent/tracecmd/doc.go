// Package tracecmd writes trace.dat files, which trace-cmd and KernelShark read.
//
// Version 7 (trace-cmd.dat.v7(5)) is made of sections, each with a head of 16 bytes, and of
// pages of the kernel's ring buffers as they are:
//
//	17 08 44 "tracing" "7" 0, byte order, size of a long, u32 size of a page,
//	    compression 0, its version 0, u64 place of the options
//	sections     formats of events, symbols, names of tasks; compressed, if anything is
//	buffer       a section with the pages of each CPU, one after the other; compressed in
//	             chunks, before which is how many there are
//	options      place of each section; clock and machine; place and size of the pages
//
// The options come last, and their place is put into the head when they are written.
package tracecmd
