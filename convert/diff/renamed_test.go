package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// pairsOf lists the pairs of a comparison: base name, new name, verdict.
func pairsOf(r *Result) (pairs []string) {
	for _, f := range r.Functions {
		if f.Pair != "" {
			text := f.Pair + " " + f.Name + " " + f.Verdict.String()
			if f.Rewritten {
				text += " rewritten"
			}
			pairs = append(pairs, text)
		}
	}
	slices.Sort(pairs)
	return pairs
}

// TestRenamed: what is called alike, calls alike and costs alike is one function under
// another name; its cost is compared, so that one that became slower is told.
func TestRenamed(t *testing.T) {
	in := func(base, new bool) Presence { return Presence{[2]bool{base, new}, [2]bool{true, true}} }
	for _, test := range []struct {
		name, base, new string
		exact           bool
		builds          map[string]Presence
		code            float64 // how like the code of x and y is, if it is known
		want            []string
	}{
		{
			name: "a name and its caller's",
			base: "m;sys_munmap;__vm_munmap;do_mas_munmap;do_mas_align_munmap;free_pgtables 900\nm;f 9100",
			new:  "m;sys_munmap;__vm_munmap;do_vmi_munmap;do_vmi_align_munmap;free_pgtables 910\nm;f 9090",
			want: []string{"do_mas_align_munmap do_vmi_align_munmap renamed", "do_mas_munmap do_vmi_munmap renamed"},
		},
		{
			name: "a leaf by its name", base: "m;g;page_add_new_anon_rmap 100\nm;f 9900", new: "m;g;folio_add_new_anon_rmap 100\nm;f 9900",
			want: []string{"page_add_new_anon_rmap folio_add_new_anon_rmap renamed"},
		},
		{
			name: "by what it calls", base: "m;g;old;copy 200\nm;f 9800", new: "m;g;iterate;copy 200\nm;f 9800",
			want: []string{"old iterate renamed rewritten"},
		},
		{
			name: "and slower", base: "m;g;do_mas_munmap 200\nm;f 9800", new: "m;g;do_vmi_munmap 900\nm;f 9800",
			want: []string{"do_mas_munmap do_vmi_munmap more"},
		},
		{name: "leaves that have nothing in common but where they are", base: "m;g;x 200\nm;f 9800", new: "m;g;y 200\nm;f 9800"},
		{
			name: "and their code", base: "m;g;x 200\nm;f 9800", new: "m;g;y 200\nm;f 9800", code: 0.95,
			want: []string{"x y renamed rewritten"},
		},
		{name: "code that differs", base: "m;g;x 200\nm;f 9800", new: "m;g;y 200\nm;f 9800", code: 0.1},
		{name: "called by others", base: "m;g;mas_find 200\nm;f 9800", new: "m;h;mas_next 200\nm;f 9800"},
		{name: "names as they are", exact: true, base: "m;g;do_mas_munmap 200\nm;f 9800", new: "m;g;do_vmi_munmap 200\nm;f 9800"},
		{
			name: "both in both builds", base: "m;g;do_mas_munmap 200\nm;f 9800", new: "m;g;do_vmi_munmap 200\nm;f 9800",
			builds: map[string]Presence{"do_mas_munmap": in(true, true), "do_vmi_munmap": in(true, true)},
		},
		{
			name: "few samples, but the builds tell", base: "m;g;do_mas_munmap 4\nm;f 9800", new: "m;g;do_vmi_munmap 3\nm;f 9800",
			builds: map[string]Presence{"do_mas_munmap": in(true, false), "do_vmi_munmap": in(false, true)},
			want:   []string{"do_mas_munmap do_vmi_munmap renamed"},
		},
		{name: "few samples", base: "m;g;do_mas_munmap 4\nm;f 9800", new: "m;g;do_vmi_munmap 3\nm;f 9800"},
		{
			name: "of another name and cost, but everything around is the same", base: "m;g;clear_huge_page;clear_page 300\nm;f 9800", new: "m;g;folio_zero_user;clear_page 580\nm;f 9800",
			want: []string{"clear_huge_page folio_zero_user more rewritten"},
		},
		{name: "less than half of the cost", base: "m;g;clear_huge_page;clear_page 280\nm;f 9800", new: "m;g;folio_zero_user;clear_page 600\nm;f 9800"},
		{name: "words in common, but other code", base: "m;g;policy_node 200\nm;f 9800", new: "m;g;vma_policy 190\nm;f 9800", code: 0.3},
		{
			name: "and code of like size", base: "m;g;policy_node 200\nm;f 9800", new: "m;g;vma_policy 190\nm;f 9800", code: 0.5,
			want: []string{"policy_node vma_policy renamed"},
		},
		{
			name: "nearly the same name, called otherwise", base: "m;g;do_mas_align_munmap 55\nm;g;x 90\nm;h;x 90\nm;f 9800", new: "m;h;do_vmi_align_munmap 14\nm;g;x 90\nm;h;x 90\nm;f 9800", code: 0.4,
			builds: map[string]Presence{"do_mas_align_munmap": in(true, false), "do_vmi_align_munmap": in(false, true)},
			want:   []string{"do_mas_align_munmap do_vmi_align_munmap renamed"},
		},
		{
			name: "of which nearly nothing is seen", base: "m;g;do_mas_align_munmap 2\nm;g;x 90\nm;h;x 90\nm;f 9800", new: "m;h;do_vmi_align_munmap 1\nm;g;x 90\nm;h;x 90\nm;f 9800", code: 0.2,
			builds: map[string]Presence{"do_mas_align_munmap": in(true, false), "do_vmi_align_munmap": in(false, true)},
		},
		{
			name: "the old name stays for a wrapper", base: "m;g;mark_page_accessed;x 100\nm;f 9800", new: "m;g;folio_mark_accessed;x 95\nm;f 9800",
			builds: map[string]Presence{"mark_page_accessed": in(true, true), "folio_mark_accessed": in(false, true)},
			want:   []string{"mark_page_accessed folio_mark_accessed renamed"},
		},
		{
			name: "the old name stays, and the cost is another", base: "m;g;mark_page_accessed;x 100\nm;f 9800", new: "m;g;folio_mark_accessed;x 45\nm;f 9800",
			builds: map[string]Presence{"mark_page_accessed": in(true, true), "folio_mark_accessed": in(false, true)},
		},
		{
			name: "a new function between it and its callers", base: "m;g;get_pages_nodemask;x 300\nm;f 9700", new: "m;g;folio_get;get_pages;x 290\nm;g;folio_get 10\nm;f 9700",
			builds: map[string]Presence{"get_pages_nodemask": in(true, false), "get_pages": in(false, true), "folio_get": in(false, true)},
			want:   []string{"get_pages_nodemask get_pages renamed"},
		},
		{
			name: "called otherwise, and much cheaper", base: "m;g;init_fpstate_to_fpregs 270\nm;h;x 90\nm;f 9800", new: "m;h;save_fpregs_to_fpstate 20\nm;h;x 90\nm;f 9800",
			builds: map[string]Presence{"init_fpstate_to_fpregs": in(true, false), "save_fpregs_to_fpstate": in(false, true)},
		},
		{
			name: "the only ones of a caller, with code of like size", base: "m;g;delete_from_cache;x 60\nm;g;delete_from_cache;y 40\nm;f 9800", new: "m;g;filemap_remove;z 95\nm;f 9800", code: 0.4,
			builds: map[string]Presence{"delete_from_cache": in(true, false), "filemap_remove": in(false, true)},
			want:   []string{"delete_from_cache filemap_remove renamed rewritten"},
		},
		{
			name: "two of a caller", base: "m;g;delete_from_cache;x 60\nm;g;delete_from_cache;y 40\nm;f 9800", new: "m;g;filemap_remove;z 95\nm;g;xas_put;z 95\nm;f 9800", code: 0.4,
			builds: map[string]Presence{"delete_from_cache": in(true, false), "filemap_remove": in(false, true), "xas_put": in(false, true)},
		},
		{
			name: "the only ones of a caller, which call nothing", base: "m;g;delete_from_cache 100\nm;f 9800", new: "m;g;filemap_remove 95\nm;f 9800", code: 0.4,
			builds: map[string]Presence{"delete_from_cache": in(true, false), "filemap_remove": in(false, true)},
		},
		{
			name: "the best of several", base: "m;g;lru_cache_add 300\nm;g;lru_add_fn 300\nm;f 9400",
			new:  "m;g;folio_add_lru 300\nm;g;lru_add 300\nm;f 9400",
			want: []string{"lru_add_fn lru_add renamed", "lru_cache_add folio_add_lru renamed"},
		},
	} {
		o := Defaults
		o.Names.Exact = test.exact
		if test.builds != nil {
			o.Builds = func([]string) map[string]Presence { return test.builds }
		}
		if test.code > 0 {
			o.SimilarCode = func(base, new string) (float64, bool) { return test.code, true }
		}
		r := compareLines(t, test.base, test.new, o)
		if got := pairsOf(r); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestRenamedSuspect: a suspect may go by its name on the base.
func TestRenamedSuspect(t *testing.T) {
	o := Defaults
	o.Suspects = []string{"do_mas_munmap"}
	r := compareLines(t, "m;g;do_mas_munmap 200\nm;f 9800", "m;g;do_vmi_munmap 210\nm;f 9800", o)
	if i := slices.IndexFunc(r.Functions, func(f Function) bool { return f.Suspect }); i < 0 || r.Functions[i].Name != "do_vmi_munmap" || len(r.Notes) > 0 {
		t.Errorf("suspect %d, notes %q", i, r.Notes)
	}
}

// TestRenamedSums: a pair has what the base has of the one and the new side of the other,
// in the table and in the profiles of both sides; no limit is exceeded by a new name.
func TestRenamedSums(t *testing.T) {
	r := compareLines(t, "m;g;do_mas_munmap;free 700\nm;g;do_mas_munmap 300\nm;f 9000", "m;g;do_vmi_munmap;free 690\nm;g;do_vmi_munmap 310\nm;f 9000", Defaults)
	i := slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "do_vmi_munmap" })
	if f := &r.Functions[i]; f.BaseSelf != 300 || f.NewSelf != 310 || f.BaseCum != 1000 || f.NewCum != 1000 || f.Verdict != Renamed {
		t.Errorf("%+v", f)
	}
	if slices.ContainsFunc(r.Functions, func(f Function) bool { return f.Name == "do_mas_munmap" }) {
		t.Error("the base's name is there, too")
	}
	base, new := r.Sets()
	if got, want := strings.Join(functionNames(base.Functions), " "), strings.Join(functionNames(new.Functions), " "); got != want {
		t.Errorf("functions of both sides: %s and %s", got, want)
	}
	both := r.Both()
	if n := both.Totals(0); n[0] != 10000 || n[1] != 10000 || len(both.Functions) != len(new.Functions) {
		t.Errorf("both sides: %v in %d functions", n, len(both.Functions))
	}
	if j := r.Judge(0.05); r.Outcome != Unchanged || j.Outcome != Unchanged {
		t.Errorf("%v, and %+v", r.Outcome, j)
	}
}

func functionNames(fns []stacks.Function) (names []string) {
	for _, f := range fns {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// renames are functions of Linux 6.1 and 6.12, from the history of the source.
var renames = [][2]string{
	{"do_set_pte", "set_pte_range"},
	{"__list_add_valid", "__list_add_valid_or_report"},
	{"__list_del_entry_valid", "__list_del_entry_valid_or_report"},
	{"__fdget_pos", "fdget_pos"},
	{"page_add_new_anon_rmap", "folio_add_new_anon_rmap"},
	{"shmem_alloc_and_acct_folio", "shmem_alloc_and_add_folio"},
	{"next_uptodate_page", "next_uptodate_folio"},
	{"__mod_lruvec_page_state", "__lruvec_stat_mod_folio"},
	{"__alloc_file", "init_file"},
	{"rebalance_domains", "sched_balance_domains"},
	{"load_balance", "sched_balance_rq"},
	{"find_busiest_group", "sched_balance_find_src_group"},
	{"newidle_balance", "sched_balance_newidle"},
	{"update_blocked_averages", "sched_balance_update_blocked_averages"},
	{"run_rebalance_domains", "sched_balance_softirq"},
	{"__cgroup_throttle_swaprate", "__folio_throttle_swaprate"},
	{"tlb_batch_pages_flush", "__tlb_batch_free_encoded_pages"},
	{"inode_init_always", "inode_init_always_gfp"},
	{"shift_arg_pages", "relocate_vma_down"},
	{"do_mas_munmap", "do_vmi_munmap"},
	{"do_mas_align_munmap", "do_vmi_align_munmap"},
	{"lru_cache_add", "folio_add_lru"},
	{"add_to_page_cache_lru", "filemap_add_folio"},
	{"scheduler_tick", "sched_tick"},
	{"trigger_load_balance", "sched_balance_trigger"},
	{"find_busiest_queue", "sched_balance_find_src_rq"},
	{"find_idlest_group", "sched_balance_find_dst_group"},
	{"find_idlest_group_cpu", "sched_balance_find_dst_group_cpu"},
	{"find_idlest_cpu", "sched_balance_find_dst_cpu"},
	{"page_add_file_rmap", "folio_add_file_rmap_ptes"},
}

// TestRenames: of thirty functions that were renamed between two versions nearly all are found,
// and no other is taken for one: of few samples, some below others' callers, most calling
// nothing that has a sample, between functions that came and went.
func TestRenames(t *testing.T) {
	var base, new strings.Builder
	builds := map[string]Presence{}
	for i, r := range renames {
		for side, b := range []*strings.Builder{&base, &new} {
			name, caller := r[side], fmt.Sprint("caller", i%10)
			if i%4 == 1 && side == 1 { // which was inlined
				caller = fmt.Sprint("above", i%10)
			}
			fmt.Fprintf(b, "m;%s;%s %d\n", caller, name, 1+(i*5+side*3)%12)
			if i%3 == 0 {
				fmt.Fprintf(b, "m;%s;%s;callee%d %d\n", caller, name, i, 3+(i+side)%5)
			}
			other := [2]string{fmt.Sprint("went", i, "_away"), fmt.Sprint("came", i, "_anew")}[side]
			fmt.Fprintf(b, "m;%s;%s %d\n", caller, other, 1+(i*7+side)%9)
			for _, n := range []string{name, other} {
				builds[n] = Presence{[2]bool{side == 0, side == 1}, [2]bool{true, true}}
			}
		}
	}
	base.WriteString("m;f 9000\n")
	new.WriteString("m;f 9000\n")
	o := Defaults
	o.Builds = func([]string) map[string]Presence { return builds }
	found := 0
	for _, f := range compareLines(t, strings.TrimSpace(base.String()), strings.TrimSpace(new.String()), o).Functions {
		switch i := slices.IndexFunc(renames, func(r [2]string) bool { return r[0] == f.Pair }); {
		case f.Pair == "":
		case i < 0 || renames[i][1] != f.Name:
			t.Errorf("%s is paired with %s", f.Pair, f.Name)
		default:
			found++
		}
	}
	t.Logf("%d of %d", found, len(renames))
	if found < 24 {
		t.Errorf("%d of %d were found", found, len(renames))
	}
}

// TestManyRenamed: of more functions than can be looked at, each with each, it is those that
// cost most.
func TestManyRenamed(t *testing.T) {
	var base, new strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&base, "m;g%d;went%daway 10\n", i, i)
		fmt.Fprintf(&new, "m;h%d;came%dhere 10\n", i, i)
	}
	base.WriteString("m;g;do_mas_munmap;free_pgtables 900\nm;f 30000")
	new.WriteString("m;g;do_vmi_munmap;free_pgtables 910\nm;f 30000")
	r := compareLines(t, base.String(), new.String(), Defaults)
	if got := pairsOf(r); !slices.Contains(got, "do_mas_munmap do_vmi_munmap renamed") {
		t.Errorf("pairs: %d", len(got))
	}
}
