// Package procfs reads what the Linux kernel tells of itself in /proc and /sys:
// its symbols and modules, build ids, lists of CPUs.
//
// Each kind of text is read by one function, from an io.Reader or an fs.FS, so that
// what was kept of another machine is read as this machine's own is, on any platform.
package procfs
