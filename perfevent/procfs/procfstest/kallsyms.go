// Package procfstest has texts of /proc with all that is odd about them, for the tests
// of whoever reads them.
package procfstest

// Kallsyms has lines of every kind. Those of functions are, by what they are of:
//
//	the kernel    _text _stext work (twice) hidden odd[0] _etext
//	modules       init (of fuse), spaced (of fuse), words (of "two words"), last (of fuse)
//	BPF           bpf_prog_0123456789abcdef_f
//	trampolines   ftrace_trampoline, kprobe_insn_page
const Kallsyms = "0000000000000000 A fixed_percpu_data\n" +
	"0000000000014c40 a this_cpu_off\n" +
	"ffffffff81000000 T _stext\n" +
	"ffffffff81000000 T _text\n" +
	"ffffffff81000100 t work\n" +
	"ffffffff81000200 W work\n" +
	"0000000000000000 t hidden\n" +
	"\n" +
	"                 U undefined\n" +
	"not a line at all\n" +
	"ffffffff81000300 t two names\n" +
	"ffffffff81000400 t odd[0]\n" +
	"ffffffff81000500 T _etext\n" +
	"ffffffff82000000 D data\n" +
	"ffffffffc0000000 t init\t[fuse]\n" +
	"ffffffffc0000100 t spaced [fuse] \n" +
	"ffffffffc0000200 t words\t[two words]\n" +
	"ffffffffc0001000 t bpf_prog_0123456789abcdef_f\t[bpf]\n" +
	"ffffffffc0002000 t ftrace_trampoline\t[__builtin__ftrace]\n" +
	"ffffffffc0003000 t kprobe_insn_page\t[__builtin__kprobes]\n" +
	"ffffffffc0004000 t open\t[fuse\n" +
	"ffffffffc0005000 t last\t[fuse]\r\n"

// Malformed is where the first line is that cannot be read.
const Malformed = 194
