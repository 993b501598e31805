// Package symbolize names the functions at the addresses of a recording.
//
// A Symbolizer takes a mapping and addresses in it, finds what can tell the
// names (the kernel's symbol table, an ELF file and its debug file, a perf map,
// the vdso of this machine), checks that it is what was recorded, and says why
// where it is not. It never guesses: a file whose build id differs from the
// recorded one gives no names.
package symbolize
