package rig

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// renamed are functions of Linux 6.1 by their names in 6.12, from the history of the source.
var renamed = map[string]string{
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
}

// TestHostRenames compares the recordings of a load in guests of 6.1 and 6.12 in the directory
// KPROF_RENAMES (testdata/renames.sh), and counts which of the functions that were renamed are
// found to be, of those that both have samples of.
func TestHostRenames(t *testing.T) {
	dir := os.Getenv("KPROF_RENAMES")
	if dir == "" {
		t.Skip("KPROF_RENAMES names no recordings: see testdata/renames.sh")
	}
	code, out, said := kprof(t, "diff", "-n", "0", "-f", "json", filepath.Join(dir, "6.1-amd64.data"), filepath.Join(dir, "6.12-amd64.data"))
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	var r struct {
		Base, New struct{ Samples float64 }
		Functions []struct {
			Name, Verdict string
			Base_name     string
			Cum           struct{ Base, New float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
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
	if 5*right < 4*both {
		t.Errorf("%d of %d functions that were renamed are found to be", right, both)
	}
}
