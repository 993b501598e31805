package diff

import (
	"cmp"
	"slices"
	"strings"
)

// A Rule makes one name of what differs between builds only in how it was
// compiled or reached.
type Rule uint8

// The rules, in the order in which they are applied. Those of the kernel are not
// applied to frames that are known to be in user space.
const (
	RuleMark    Rule = iota // marks of stackcollapse-perf.pl
	RuleVersion             // versions of libraries and hashes of crates
	RuleSuffix              // what compilers and linkers append to the names of clones
	RulePrefix              // padding and type hashes before a function
	RuleSyscall             // wrappers of system calls
	RuleStub                // entry code
	RuleNoprof              // what memory allocation profiling wraps
	RuleVariant             // one function for different processors
	RuleTracer              // what calls tracers, which counts for its caller: see Names.isTracer
	RuleAlias               // the user's own
	numRules
)

var ruleTexts = [numRules]struct{ name, text string }{
	RuleMark:    {"mark", "_[k] _[i] _[j] at the end, marks of stackcollapse-perf.pl, are removed"},
	RuleVersion: {"version", "the version of libc++ and hashes of Rust's crates and old mangling are removed"},
	RuleSuffix:  {"suffix", "endings that compilers and linkers give to clones are removed, any number of them; one without a number stays where it may be a function of a package or class"},
	RulePrefix:  {"prefix", "__pfx_ and __cfi_ before a kernel function are removed: padding, type hashes; and the hash of its instructions before the name of a BPF program"},
	RuleSyscall: {"syscall", "wrappers of system calls become sys_NAME, or compat_sys_NAME"},
	RuleStub:    {"stub", "entry code of different kernels gets one name"},
	RuleNoprof:  {"noprof", "_noprof at the end of a kernel function is removed: memory allocation profiling (6.10) wraps it"},
	RuleVariant: {"variant", "functions of which the kernel chooses one for the processor, or patches it in, get one name"},
	RuleTracer:  {"tracer", "the function through which a tracepoint calls its tracers, where there are several, or the architecture (arm64) has no static calls, counts for its caller"},
	RuleAlias:   {"alias", "the file of aliases"},
}

// String is the short name of a rule.
func (r Rule) String() string { return ruleTexts[r].name }

// RuleText describes a rule, and the names it knows.
type RuleText struct {
	Name, Text string
	Examples   []string // "from → to", or single endings
}

// Rules describes all rules, in the order in which they are applied.
func Rules() []RuleText {
	texts := make([]RuleText, numRules)
	for i, r := range ruleTexts {
		texts[i] = RuleText{Name: r.name, Text: r.text}
	}
	for _, s := range cloneSuffixes {
		texts[RuleSuffix].Examples = append(texts[RuleSuffix].Examples, "."+s+".N")
	}
	for _, s := range partSuffixes {
		texts[RuleSuffix].Examples = append(texts[RuleSuffix].Examples, "."+s, "."+s+".N")
	}
	texts[RuleSuffix].Examples = append(texts[RuleSuffix].Examples, "[clone .NAME]", "(.NAME)", "::h0123456789abcdef")
	texts[RuleVersion].Examples = []string{"f[abi:ne180100] → f", "core[846817f741e54dfd]::f → core::f", "_RNvCs846817f74_4core1f → _RNvC4core1f", "_ZN4core1f17h0123456789abcdefE → _ZN4core1fE"}
	for _, w := range syscallWrappers {
		texts[RuleSyscall].Examples = append(texts[RuleSyscall].Examples, w.prefix+"NAME → "+w.becomes+"NAME")
	}
	for rule, list := range map[Rule][]renamed{RuleStub: stubs, RuleVariant: variants} {
		for _, r := range list {
			for _, from := range r.from {
				texts[rule].Examples = append(texts[rule].Examples, from+" → "+r.to)
			}
		}
	}
	texts[RuleTracer].Examples = []string{tracerPrefix + "NAME"}
	for _, p := range stubPrefixes {
		texts[RuleStub].Examples = append(texts[RuleStub].Examples, p+"NAME → "+strings.TrimPrefix(p, "asm_")+"NAME")
	}
	return texts
}

// cloneSuffixes are what follows a dot at the end of a name, and has a number behind it:
// gcc's clones (gcc/cgraphclones.cc, clone_function_name_numbered), and those of LLVM
// (FunctionSpecialization, ThinLTO, HotColdSplitting, -funique-internal-linkage-names, and the basic
// block sections of Propeller, lib/CodeGen/MachineBasicBlock.cpp).
var cloneSuffixes = []string{
	"constprop", "isra", "part", "lto_priv", "clone", "ipa_ra",
	"llvm", "__uniq", "specialized", "unlikely", "hot", "__part",
}

// partSuffixes may have a number, too: parts of a function that gcc since 9, LLVM or BOLT put
// elsewhere (cold, warm), gcc's alias within a file, LLVM's control flow integrity (LowerTypeTests),
// and what LLVM since 20 gives a function of which it changed the arguments or the result
// (ArgumentPromotion, DeadArgumentElimination: a thousand functions of a kernel with LTO).
var partSuffixes = []string{"cold", "warm", "localalias", "cfi", "cfi_jt", "argprom", "argelim", "retelim"}

var namePrefixes = []string{"__pfx_", "__cfi_"}

// syscallWrappers: arch/*/include/asm/syscall_wrapper.h, include/linux/syscalls.h;
// SyS_ until 4.16.
var syscallWrappers = []struct{ prefix, becomes string }{
	{"__x64_sys_", "sys_"}, {"__ia32_sys_", "sys_"}, {"__arm64_sys_", "sys_"},
	{"__riscv_sys_", "sys_"}, {"__s390x_sys_", "sys_"}, {"__s390_sys_", "sys_"},
	{"__se_sys_", "sys_"}, {"__do_sys_", "sys_"}, {"ksys_", "sys_"}, {"SyS_", "sys_"},
	{"__ia32_compat_sys_", "compat_sys_"}, {"__x64_compat_sys_", "compat_sys_"},
	{"__arm64_compat_sys_", "compat_sys_"}, {"__riscv_compat_sys_", "compat_sys_"},
	{"__se_compat_sys_", "compat_sys_"}, {"__do_compat_sys_", "compat_sys_"}, {"compat_SyS_", "compat_sys_"},
}

// renamed are names that become another one.
type renamed struct {
	to   string
	from []string
}

// stubs are the ways into the kernel and to a new thread: arch/x86/entry,
// arch/arm64/kernel/entry*.
var stubs = []renamed{
	{"entry_SYSCALL_64", []string{"entry_SYSCALL_64_after_hwframe", "entry_SYSCALL_64_fastpath", "entry_SYSCALL_64_safe_stack", "system_call_fastpath"}},
	{"do_syscall_64", []string{"__do_syscall_64", "do_syscall_x64", "x64_sys_call"}},
	{"do_int80_syscall_32", []string{"do_int80_emulation", "int80_emulation"}},
	{"el0_sync", []string{"el0t_64_sync", "el0t_64_sync_handler", "el0_sync_handler"}},
	{"el0_irq", []string{"el0t_64_irq", "el0t_64_irq_handler", "el0_irq_handler", "__el0_irq_handler_common"}},
	{"el1_irq", []string{"el1h_64_irq", "el1h_64_irq_handler", "el1_irq_handler"}},
	{"el1_sync", []string{"el1h_64_sync", "el1h_64_sync_handler", "el1_sync_handler"}},
	{"el0_svc", []string{"do_el0_svc", "el0_svc_handler", "el0_svc_common", "el0_svc_naked"}},
	{"invoke_syscall", []string{"__invoke_syscall"}},
	{"exc_page_fault", []string{"page_fault", "async_page_fault"}},
	{"sysvec_apic_timer_interrupt", []string{"apic_timer_interrupt", "smp_apic_timer_interrupt"}},
	{"sysvec_reschedule_ipi", []string{"reschedule_interrupt", "smp_reschedule_interrupt"}},
	{"sysvec_call_function_single", []string{"call_function_single_interrupt", "smp_call_function_single_interrupt"}},
	{"common_interrupt", []string{"asm_common_interrupt"}},
	{"ret_from_fork", []string{"ret_from_fork_asm"}},
	{"secondary_startup_64", []string{"secondary_startup_64_no_verify"}},
}

// stubPrefixes are those of the assembly stub before the C function, which bears
// the rest.
var stubPrefixes = []string{"asm_exc_", "asm_sysvec_", "asm_fred_"}

// variants: arch/x86/lib/copy_user_64.S, memset_64.S, memcpy_64.S, clear_page_64.S;
// rep_movs_alternative and rep_stos_alternative since 6.4.
var variants = []renamed{
	{"copy_user_generic", []string{"copy_user_enhanced_fast_string", "copy_user_generic_string", "copy_user_generic_unrolled", "copy_user_fast_string", "rep_movs_alternative"}},
	{"clear_user", []string{"clear_user_erms", "clear_user_rep_good", "clear_user_original", "rep_stos_alternative"}},
	{"memset", []string{"memset_erms", "memset_orig", "__memset"}},
	{"memcpy", []string{"memcpy_erms", "memcpy_orig", "__memcpy"}},
	{"memmove", []string{"memmove_erms", "__memmove"}},
	{"clear_page", []string{"clear_page_erms", "clear_page_rep", "clear_page_orig"}},
}

var stubNames, variantNames = byOldName(stubs), byOldName(variants)

func byOldName(list []renamed) map[string]string {
	m := make(map[string]string)
	for _, r := range list {
		for _, from := range r.from {
			m[from] = r.to
		}
	}
	return m
}

// Names says by which names the functions of two builds are matched. The zero
// value applies all rules.
type Names struct {
	Exact   bool // apply no rules; aliases still hold
	Aliases Aliases

	packages map[string]bool // see Of
}

// Of returns Names that know the functions of runs: where others are called PACKAGE.NAME, as in
// Go, Java or Python, PACKAGE.cold is a function as they are, and no part of one. Compare
// does so itself.
func (n Names) Of(runs [2][]Run) Names {
	n.packages = make(map[string]bool)
	for side := range runs {
		for i := range runs[side] {
			for _, f := range runs[side][i].Set.Functions {
				before, name, _ := strings.Cut(n.withoutSuffixes(unmarked(f.Name)), ".")
				// gcc's _omp_fn.0 is none, nor is a number.
				if name != "" && strings.IndexByte("_0123456789", name[0]) < 0 {
					n.packages[before] = true
				}
			}
		}
	}
	return n
}

// Fold returns the name by which a function is matched, and the rules that made
// it. user says that the function is known to be in user space.
func (n *Names) Fold(name string, user bool) (folded string, rules []Rule) {
	note := func(r Rule, changed string) {
		if changed != name {
			name, rules = changed, append(rules, r)
		}
	}
	note(RuleAlias, n.Aliases.of(name))
	if !n.Exact && !strings.HasPrefix(name, "[") {
		note(RuleMark, unmarked(name))
		note(RuleVersion, withoutVersions(name))
		note(RuleSuffix, n.withoutSuffixes(name))
		if !user {
			note(RulePrefix, withoutPrefix(name))
			note(RuleSyscall, syscallName(name))
			note(RuleStub, stubName(name))
			note(RuleNoprof, withoutNoprof(name))
			note(RuleVariant, cmp.Or(variantNames[name], name))
		}
		note(RuleAlias, n.Aliases.of(name))
	}
	return name, rules
}

func unmarked(name string) string {
	for _, mark := range [...]string{"_[k]", "_[i]", "_[j]"} {
		if s, ok := strings.CutSuffix(name, mark); ok && s != "" {
			return s
		}
	}
	return name
}

// tracerPrefix begins the name of the function that calls all tracers of a tracepoint, since 5.10:
// include/linux/tracepoint.h, DEFINE_TRACE_FN. A single tracer is called straight from where the tracepoint is if
// the architecture has static calls; older kernels loop over them there.
const tracerPrefix = "__traceiter_"

// isTracer tells a function that is in a stack or not for how many tracers there are, and which
// architecture it is. It is the leaf of samples of its tracepoint.
func (n *Names) isTracer(name string, user bool) bool {
	return !n.Exact && !user && strings.HasPrefix(name, tracerPrefix) && n.Aliases.of(name) == name
}

// kernelFunction is the name of a function of the kernel without marks and endings.
func kernelFunction(name string) string { return new(Names).withoutSuffixes(unmarked(name)) }

// withoutSuffixes removes the endings of clones and parts.
func (n *Names) withoutSuffixes(name string) string {
	whole := "" // with the last ending that takes no number
	for {
		shorter, part := withoutSuffix(name)
		if shorter == name || shorter == "" {
			break
		}
		if part && whole == "" {
			whole = name
		}
		name = shorter
	}
	if whole != "" && !n.hasParts(name) {
		return whole
	}
	return name
}

// hasParts reports whether a compiler may have called parts of a function NAME.cold. Functions of
// packages and classes are called so too.
func (n *Names) hasParts(name string) bool {
	before, number, _ := strings.Cut(name, ".") // gcc numbers functions within functions
	return strings.Trim(number, "0123456789") == "" && !n.packages[before] &&
		!strings.ContainsAny(strings.ReplaceAll(before, "::", ""), "/):")
}

// withoutSuffix removes one ending of a clone, or of a part: one that has no number.
func withoutSuffix(name string) (shorter string, part bool) {
	if strings.HasSuffix(name, "]") {
		if i := strings.LastIndex(name, " [clone ."); i > 0 {
			return name[:i], false
		}
		return name, false
	}
	// As demanglers of LLVM have it, all endings in one.
	if strings.HasSuffix(name, ")") {
		if i := strings.LastIndex(name, " (."); i > 0 && !strings.ContainsAny(name[i+2:len(name)-1], " ()") {
			return name[:i], false
		}
		return name, false
	}
	if i := strings.LastIndex(name, "::h"); i > 0 && isHash(name[i+3:]) {
		return name[:i], false
	}
	end := strings.TrimRight(name, "0123456789")
	numbered := len(end) < len(name)
	if numbered {
		end = strings.TrimSuffix(end, ".")
		// x.12 is not a clone, nor is x12.
		if len(name)-len(end) < 2 || name[len(end)] != '.' {
			return name, false
		}
	}
	dot := strings.LastIndexByte(end, '.')
	if dot < 0 {
		return name, false
	}
	suffix := end[dot+1:]
	if slices.Contains(partSuffixes, suffix) || numbered && slices.Contains(cloneSuffixes, suffix) {
		return name[:dot], !numbered
	}
	return name, false
}

// isHash tells the hash of Rust's old mangling, and the tag of a BPF program.
func isHash(s string) bool {
	return len(s) == 16 && strings.Trim(s, "0123456789abcdef") == ""
}

// bpfPrefix begins bpf_prog_TAG_NAME of a BPF program, in which the tag is 16 digits of a hash of its
// instructions (kernel/bpf/core.c, bpf_prog_ksym_set_name): those that are relocated to the fields of
// a kernel's types differ by it.
const bpfPrefix = "bpf_prog_"

func withoutPrefix(name string) string {
	if tagged, ok := strings.CutPrefix(name, bpfPrefix); ok {
		if tag, rest, ok := strings.Cut(tagged, "_"); ok && rest != "" && isHash(tag) {
			return bpfPrefix + rest
		}
	}
	for _, p := range namePrefixes {
		if rest, ok := strings.CutPrefix(name, p); ok && rest != "" {
			return rest
		}
	}
	return name
}

func withoutNoprof(name string) string {
	if s, ok := strings.CutSuffix(name, "_noprof"); ok && s != "" {
		return s
	}
	return name
}

func syscallName(name string) string {
	for _, w := range syscallWrappers {
		if rest, ok := strings.CutPrefix(name, w.prefix); ok && rest != "" {
			return w.becomes + rest
		}
	}
	return name
}

func stubName(name string) string {
	if to, ok := stubNames[name]; ok {
		return to
	}
	for _, p := range stubPrefixes {
		if rest, ok := strings.CutPrefix(name, p); ok && rest != "" {
			return strings.TrimPrefix(p, "asm_") + rest
		}
	}
	return name
}
