// Package kallsyms turns the text of /proc/kallsyms into an address table of
// a kernel's functions.
//
// The rules for which symbols count, which alias names an address, and where
// a function ends are those of perf 6.1, so that names agree with what
// "perf script" prints; where this package departs from perf, the code says
// why.
package kallsyms
