package rig

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// renamed are functions of one series by their names in a later one, from the history of the source,
// as they are before what diff folds away.
var renamed = map[string]map[string]string{
	"5.10 6.1": {
		"generic_file_buffered_read":        "filemap_read",
		"mark_page_accessed":                "folio_mark_accessed",
		"pagecache_get_page":                "__filemap_get_folio",
		"find_get_entry":                    "mapping_get_entry",
		"add_to_page_cache_lru":             "filemap_add_folio",
		"__add_to_page_cache_locked":        "__filemap_add_folio",
		"lru_cache_add":                     "folio_add_lru",
		"__pagevec_lru_add_fn":              "lru_add_fn",
		"pagevec_lru_move_fn":               "folio_batch_move_lru",
		"unlock_page":                       "folio_unlock",
		"delete_from_page_cache":            "filemap_remove_folio",
		"__delete_from_page_cache":          "__filemap_remove_folio",
		"unaccount_page_cache_page":         "filemap_unaccount_folio",
		"page_cache_free_page":              "filemap_free_folio",
		"set_page_dirty":                    "folio_mark_dirty",
		"__set_page_dirty_no_writeback":     "noop_dirty_folio",
		"__set_page_dirty_nobuffers":        "filemap_dirty_folio",
		"page_mapping":                      "folio_mapping",
		"end_page_writeback":                "folio_end_writeback",
		"clear_page_dirty_for_io":           "folio_clear_dirty_for_io",
		"wait_on_page_bit_common":           "folio_wait_bit_common",
		"wake_up_page_bit":                  "folio_wake_bit",
		"__lock_page":                       "__folio_lock",
		"shmem_getpage_gfp":                 "shmem_get_folio_gfp",
		"shmem_getpage":                     "shmem_get_folio",
		"shmem_alloc_and_acct_page":         "shmem_alloc_and_acct_folio",
		"shmem_alloc_page":                  "shmem_alloc_folio",
		"mem_cgroup_charge":                 "__mem_cgroup_charge",
		"mem_cgroup_uncharge":               "__mem_cgroup_uncharge",
		"mem_cgroup_uncharge_list":          "__mem_cgroup_uncharge_list",
		"try_charge":                        "try_charge_memcg",
		"mem_cgroup_throttle_swaprate":      "__cgroup_throttle_swaprate",
		"__memcg_kmem_charge":               "obj_cgroup_charge_pages",
		"__memcg_kmem_uncharge":             "obj_cgroup_uncharge_pages",
		"memcg_alloc_page_obj_cgroups":      "memcg_alloc_slab_cgroups",
		"alloc_pages_current":               "alloc_pages",
		"alloc_pages_vma":                   "vma_alloc_folio",
		"__alloc_pages_nodemask":            "__alloc_pages",
		"alloc_set_pte":                     "do_set_pte",
		"kernel_init_free_pages":            "kernel_init_pages",
		"__put_page":                        "__folio_put",
		"lock_page_memcg":                   "folio_memcg_lock",
		"__unlock_page_memcg":               "__folio_memcg_unlock",
		"activate_page":                     "folio_activate",
		"__activate_page":                   "folio_activate_fn",
		"truncate_inode_page":               "truncate_inode_folio",
		"truncate_cleanup_page":             "truncate_cleanup_folio",
		"truncate_exceptional_pvec_entries": "truncate_folio_batch_exceptionals",
		"flush_tlb_func_common":             "flush_tlb_func",
		"native_flush_tlb_others":           "native_flush_tlb_multi",
		"flush_tlb_others":                  "flush_tlb_multi",
		"cond_ibpb":                         "cond_mitigation",
		"kmem_cache_alloc_trace":            "kmalloc_trace",
		"unfreeze_partials":                 "__unfreeze_partials",
		"unmap_page":                        "unmap_folio",
		"khugepaged_enter_vma_merge":        "khugepaged_enter_vma",
		"unmap_kernel_range_noflush":        "__vunmap_range_noflush",
		"map_kernel_range_noflush":          "__vmap_pages_range_noflush",
		"iov_iter_copy_from_user_atomic":    "copy_page_from_iter_atomic",
		"iov_iter_fault_in_readable":        "fault_in_iov_iter_readable",
		"__close_fd":                        "close_fd",
		"__alloc_fd":                        "alloc_fd",
		"fput_many":                         "fput",
		"unlazy_walk":                       "try_to_unlazy",
		"unlazy_child":                      "try_to_unlazy_next",
		"__nd_alloc_stack":                  "nd_alloc_stack",
		"update_time":                       "inode_update_time",
		"kernfs_fop_read":                   "kernfs_fop_read_iter",
		"kernfs_fop_write":                  "kernfs_fop_write_iter",
		"_cond_resched":                     "__cond_resched",
		"__send_signal":                     "__send_signal_locked",
		"send_signal":                       "send_signal_locked",
		"arch_do_signal":                    "arch_do_signal_or_restart",
		"copy_fpregs_to_fpstate":            "save_fpregs_to_fpstate",
		"fpu__copy":                         "fpu_clone",
		"__fpu__restore_sig":                "__fpu_restore_sig",
		"futex_wait_queue_me":               "futex_wait_queue",
		"mark_wake_futex":                   "futex_wake_mark",
		"hash_futex":                        "futex_hash",
		"unqueue_me":                        "futex_unqueue",
		"__unqueue_futex":                   "__futex_unqueue",
		"get_futex_value_locked":            "futex_get_value_locked",
		"kfree_skb":                         "kfree_skb_reason",
		"urandom_read":                      "urandom_read_iter",
		"inode_add_lru":                     "__inode_add_lru",
	},
	"6.12 6.18": {
		"free_unref_page":         "free_frozen_pages",
		"free_unref_page_commit":  "free_frozen_page_commit",
		"__alloc_pages":           "__alloc_frozen_pages",
		"__count_memcg_events":    "count_memcg_events",
		"cgroup_rstat_updated":    "css_rstat_updated",
		"__cgroup_rstat_updated":  "css_rstat_updated",
		"cgroup_rstat_flush":      "css_rstat_flush",
		"hrtimer_init":            "hrtimer_setup",
		"hrtimer_init_sleeper":    "hrtimer_setup_sleeper_on_stack",
		"__hrtimer_init":          "__hrtimer_setup",
		"del_timer":               "timer_delete",
		"del_timer_sync":          "timer_delete_sync",
		"__del_timer_sync":        "__timer_delete_sync",
		"pipe_read":               "anon_pipe_read",
		"pipe_write":              "anon_pipe_write",
		"__lruvec_stat_mod_folio": "lruvec_stat_mod_folio",
		"do_zap_pte_range":        "zap_pte_range",
		"obj_cgroup_charge":       "obj_cgroup_charge_account",
		"init_timer_key":          "timer_init_key",
		"__vm_area_free":          "vm_area_free",
		"scm_send":                "__scm_send",
		"new_slab":                "allocate_slab",
	},
	"6.1 6.12": {
		"do_set_pte":                 "set_pte_range",
		"__list_add_valid":           "__list_add_valid_or_report",
		"__list_del_entry_valid":     "__list_del_entry_valid_or_report",
		"__fdget_pos":                "fdget_pos",
		"page_add_new_anon_rmap":     "folio_add_new_anon_rmap",
		"shmem_alloc_and_acct_folio": "shmem_alloc_and_add_folio",
		"next_uptodate_page":         "next_uptodate_folio",
		"__mod_lruvec_page_state":    "__lruvec_stat_mod_folio",
		"__alloc_file":               "init_file",
		"rebalance_domains":          "sched_balance_domains",
		"load_balance":               "sched_balance_rq",
		"find_busiest_group":         "sched_balance_find_src_group",
		"newidle_balance":            "sched_balance_newidle",
		"update_blocked_averages":    "sched_balance_update_blocked_averages",
		"run_rebalance_domains":      "sched_balance_softirq",
		"__cgroup_throttle_swaprate": "__folio_throttle_swaprate",
		"tlb_batch_pages_flush":      "__tlb_batch_free_encoded_pages",
		"inode_init_always":          "inode_init_always_gfp",
		"shift_arg_pages":            "relocate_vma_down",
		"do_mas_munmap":              "do_vmi_munmap",
		"do_mas_align_munmap":        "do_vmi_align_munmap",
		"scheduler_tick":             "sched_tick",
		"trigger_load_balance":       "sched_balance_trigger",
		"find_busiest_queue":         "sched_balance_find_src_rq",
		"find_idlest_group":          "sched_balance_find_dst_group",
		"find_idlest_group_cpu":      "sched_balance_find_dst_group_cpu",
		"find_idlest_cpu":            "sched_balance_find_dst_cpu",
		"page_add_file_rmap":         "folio_add_file_rmap_ptes",
		"page_remove_rmap":           "folio_remove_rmap_ptes",
		"free_unref_page_list":       "free_unref_folios",
		"mlock_page_drain_local":     "mlock_drain_local",
		"__fdget":                    "fdget",
		"__fdget_raw":                "fdget_raw",
		"pick_file":                  "file_close_fd_locked",
		"__mnt_want_write":           "mnt_get_write_access",
		"__mnt_drop_write":           "mnt_put_write_access",
		"__mem_cgroup_uncharge_list": "__mem_cgroup_uncharge_folios",
		"page_move_anon_rmap":        "folio_move_anon_rmap",
		"shmem_inode_acct_block":     "shmem_inode_acct_blocks",
		"shrink_lock_dentry":         "lock_for_kill",
		"user_path_at_empty":         "user_path_at",
		"__pagevec_release":          "__folio_batch_release",
		"get_unmapped_area":          "__get_unmapped_area",
		"import_single_range":        "import_ubuf",
		"kmalloc_trace":              "__kmalloc_cache",
		"clear_huge_page":            "folio_zero_user",
		"deferred_split_huge_page":   "deferred_split_folio",
		"hugepage_vma_check":         "__thp_vma_allowable_orders",
		"check_preempt_curr":         "wakeup_preempt",
		"check_preempt_wakeup":       "check_preempt_wakeup_fair",
		"tick_sched_timer":           "tick_nohz_handler",
		"__lookup_hash":              "lookup_one_qstr_excl",
	},
}

// TestHostRenames compares the recordings of a load in guests of two series in the directory
// KPROF_RENAMES (testdata/renames.sh), and counts which of the functions that were renamed are
// found to be, of those that both have samples of.
func TestHostRenames(t *testing.T) {
	dir := os.Getenv("KPROF_RENAMES")
	if dir == "" {
		t.Skip("KPROF_RENAMES names no recordings: see testdata/renames.sh")
	}
	for _, series := range slices.Sorted(maps.Keys(renamed)) {
		base, new, _ := strings.Cut(series, " ")
		recorded := filepath.Join(dir, base+"-"+new)
		if _, err := os.Stat(recorded); err != nil {
			t.Logf("no recordings of %s and %s", base, new)
			continue
		}
		t.Run(base+" and "+new, func(t *testing.T) {
			compareRenamed(t, renamed[series], filepath.Join(recorded, base+"-amd64.data"), filepath.Join(recorded, new+"-amd64.data"))
		})
	}
}

func compareRenamed(t *testing.T, renamed map[string]string, base, new string) {
	r := compared(t, base, new)
	t.Logf("%.0f and %.0f samples", r.Base.Samples, r.New.Samples)
	found := map[string]string{}
	var samples [2]map[string]float64
	samples[0], samples[1] = map[string]float64{}, map[string]float64{}
	for _, f := range r.Functions {
		base := f.Name
		if f.Base_name != "" {
			base = f.Base_name
			found[base] = f.Name
		}
		samples[0][base] += f.Cum.Base * r.Base.Samples
		samples[1][f.Name] += f.Cum.New * r.New.Samples
	}
	both, right := 0, 0
	for _, from := range slices.Sorted(maps.Keys(renamed)) {
		to, is := renamed[from], "not found"
		got, ok := found[from]
		switch {
		case samples[0][from] == 0 || samples[1][to] == 0:
			is = "no samples"
		case got == to:
			is = "found"
			both++
			right++
		default:
			both++
		}
		if ok && got != to {
			is = "paired with " + got
		}
		t.Logf("%-28s %5.0f  %-40s %5.0f  %s", from, samples[0][from], to, samples[1][to], is)
	}
	for _, from := range slices.Sorted(maps.Keys(found)) {
		if _, known := renamed[from]; !known {
			t.Logf("also: %-28s %5.0f  %-40s %5.0f", from, samples[0][from], found[from], samples[1][found[from]])
		}
	}
	t.Logf("%d of %d found", right, both)
	if both >= 20 && 5*right < 4*both { // fewer tell little
		t.Errorf("%d of %d functions that were renamed are found to be", right, both)
	}
}
