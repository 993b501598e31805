// Package perfdata reads and writes perf.data, in file mode and in pipe mode.
//
// The format is described in tools/perf/Documentation/perf.data-file-format.txt
// of the kernel; where that is silent, in tools/perf/util/header.h and header.c.
// Nothing of a recording is trusted: lengths are checked before memory is made
// for them, and a recording that ends early gives what it holds.
package perfdata
