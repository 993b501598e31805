// Package listing lists the single events of a recording in the order of time.
//
// Events of all CPUs come one after the other, each with the name that its task had then,
// the fields of its payload and, if asked for, its stack; losses come where the kernel told
// of them. Memory is bounded, whatever the length of the recording:
//
//	recording, rings ──► samples.Ordered ──► Lister ──► Event ──► Consumer
//	                     in the order         selection, fields,   a Printer: lines of text,
//	                     of time              stack, names         JSON or CSV
//
// Stacks are named in turns: a Consumer gets events first, whose locations have no names
// yet, and is then told that all that it has got can be named (Settle).
package listing
