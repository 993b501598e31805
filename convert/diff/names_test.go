package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

func TestFold(t *testing.T) {
	for _, test := range []struct {
		name, want string
		user       bool
	}{
		{name: "vfs_read", want: "vfs_read"},
		{name: "vfs_read.constprop.0", want: "vfs_read"},
		{name: "vfs_read.isra.1", want: "vfs_read"},
		{name: "vfs_read.part.3", want: "vfs_read"},
		{name: "vfs_read.cold", want: "vfs_read"},
		{name: "vfs_read.cold.12", want: "vfs_read"},
		{name: "vfs_read.llvm.1234567890123456789", want: "vfs_read"},
		{name: "vfs_read.part.0.isra.0.constprop.7.cold", want: "vfs_read"},
		{name: "vfs_read.__uniq.2385.llvm.99", want: "vfs_read"},
		{name: "x.lto_priv.0", want: "x"},
		{name: "ns::f [clone .isra.0] [clone .cold]", want: "ns::f", user: true},
		{name: "core::ptr::drop::h0123456789abcdef", want: "core::ptr::drop", user: true},
		// As llvm-cxxfilt 14 demangles _ZN3foo3barEi.llvm.8274829.cold.1 and others.
		{name: "foo::bar(int) (.llvm.8274829.cold.1)", want: "foo::bar(int)", user: true},
		{name: "core::ptr::drop::h0123456789abcdef (.llvm.123)", want: "core::ptr::drop", user: true},
		{name: "foo::bar(int) (.x y)", want: "foo::bar(int) (.x y)", user: true},
		// Versions: c++filt 2.40 has these of std::__1::vector in LLVM 15 and 18, and of _RINvCsbpgbwL6xSNf_5r_1003hotmEB2_.
		{name: "std::__1::vector<int>::push_back[abi:v15006](int&&) [clone .llvm.123]", want: "std::__1::vector<int>::push_back(int&&)", user: true},
		{name: "std::__1::f[abi:ne180100]<g[abi:nqe210101]>()", want: "std::__1::f<g>()", user: true},
		{name: "std::f[abi:cxx11](int)", want: "std::f[abi:cxx11](int)", user: true},
		{name: "r_100[84de957e824ecbbf]::hot::<core[6817f741e54dfd]::ptr>", want: "r_100::hot::<core::ptr>", user: true},
		{name: "main.Map[deadbeef00]", want: "main.Map[deadbeef00]", user: true},
		{name: "a[123]::b", want: "a[123]::b", user: true},
		{name: "_RINvCsbpgbwL6xSNf_5r_1003hotmEB2_", want: "_RINvC5r_1003hotmEB2_"},
		{name: "__pfx__RNvNtCs1GtwyVVVJ4z_6kernel3foo.cold", want: "_RNvNtC6kernel3foo"},
		{name: "_RNvC4Cs_1f", want: "_RNvC4Cs_1f"},
		{name: "_ZN4core3ptr4drop17h0123456789abcdefE", want: "_ZN4core3ptr4dropE", user: true},
		{name: "_ZN4core3ptr4drop17h0123456789abcdefE.llvm.123", want: "_ZN4core3ptr4dropE", user: true},
		{name: "_ZN4core3ptr4drop17hxxxx456789abcdefE", want: "_ZN4core3ptr4drop17hxxxx456789abcdefE", user: true},
		// What only looks like it.
		{name: "f.12", want: "f.12"},
		{name: "f12", want: "f12"},
		{name: "chain.warm", want: "chain"},
		{name: "f.localalias", want: "f"},
		{name: "f.cfi_jt", want: "f"},
		// llvm-project pull request 105742 has these of a kernel; clang -fbasic-block-sections=all the last.
		{name: "process_bit0.argelim", want: "process_bit0"},
		{name: "pmd_trans_huge_lock.argprom", want: "pmd_trans_huge_lock"},
		{name: "set_track_update.argelim.argprom", want: "set_track_update"},
		{name: "f.retelim.llvm.99", want: "f"},
		{name: "foo.__part.4", want: "foo"},
		{name: "foo.__part", want: "foo.__part"},
		{name: "f.cold12", want: "f.cold12"},
		{name: "recold", want: "recold"},
		{name: ".cold", want: ".cold"},
		{name: "main.part", want: "main.part"},
		{name: "main.hot", want: "main.hot"},
		{name: "main.unlikely", want: "main.unlikely"},
		{name: "inner.0.cold", want: "inner.0"}, // gcc numbers functions within functions
		{name: "apart.partial", want: "apart.partial"},
		{name: "[cold]", want: "[cold]"},
		// Functions and methods of languages in which a dot is before a name.
		{name: "java/util/HashMap.clone", want: "java/util/HashMap.clone", user: true},
		{name: "java/util/HashMap.cold", want: "java/util/HashMap.cold", user: true},
		{name: "java.util.HashMap.cold", want: "java.util.HashMap.cold", user: true},
		{name: "java.util.HashMap.cold.part.0", want: "java.util.HashMap.cold", user: true},
		{name: "main.(*T).cold", want: "main.(*T).cold", user: true},
		{name: "example.org/x/y.cold", want: "example.org/x/y.cold", user: true},
		{name: "JS:~x.cold", want: "JS:~x.cold", user: true},
		{name: "core::ptr::drop.cold", want: "core::ptr::drop", user: true},
		{name: "[libc.so.6]", want: "[libc.so.6]"},
		{name: "a::h0123", want: "a::h0123"},

		{name: "__x64_sys_read", want: "sys_read"},
		{name: "__ia32_sys_read", want: "sys_read"},
		{name: "__arm64_sys_read", want: "sys_read"},
		{name: "__se_sys_read", want: "sys_read"},
		{name: "__do_sys_read", want: "sys_read"},
		{name: "__do_sys_read.isra.0", want: "sys_read"},
		{name: "ksys_read", want: "sys_read"},
		{name: "SyS_read", want: "sys_read"},
		{name: "__arm64_compat_sys_ioctl", want: "compat_sys_ioctl"},
		{name: "__se_sys_", want: "__se_sys_"},
		{name: "ksys_read", want: "ksys_read", user: true},
		{name: "entry_SYSCALL_64_after_hwframe", want: "entry_SYSCALL_64"},
		{name: "x64_sys_call", want: "do_syscall_64"},
		{name: "el0_svc_common.constprop.0", want: "el0_svc"},
		{name: "el0t_64_sync_handler", want: "el0_sync"},
		{name: "asm_exc_page_fault", want: "exc_page_fault"},
		{name: "asm_sysvec_apic_timer_interrupt", want: "sysvec_apic_timer_interrupt"},
		{name: "__pfx_vfs_read", want: "vfs_read"},
		{name: "__cfi_vfs_read", want: "vfs_read"},
		{name: "__pfx___x64_sys_read", want: "sys_read"},
		{name: "__x64_sys_read_[k]", want: "sys_read"},
		{name: "bpf_prog_6deef7357e7b4530_sd_fw_egress", want: "bpf_prog_sd_fw_egress"},
		{name: "bpf_prog_6deef7357e7b4530", want: "bpf_prog_6deef7357e7b4530"}, // it has no name
		{name: "bpf_prog_6deef7357e7b4530_", want: "bpf_prog_6deef7357e7b4530_"},
		{name: "bpf_prog_run_array_cg", want: "bpf_prog_run_array_cg"},
		{name: "bpf_prog_6deef7357e7b4530_x", want: "bpf_prog_6deef7357e7b4530_x", user: true},
		{name: "kmem_cache_alloc_noprof.isra.0", want: "kmem_cache_alloc"},
		{name: "_noprof", want: "_noprof"},
		{name: "copy_user_enhanced_fast_string", want: "copy_user_generic"},
		{name: "rep_movs_alternative", want: "copy_user_generic"},
		{name: "memset_orig", want: "memset"},
		{name: "__memset", want: "__memset", user: true},
	} {
		got, _ := new(Names).Fold(test.name, test.user)
		if got != test.want {
			t.Errorf("%s (user %v): %s, want %s", test.name, test.user, got, test.want)
		}
		if got, rules := (&Names{Exact: true}).Fold(test.name, test.user); got != test.name || rules != nil {
			t.Errorf("%s: exactly %s, %v", test.name, got, rules)
		}
	}
}

// TestFoldOf: what ends like a part is a function of its own where others are called so too, but
// not where compilers called these.
func TestFoldOf(t *testing.T) {
	base := profile(t, "base", "main.main;main.cold 1\nserve;serve.part.0 1\nserve._omp_fn.0;serve.isra.0.cold 1")
	n := Names{}.Of([2][]Run{{base}, {profile(t, "new", "Cache.cold;Cache.get 1")}})
	for name, want := range map[string]string{
		"main.cold": "main.cold", "main.cold_[k]": "main.cold", "main.cold.1": "main", "Cache.cold": "Cache.cold",
		"serve.cold": "serve", "serve.isra.0.cold": "serve", "other.cold": "other",
	} {
		if got, _ := n.Fold(name, true); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got, _ := new(Names).Fold("main.cold", false); got != "main" {
		t.Errorf("where nothing else is known: %s", got)
	}
}

func TestFoldTellsRules(t *testing.T) {
	a, err := ReadAliases(strings.NewReader("sys_read => read\n"))
	if err != nil {
		t.Fatal(err)
	}
	n := Names{Aliases: a}
	got, rules := n.Fold("__do_sys_read.isra.0_[k]", false)
	if diff := cmp.Diff([]any{"read", []Rule{RuleMark, RuleSuffix, RuleSyscall, RuleAlias}}, []any{got, rules}); diff != "" {
		t.Error(diff)
	}
	if texts := Rules(); len(texts) != int(numRules) || slices.ContainsFunc(texts, func(r RuleText) bool { return r.Name == "" || r.Text == "" }) {
		t.Errorf("%+v", texts)
	}
}

func TestReadAliases(t *testing.T) {
	a, err := ReadAliases(strings.NewReader("# comment\n\n a  =>b \nb => std::map<int, x>::y(int)\r\nc=>b\nc => b"))
	if err != nil {
		t.Fatal(err)
	}
	const y = "std::map<int, x>::y(int)"
	want := map[string]string{"a": y, "b": y, "c": y}
	if diff := cmp.Diff(want, a.to); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"a => b\nb => c\nc => a\n": "line 1: a loop: a => b => c => a",
		"x => c\nc => b\nb => c\n": "line 2: a loop: c => b => c",
		"a => a":                   "line 1: a is an alias of itself",
		"a => b\na => c":           "line 2: a is an alias of c, but of b in line 1",
		"a b":                      `line 1: "a b" is not of the form NAME => OTHER`,
		"\na =>":                   `line 2: "a =>" is not of the form NAME => OTHER`,
		"=> b":                     `line 1: "=> b" is not of the form NAME => OTHER`,
		"a => b => c":              `line 1: "a => b => c" is not of the form NAME => OTHER`,
		"a => b\n" + strings.Repeat("x", maxAliasLine+1): fmt.Sprintf("line 2 is longer than %d bytes", maxAliasLine),
	} {
		if _, err := ReadAliases(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// FuzzReadAliases: a file is refused, or no name leads to another alias.
func FuzzReadAliases(f *testing.F) {
	fuzztest.Add(f)
	f.Add("a => b\nb => c\n# x\n")
	f.Add("a => b\nb => a\n")
	f.Add("x=>y=>z")
	f.Fuzz(func(t *testing.T, text string) {
		defer memtest.Within(t, 1<<20+500*len(text))()
		a, err := ReadAliases(strings.NewReader(text))
		if err != nil {
			return
		}
		for from, to := range a.to {
			if from == "" || to == "" || a.of(to) != to || !strings.Contains(text, from) || !strings.Contains(text, to) {
				t.Errorf("%q => %q => %q", from, to, a.of(to))
			}
		}
	})
}

// FuzzFold: a name stays one, and a rule is told exactly when something changed.
func FuzzFold(f *testing.F) {
	fuzztest.Add(f)
	f.Add("__x64_sys_read.isra.0.cold_[k]", false)
	f.Add("a [clone .b] [clone .c]", true)
	f.Add(".constprop.0.", false)
	f.Add("::h0123456789abcdef", false)
	f.Fuzz(func(t *testing.T, name string, user bool) {
		defer memtest.Within(t, 1<<20+500*len(name))()
		var n Names
		got, rules := n.Fold(name, user)
		if name != "" && got == "" || (got != name) != (len(rules) > 0) {
			t.Errorf("%q: %q by %v", name, got, rules)
		}
		if again, _ := n.Fold(name, user); again != got {
			t.Errorf("%q: %q, then %q", name, got, again)
		}
	})
}
