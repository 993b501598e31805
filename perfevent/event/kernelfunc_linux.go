package event

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/procfs"
	"kprof/perfevent/spelling"
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
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("functions of the kernel: %w", err)
	}
	defer f.Close() // only read
	all, err := readKernelFuncs(f)
	if err != nil {
		return nil, fmt.Errorf("functions of the kernel: %w", err)
	}
	r.funcs = all.withSizes()
	return r.funcs, nil
}

// readKernelFuncs takes the functions that may be probed from kallsyms text, which
// BPF programs and trampolines are not. Lines that cannot be read name none.
func readKernelFuncs(r io.Reader) (kernelFuncs, error) {
	var (
		all     = make(kernelFuncs, 0, 1<<17) // as many as kernels have
		modules = map[string]string{}
		text    []byte // names of the last len(sizes) functions, which share one string
		sizes   []int
	)
	share := func() {
		names := string(text)
		for i, size := range sizes {
			all[len(all)-len(sizes)+i].name, names = names[:size], names[size:]
		}
		text, sizes = text[:0], sizes[:0]
	}
	err := procfs.ReadSymbols(r, func(s *procfs.Symbol) bool {
		if !s.Function() || s.Name[0] == '$' || s.Module != nil && !s.Loadable() {
			return true
		}
		fn := kernelFunc{addr: s.Addr}
		if s.Module != nil {
			var known bool
			if fn.module, known = modules[string(s.Module)]; !known {
				fn.module = string(s.Module)
				modules[fn.module] = fn.module
			}
		}
		all = append(all, fn)
		text, sizes = append(text, s.Name...), append(sizes, len(s.Name))
		if len(text) > 1<<16 {
			share()
		}
		return true
	})
	var format *procfs.FormatError
	if err != nil && !errors.As(err, &format) {
		return nil, err
	}
	share()
	return all, nil
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
	prefix := name + "."
	for _, f := range all {
		if suffix, ok := strings.CutPrefix(f.name, prefix); ok && !strings.HasPrefix(suffix, "cold") {
			found = append(found, f)
		}
	}
	return found
}

// ReturnTrampolines are where functions return to that a return probe or the
// function graph tracer watches; who called them stands elsewhere then. That of kretprobes
// has two underscores since Linux 5.16 (adf8a61a940c).
func (r *Resolver) ReturnTrampolines() []uint64 {
	funcs, err := r.kernelFuncs()
	if err != nil {
		return nil
	}
	var addrs []uint64
	for _, f := range funcs {
		switch f.name {
		case "kretprobe_trampoline", "__kretprobe_trampoline", "arch_rethook_trampoline", "return_to_handler":
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

// FunctionNames returns the functions of the running kernel and its modules whose
// names start with prefix, sorted, each once; none where they cannot be read. Not
// each of them can be probed.
func (r *Resolver) FunctionNames(prefix string) []string {
	funcs, err := r.kernelFuncs()
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range funcs {
		if strings.HasPrefix(f.name, prefix) && !strings.HasPrefix(f.name, "__pfx_") && !strings.HasPrefix(f.name, "__cfi_") {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// near returns names like name, best first.
func (all kernelFuncs) near(name string) []string {
	names := make([]string, 0, len(all))
	for _, f := range all {
		if !strings.HasPrefix(f.name, "__pfx_") && !strings.HasPrefix(f.name, "__cfi_") {
			names = append(names, f.name)
		}
	}
	return spelling.Closest(name, names)
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
var errUnknownFunction = errkind.Errorf(os.ErrNotExist, "this kernel has no such function")
