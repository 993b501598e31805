package format

import "strings"

// Units of fields.
const (
	Bytes        = "bytes"
	Kilobytes    = "kilobytes" // of 1024
	Sectors      = "sectors"   // of 512 bytes, whatever the device's are
	Pages        = "pages"     // of the kernel's page size
	Nanoseconds  = "nanoseconds"
	Microseconds = "microseconds"
	Kilohertz    = "kilohertz"
)

// units are those of the well-known fields that count something, by event. An event
// that ends in * is all events whose names begin so. The kernel's formats do not have
// them: they are from where the events are raised.
var units = []struct{ event, fields, unit string }{
	{"kmem:kmalloc*", "bytes_req bytes_alloc", Bytes},
	{"kmem:kmem_cache_alloc*", "bytes_req bytes_alloc", Bytes},
	{"percpu:percpu_alloc_percpu", "size bytes_alloc", Bytes},
	{"percpu:percpu_alloc_percpu_fail", "size", Bytes},

	{"sched:sched_stat_runtime", "runtime vruntime", Nanoseconds},
	{"sched:sched_stat_wait", "delay", Nanoseconds},
	{"sched:sched_stat_sleep", "delay", Nanoseconds},
	{"sched:sched_stat_blocked", "delay", Nanoseconds},
	{"sched:sched_stat_iowait", "delay", Nanoseconds},

	{"block:block_*", "nr_sector", Sectors},
	{"block:block_rq_*", "bytes", Bytes},
	{"block:block_io_*", "bytes", Bytes},

	{"net:*", "len data_len truesize", Bytes},
	{"sock:sock_*_length", "ret", Bytes}, // negative values are error numbers
	{"sock:sock_rcvqueue_full", "rmem_alloc truesize sk_rcvbuf", Bytes},
	{"tcp:tcp_probe", "data_len", Bytes},
	{"dma:dma_*", "size", Bytes},
	{"iomap:iomap_*", "size length", Bytes},

	{"writeback:writeback_pages_written", "pages", Pages},
	{"writeback:writeback_*", "nr_pages", Pages},
	{"vmscan:mm_vmscan_*", "nr_reclaimed nr_scanned nr_taken nr_requested nr_dirty nr_writeback", Pages},
	{"compaction:mm_compaction_isolate_*", "nr_scanned nr_taken", Pages},
	{"migrate:mm_migrate_pages", "succeeded failed", Pages},
	{"tlb:tlb_flush", "pages", Pages},
	{"ext4:ext4_writepages", "nr_to_write pages_skipped", Pages},
	{"ext4:ext4_da_write_*", "len copied", Bytes},
	{"ext4:ext4_write_*", "len copied", Bytes},
	{"filelock:*", "fl_start fl_end", Bytes},
	{"oom:mark_victim", "total_vm anon_rss file_rss shmem_rss pgtables", Kilobytes},

	{"timer:hrtimer_start", "expires softexpires", Nanoseconds},
	{"timer:hrtimer_expire_entry", "now", Nanoseconds},
	{"wbt:wbt_lat", "lat", Microseconds},
	{"power:cpu_frequency", "state", Kilohertz},
	{"power:cpu_frequency_limits", "min_freq max_freq", Kilohertz},

	{"syscalls:sys_enter_read", "count", Bytes},
	{"syscalls:sys_enter_write", "count", Bytes},
	{"syscalls:sys_enter_pread64", "count", Bytes},
	{"syscalls:sys_enter_pwrite64", "count", Bytes},
	{"syscalls:sys_enter_sendfile64", "count", Bytes},
	{"syscalls:sys_enter_mmap", "len", Bytes},
	{"syscalls:sys_enter_munmap", "len", Bytes},
	{"syscalls:sys_enter_sendto", "len", Bytes},
	{"syscalls:sys_enter_recvfrom", "size", Bytes},
	{"syscalls:sys_enter_fallocate", "len", Bytes},
	{"syscalls:sys_enter_getrandom", "len", Bytes},

	// What these return is bytes, or a negative error number.
	{"syscalls:sys_exit_read", "ret", Bytes},
	{"syscalls:sys_exit_write", "ret", Bytes},
	{"syscalls:sys_exit_pread64", "ret", Bytes},
	{"syscalls:sys_exit_pwrite64", "ret", Bytes},
	{"syscalls:sys_exit_readv", "ret", Bytes},
	{"syscalls:sys_exit_writev", "ret", Bytes},
	{"syscalls:sys_exit_preadv", "ret", Bytes},
	{"syscalls:sys_exit_pwritev", "ret", Bytes},
	{"syscalls:sys_exit_sendto", "ret", Bytes},
	{"syscalls:sys_exit_recvfrom", "ret", Bytes},
	{"syscalls:sys_exit_sendmsg", "ret", Bytes},
	{"syscalls:sys_exit_recvmsg", "ret", Bytes},
	{"syscalls:sys_exit_sendfile64", "ret", Bytes},
	{"syscalls:sys_exit_splice", "ret", Bytes},
	{"syscalls:sys_exit_tee", "ret", Bytes},
	{"syscalls:sys_exit_copy_file_range", "ret", Bytes},
	{"syscalls:sys_exit_getrandom", "ret", Bytes},
}

// Unit is the unit of a field of an event, named as "kmem:kmalloc", where the field is
// well known; else empty.
func Unit(event, field string) string {
	for i := range units {
		u := &units[i]
		if !matches(u.event, event) {
			continue
		}
		for f := range strings.FieldsSeq(u.fields) {
			if f == field {
				return u.unit
			}
		}
	}
	return ""
}

// matches knows patterns with one * at most.
func matches(pattern, name string) bool {
	before, after, any := strings.Cut(pattern, "*")
	if !any {
		return pattern == name
	}
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// CodeAddress reports whether a field of that name has the address of kernel code:
// tracepoints and probes call such fields by few names.
func CodeAddress(name string) bool {
	switch name {
	case "function", "func", "fn", "call_site", "callsite", "caller", "callback", "location", "ip", "parent_ip",
		"caller_ip", "__probe_ip", "__probe_func", "__probe_ret_ip":
		return true
	}
	return false
}
