package spanrule

import "kprof/perfevent/format/expr"

// entry is a rule by name. Sources are the places in the kernel where both events are.
type entry struct {
	name, what string
	syscalls   bool // takes names of system calls
	between    bool
	nested     bool
	value      string // see Rule.Value
	pages      bool
	families   func() []Family
}

// table has the rules by name.
var table = []entry{
	// kernel/entry/common.c: syscall_enter_from_user_mode, syscall_exit_to_user_mode. The
	// task of the end is another where a thread that is not the first calls execve: it
	// takes the number of the first. rt_sigreturn ends with id -1.
	{name: "syscalls", what: "system calls, by name", syscalls: true, families: func() []Family {
		start := Side{Event: "raw_syscalls:sys_enter", Spec: "raw_syscalls:sys_enter", Task: true, Check: mustExpr("id"), Labels: []Label{{"syscall", "id", Syscall}}}
		end := Side{Event: "raw_syscalls:sys_exit", Spec: "raw_syscalls:sys_exit", Task: true, Check: mustExpr("id"), Labels: []Label{{"error", "ret", Errno}}}
		// What perf and trace-cmd record of -e syscalls, in which the number has this name
		// since Linux 4.6.
		each := []Family{{[]Side{start}, []Side{end}}}
		for _, number := range []string{"__syscall_nr", "nr"} {
			start.Event, end.Event = "syscalls:sys_enter_*", "syscalls:sys_exit_*"
			start.Spec, end.Spec = start.Event, end.Event
			start.Check, end.Check = mustExpr(number), mustExpr(number)
			start.Labels = []Label{{"syscall", number, Syscall}}
			each = append(each, Family{[]Side{start}, []Side{end}})
		}
		// Text of the tracer does not have it.
		start.Check, end.Check = nil, nil
		start.Labels = []Label{{"syscall", "", Varying}}
		return append(each, Family{[]Side{start}, []Side{end}})
	}},
	// block/blk-mq.c: blk_account_io_start, __blk_account_io_done (Linux 6.5): of a request
	// as a whole. Before, blk_mq_start_request and blk_update_request, which has an event
	// for each part that completes: the span is up to the first.
	{name: "block", what: "requests of block devices, from their start to their completion", between: true, families: func() []Family {
		label := []Label{{"rwbs", "rwbs", Plain}}
		return []Family{
			{[]Side{by("block:block_io_start", label, "dev", "sector")}, []Side{by("block:block_io_done", nil, "dev", "sector")}},
			{[]Side{by("block:block_rq_issue", label, "dev", "sector")}, []Side{by("block:block_rq_complete", nil, "dev", "sector")}},
		}
	}},
	// kernel/irq/handle.c: __handle_irq_event_percpu. A handler may be interrupted by
	// another one, of another number.
	{name: "irq", what: "handlers of interrupts, by device", families: func() []Family {
		return []Family{{[]Side{onCPU("irq:irq_handler_entry", []Label{{"irq", "name", Plain}}, "irq")}, []Side{onCPU("irq:irq_handler_exit", nil, "irq")}}}
	}},
	// kernel/softirq.c: handle_softirqs.
	{name: "softirq", what: "softirqs, by kind", families: func() []Family {
		return []Family{{[]Side{onCPU("irq:softirq_entry", []Label{{"softirq", "vec", Plain}}, "vec")}, []Side{onCPU("irq:softirq_exit", nil, "vec")}}}
	}},
	// kernel/workqueue.c: process_one_work.
	{name: "workqueue", what: "work of workqueues, by function", families: func() []Family {
		return []Family{{[]Side{by("workqueue:workqueue_execute_start", []Label{{"function", "function", Code}}, "work")}, []Side{by("workqueue:workqueue_execute_end", nil, "work")}}}
	}},
	// kernel/locking: mutex.c, rwsem.c, qspinlock.c, …, since Linux 5.19. Whoever spins may
	// be interrupted by who waits for another lock.
	{name: "lock", what: "waiting for locks of the kernel that others hold, by kind", families: func() []Family {
		start, end := by("lock:contention_begin", []Label{{"lock", "flags", Plain}}, "lock_addr"), by("lock:contention_end", nil, "lock_addr")
		start.Task, end.Task = true, true
		return []Family{{[]Side{start}, []Side{end}}}
	}},
	// kernel/time/timer.c: call_timer_fn; hrtimer.c: __run_hrtimer.
	{name: "timer", what: "functions that timers call", families: func() []Family {
		function := []Label{{"function", "function", Code}}
		return []Family{{
			[]Side{onCPU("timer:timer_expire_entry", function, "timer"), onCPU("timer:hrtimer_expire_entry", function, "hrtimer")},
			[]Side{onCPU("timer:timer_expire_exit", nil, "timer"), onCPU("timer:hrtimer_expire_exit", nil, "hrtimer")},
		}}
	}},
	// mm/memory.c: no event is at the end of a fault, so that it takes probes.
	{name: "page-fault", what: "the handling of page faults (probes of handle_mm_fault)", nested: true, families: func() []Family {
		r := Rule{}
		if err := r.function("handle_mm_fault"); err != nil {
			panic(err)
		}
		return r.Families
	}},
	// mm/slub.c, mm/slab_common.c: kfree may take what kmem_cache_alloc gave, which is then
	// the end of nothing. kmalloc_node is an event of its own up to Linux 6.0.
	{name: "kmalloc", what: "memory of the kernel that kmalloc gave and kfree has not taken back, in bytes", between: true, value: "bytes_alloc", families: func() []Family {
		node := by("kmem:kmalloc_node", nil, "ptr")
		node.Optional = true
		return []Family{{[]Side{by("kmem:kmalloc", nil, "ptr"), node}, []Side{by("kmem:kfree", nil, "ptr")}}}
	}},
	// mm/slub.c, mm/slab_common.c: what a cache gave may be taken back by kfree too.
	// kmem_cache_alloc_node is an event of its own up to Linux 6.0; the name of the cache is in
	// kmem_cache_alloc since 6.18.
	{name: "kmem_cache", what: "memory that caches of the kernel gave and have not taken back, in bytes", between: true, value: "bytes_alloc", families: func() []Family {
		name := []Label{{"cache", "name", Plain}}
		node := by("kmem:kmem_cache_alloc_node", name, "ptr")
		node.Optional = true
		kfree := by("kmem:kfree", nil, "ptr")
		kfree.Optional, kfree.Loose = true, true
		return []Family{{[]Side{by("kmem:kmem_cache_alloc", name, "ptr"), node}, []Side{by("kmem:kmem_cache_free", nil, "ptr"), kfree}}}
	}},
	// mm/page_alloc.c: __alloc_pages, free_pages_prepare. The page frame is -1 where there
	// was no memory. Pages that are split are taken to be free with the first of them.
	{name: "pages", what: "pages that the kernel has allocated and not freed, in bytes", between: true, value: "1 << order", pages: true, families: func() []Family {
		return []Family{{[]Side{by("kmem:mm_page_alloc", []Label{{"order", "order", Plain}}, "pfn")}, []Side{by("kmem:mm_page_free", nil, "pfn")}}}
	}},
	// mm/mmap.c, mm/mremap.c, by the events of system calls. What is unmapped in part counts
	// as unmapped where that begins at the first page, and not where it does not; what is mapped
	// over (MAP_FIXED) counts as still there. A munmap or mremap takes back whether it fails or
	// not: when it returns another thread may have got the address.
	{name: "mmap", what: "what processes have mapped with mmap or mremap and not unmapped, in bytes", value: "field.len", families: func() []Family {
		allocates := func(call, bytes string) Side {
			event := "syscalls:sys_enter_" + call
			return Side{Event: event, Spec: event, Memory: Allocates, Bytes: mustExpr(bytes)}
		}
		// A result from -4095 to -1 is an error. Other negative ones are addresses of 32 bits,
		// of which the arguments of system calls are not extended by their sign.
		address := mustExpr("field.ret > 0 ? field.ret : field.ret < -4095 ? field.ret & 0xffffffff : 0")
		allocated := func(call string) Side {
			event := "syscalls:sys_exit_" + call
			return Side{Event: event, Spec: event, Memory: Allocated, Key: []*expr.Expr{address}}
		}
		from := mustExpr("field.addr")
		moves := allocates("mremap", "field.new_len")
		moves.Key = []*expr.Expr{from}
		starts := []Side{allocates("mmap", "field.len"), allocated("mmap"), allocates("mmap_pgoff", "field.len"), allocated("mmap_pgoff"), moves, allocated("mremap")}
		for i := range starts[:4] {
			starts[i].Optional = true // mmap_pgoff is what kernels of 32 bits have
		}
		return []Family{{
			starts,
			[]Side{{Event: "syscalls:sys_enter_munmap", Spec: "syscalls:sys_enter_munmap", Memory: Frees, Key: []*expr.Expr{from}}},
		}}
	}},
	// fs/fs-writeback.c: writeback_sb_inodes and writeback_single_inode have both ends of
	// __writeback_single_inode.
	{name: "writeback", what: "writing back inodes", families: func() []Family {
		start := by("writeback:writeback_single_inode_start", []Label{{"device", "name", Plain}}, "ino")
		end := by("writeback:writeback_single_inode", nil, "ino")
		start.Task, end.Task = true, true
		return []Family{{[]Side{start}, []Side{end}}}
	}},
	{name: "rwmmio-read", what: "reads of registers of devices, by register", nested: true, families: registers("read", []Label{{"val", "val", Plain}})},
	{name: "rwmmio-write", what: "writes of registers of devices, by register", nested: true, families: registers("write", nil)},
}

// registers are the families of accesses to registers (include/trace/events/rwmmio.h,
// lib/trace_readwrite.c, Linux 6.1), where a kernel is built with TRACE_MMIO_ACCESS. Between
// the two ends of one there may be an interrupt, with others.
func registers(access string, value []Label) func() []Family {
	return func() []Family {
		labels := []Label{{"register", "addr", Plain}, {"caller", "caller", Code}}
		return []Family{{
			[]Side{onCPU("rwmmio:rwmmio_"+access, labels, "addr", "width")},
			[]Side{onCPU("rwmmio:rwmmio_post_"+access, value, "addr", "width")},
		}}
	}
}

// by is a side that belongs to another with equal fields.
func by(event string, labels []Label, fields ...string) Side {
	s := Side{Event: event, Spec: event, Labels: labels}
	for _, f := range fields {
		s.Key = append(s.Key, mustExpr("field."+f))
	}
	return s
}

// onCPU is a side that belongs to another on the same CPU with equal fields.
func onCPU(event string, labels []Label, fields ...string) Side {
	s := by(event, labels, fields...)
	s.CPU = true
	return s
}

func named(name string) *entry {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return nil
}

// Named are the rules by name, in the order of the table, with what each is of.
func Named() (rules []*Rule, what []string) {
	for _, e := range table {
		r, err := Parse(Prefix + e.name)
		if err != nil {
			panic(err) // see TestTable
		}
		rules, what = append(rules, r), append(what, e.what)
	}
	return rules, what
}
