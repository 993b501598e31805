package perfevent

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kernelFunc is a function of the running kernel.
type kernelFunc struct {
	addr   uint64
	size   uint64 // up to the next function; 0 when that is not known
	name   string
	module string // empty for the kernel itself
}

// spec is how one writes a probe on f when its name is not enough.
func (f kernelFunc) spec() string {
	if f.module != "" {
		return "kprobe:" + f.module + ":" + f.name
	}
	return "kprobe:" + f.name
}

// kernelFuncs are the functions of /proc/kallsyms, by address. Without the
// right to see addresses all are 0, and only names are known.
type kernelFuncs []kernelFunc

// kernelFuncs reads them, once.
func (r *Resolver) kernelFuncs() (kernelFuncs, error) {
	if r.funcs != nil {
		return r.funcs, nil
	}
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("functions of the kernel: %w", err)
	}
	all := make(kernelFuncs, 0, len(b)/64) // names are parts of the text, which is kept
	for line := range strings.Lines(string(b)) {
		if fn, ok := parseKernelFunc(line); ok {
			all = append(all, fn)
		}
	}
	r.funcs = all.withSizes()
	return r.funcs, nil
}

// parseKernelFunc reads "ADDR TYPE NAME[\t[MODULE]]". Programs of BPF and
// trampolines are listed like modules; they cannot be probed.
func parseKernelFunc(line string) (fn kernelFunc, ok bool) {
	addr, rest, _ := strings.Cut(line, " ")
	if len(rest) < 3 || rest[1] != ' ' || strings.IndexByte("tTwW", rest[0]) < 0 {
		return fn, false
	}
	name, module, inModule := strings.Cut(strings.TrimSpace(rest[2:]), "\t")
	if name == "" || name[0] == '$' || strings.ContainsRune(name, ' ') {
		return fn, false
	}
	fn.name = name
	if inModule {
		fn.module = strings.Trim(module, "[]")
		if fn.module == "bpf" || strings.HasPrefix(fn.module, "__builtin__") {
			return fn, false
		}
	}
	var err error
	fn.addr, err = strconv.ParseUint(addr, 16, 64)
	return fn, err == nil
}

func (all kernelFuncs) withSizes() kernelFuncs {
	slices.SortStableFunc(all, func(a, b kernelFunc) int { return cmp.Compare(a.addr, b.addr) })
	next := uint64(0)
	for i := len(all) - 1; i >= 0; i-- {
		if i+1 < len(all) && all[i+1].addr != all[i].addr {
			next = all[i+1].addr
		}
		if next != 0 && all[i].module == all[min(i+1, len(all)-1)].module {
			all[i].size = next - all[i].addr
		}
	}
	return all
}

// named returns the functions of that name, in that module if it is given.
func (all kernelFuncs) named(name, module string) (found []kernelFunc) {
	for _, f := range all {
		if f.name == name && (module == "" || f.module == module) {
			found = append(found, f)
		}
	}
	return found
}

// variants are the functions that the compiler made of one: NAME.constprop.0,
// NAME.isra.0, NAME.part.0. What it split off as NAME.cold is code of NAME and
// no function.
func (all kernelFuncs) variants(name string) (found []kernelFunc) {
	for _, f := range all {
		if suffix, ok := strings.CutPrefix(f.name, name+"."); ok && !strings.HasPrefix(suffix, "cold") {
			found = append(found, f)
		}
	}
	return found
}

// ReturnTrampolines are where functions return to that a return probe or the
// function graph tracer watches; who called them stands elsewhere then.
func (r *Resolver) ReturnTrampolines() []uint64 {
	funcs, err := r.kernelFuncs()
	if err != nil {
		return nil
	}
	var addrs []uint64
	for _, f := range funcs {
		switch f.name {
		case "__kretprobe_trampoline", "arch_rethook_trampoline", "return_to_handler":
			addrs = append(addrs, f.addr)
		}
	}
	return addrs
}

// at returns the function that holds addr.
func (all kernelFuncs) at(addr uint64) (kernelFunc, bool) {
	i, found := slices.BinarySearchFunc(all, addr, func(f kernelFunc, addr uint64) int { return cmp.Compare(f.addr, addr) })
	if !found {
		i--
	}
	if i < 0 || addr-all[i].addr >= all[i].size {
		return kernelFunc{}, false
	}
	return all[i], true
}

// near returns names like name, best first, at most five: those one or two
// letters away, then those that contain it.
func (all kernelFuncs) near(name string) []string {
	type candidate struct {
		name string
		cost int
	}
	var found []candidate
	seen := map[string]bool{}
	for _, f := range all {
		if seen[f.name] || strings.HasPrefix(f.name, "__pfx_") || strings.HasPrefix(f.name, "__cfi_") {
			continue
		}
		most := min(2, len(name)/4)
		cost := distance(name, f.name, most)
		if cost > most {
			if len(name) < 4 || !strings.Contains(f.name, name) {
				continue
			}
			cost = 2 + len(f.name) - len(name)
		}
		seen[f.name] = true
		found = append(found, candidate{f.name, cost})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range found[:min(len(found), 5)] {
		names = append(names, c.name)
	}
	return names
}

// distance is the number of letters to insert, drop or change to make b of a;
// more than most when it is more than that.
func distance(a, b string, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
			least = min(least, row[j+1])
		}
		if least > most {
			return most + 1
		}
	}
	return row[len(b)]
}

// blacklisted reports whether the kernel lists a function among those that may
// not be probed, in a file that only debugfs has.
func (r *Resolver) blacklisted() map[string]bool {
	if r.blacklist != nil {
		return r.blacklist
	}
	names := map[string]bool{}
	r.blacklist = names
	b, err := os.ReadFile(r.sysfs("kernel", "debug", "kprobes", "blacklist"))
	if err != nil {
		return names
	}
	for line := range strings.Lines(string(b)) { // 0xSTART-0xEND\tNAME
		if f := strings.Fields(line); len(f) == 2 {
			names[f[1]] = true
		}
	}
	return names
}

// traceable are the functions that ftrace may stop in. Kernels without
// CONFIG_KPROBE_EVENTS_ON_NOTRACE take no other ones (kernel/trace/
// trace_kprobe.c, within_notrace_func). Nil when that is not known.
func (r *Resolver) traceable() map[string]bool {
	if r.traced != nil {
		return r.traced
	}
	fs, err := r.Tracefs()
	if err != nil {
		return nil
	}
	f, err := os.Open(filepath.Join(fs.Path(), "available_filter_functions"))
	if err != nil {
		return nil
	}
	defer f.Close() // read only: nothing to lose
	names := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); { // NAME [MODULE]
		name, _, _ := strings.Cut(lines.Text(), " ")
		names[name] = true
	}
	if len(names) == 0 {
		return nil
	}
	r.traced = names
	return names
}

// errUnknownFunction is wrapped by errors about functions that are not there.
var errUnknownFunction = fmt.Errorf("no such function in this kernel: %w", os.ErrNotExist)
