package event

import (
	"maps"
	"os"
	"slices"
	"strings"

	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/spelling"
)

// perfsOwn are events that perf makes itself (tools/perf/util/tool_pmu.c), of what follows a count.
var perfsOwn = map[string]string{
	"duration_time": "the time that passed",
	"user_time":     "the time in user code",
	"system_time":   "the time in the kernel",
}

// unknownEvent says what a word may have been meant to be that is no event: a
// tracepoint without its system, a function of the kernel, something misspelled.
func (r *Resolver) unknownEvent(word string) error {
	if what := perfsOwn[word]; what != "" {
		return errkind.Errorf(os.ErrNotExist, "the kernel has no such event: perf makes one of %s, which stands below counts without being asked for", what)
	}
	if word == OffCPU || word == WallClock {
		return errkind.Errorf(os.ErrNotExist, "%s stands for several events, and is recorded without others or modifiers", word)
	}
	if names := r.tracepointsNamed(word); len(names) > 0 {
		return errkind.Errorf(os.ErrNotExist, "no event has that name%s", spelling.Question(names))
	}
	if fs, err := r.Tracefs(); err == nil {
		if all, err := fs.Events(word, "*"); err == nil { // as trace-cmd -e and set_event take it
			return errkind.Errorf(os.ErrNotExist, "no event has that name; the %d tracepoints of the system %s are '%[2]s:*'", len(all), word)
		}
	}
	if funcs, err := r.kernelFuncs(); err == nil && len(funcs.named(word, "")) > 0 {
		return errkind.Errorf(os.ErrNotExist, "no event has that name; it is a function of the kernel: probe it with kprobe:%s", word)
	}
	known := slices.Collect(maps.Keys(symbols))
	for _, pmu := range r.PMUs() {
		known = append(known, r.PMUEvents(pmu)...)
	}
	near := spelling.Closest(word, known)
	if fs, err := r.Tracefs(); err == nil && len(near) == 0 {
		near = fs.Similar(word)
	}
	return &UnknownError{Word: word, Near: near}
}

func (r *Resolver) tracepointsNamed(name string) []string {
	fs, err := r.Tracefs()
	if err != nil {
		return nil
	}
	return fs.Named(name)
}

// renamed are functions of the kernel that texts and scripts still call by an
// earlier name, with later ones, newest first (from the history of Linux 4.17 to
// 6.18).
var renamed = map[string][]string{
	"do_fork":                {"kernel_clone"},
	"_do_fork":               {"kernel_clone"},
	"do_sys_open":            {"do_sys_openat2"},
	"do_page_fault":          {"exc_page_fault"},
	"__do_page_fault":        {"do_user_addr_fault", "handle_mm_fault"},
	"do_mmap_pgoff":          {"do_mmap"},
	"__do_munmap":            {"do_vmi_munmap", "do_mas_munmap"},
	"do_mas_munmap":          {"do_vmi_munmap"},
	"kmem_cache_alloc":       {"kmem_cache_alloc_noprof"},
	"__kmalloc":              {"__kmalloc_noprof"},
	"vmalloc":                {"vmalloc_noprof"},
	"__alloc_pages_nodemask": {"__alloc_frozen_pages_noprof", "__alloc_pages_noprof", "__alloc_pages"},
	"__alloc_pages":          {"__alloc_frozen_pages_noprof", "__alloc_pages_noprof"},
	"__alloc_pages_noprof":   {"__alloc_frozen_pages_noprof"},
	"shrink_page_list":       {"shrink_folio_list"},
	"add_to_page_cache_lru":  {"filemap_add_folio"},
	"mark_page_accessed":     {"folio_mark_accessed"},
	"lru_cache_add":          {"folio_add_lru"},
	"wait_on_page_bit":       {"folio_wait_bit"},
	"unlock_page":            {"folio_unlock"},
	"end_page_writeback":     {"folio_end_writeback"},
	"set_page_dirty":         {"folio_mark_dirty"},
	"generic_make_request":   {"submit_bio_noacct"},
	"blk_start_request":      {"blk_mq_start_request"},
	"blk_account_io_start":   {"__blk_account_io_start"},
	"blk_account_io_done":    {"__blk_account_io_done"},
	"scheduler_tick":         {"sched_tick"},
	"load_balance":           {"sched_balance_rq"},
	"newidle_balance":        {"sched_balance_newidle"},
	"run_rebalance_domains":  {"sched_balance_softirq"},
	"trigger_load_balance":   {"sched_balance_trigger"},
}

// laterName is what this kernel calls a function that had the name in earlier
// ones, or "". Entries of system calls got a prefix in Linux 4.17.
func (all kernelFuncs) laterName(name string) string {
	candidates := renamed[name]
	for _, prefix := range []string{"sys_", "SyS_"} {
		if call, ok := strings.CutPrefix(name, prefix); ok {
			candidates = []string{"__x64_sys_" + call, "__arm64_sys_" + call, "ksys_" + call}
		}
	}
	for _, c := range candidates {
		if len(all.named(c, "")) > 0 {
			return c
		}
	}
	return ""
}

// absentModule says that a module is not loaded, where it is not, and whether it
// could be.
func (r *Resolver) absentModule(funcs kernelFuncs, module string) error {
	loaded := map[string]bool{}
	for _, f := range funcs {
		loaded[f.module] = true
	}
	spelled := strings.ReplaceAll(module, "-", "_") // as the kernel has it
	if loaded[spelled] || exists(r.sysfs("module", spelled)) {
		return nil
	}
	names := slices.DeleteFunc(slices.Collect(maps.Keys(loaded)), func(n string) bool { return n == "" })
	return errkind.Errorf(os.ErrNotExist, "module %s is not loaded%s", module, spelling.Question(spelling.Closest(module, names)))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
