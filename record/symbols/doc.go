// Package symbols keeps, while a recording runs, what naming it will take: files that
// are mapped, their build ids, and the functions of the kernel and its modules.
//
// By the end of a recording a process may be gone, with its container and its program,
// and a module unloaded. A caller passes the side-band on as it comes:
//
//	record.Options.Sideband ──► BuildIDs.Take ──► FileRetainer ──► symbolize.Options.Retained
//	/proc/kallsyms, /proc/modules ──► Kernel ──► perfdata.KernelSymbols, symbolize.Options.Kallsyms
package symbols
