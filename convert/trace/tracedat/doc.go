// Package tracedat reads trace.dat files, which trace-cmd records.
//
// A file holds the formats of the kernel's events, its symbols, options, and for each
// buffer and CPU the pages of the ring buffer, as the kernel gave them (trace-cmd.dat.v6(5),
// trace-cmd.dat.v7(5)):
//
//	version 6   head, formats, symbols, command lines, options, a table of the CPUs' pages
//	version 7   head, and sections, which a chain of sections of options lists; each, and
//	            the pages, may be compressed
//
// Open reads all but the pages; Pages walks those of one CPU.
package tracedat
