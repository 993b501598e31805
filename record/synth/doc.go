// Package synth describes what runs already as records, in the form in which the
// kernel announces what comes.
//
//	/proc/kallsyms, /proc/modules, cgroups  ──►  MMAP, KSYMBOL, CGROUP  of the kernel
//	/proc/PID/{stat,task,maps}              ──►  FORK, COMM, MMAP2      of each process
package synth
