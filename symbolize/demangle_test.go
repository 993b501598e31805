package symbolize

import "testing"

func TestDemangle(t *testing.T) {
	// Simple is what perf script 6.1 shows, full what c++filt does.
	for in, want := range map[string]struct{ simple, full string }{
		"main":   {"main", "main"},
		"":       {"", ""},
		"_start": {"_start", "_start"},
		"_Znwm":  {"operator new", "operator new(unsigned long)"},
		"_ZN2ns4TmplIdLi4EE4convIlEET_RKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES3_": {"ns::Tmpl<double, 4>::conv<long>", "long ns::Tmpl<double, 4>::conv<long>(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&, long)"},
		"_ZNK2ns1A2goEi":        {"ns::A::go", "ns::A::go(int) const"},
		"_Z3fooi.part.0":        {"foo", "foo(int) [clone .part.0]"},
		"_ZN12_GLOBAL__N_11fEv": {"(anonymous namespace)::f", "(anonymous namespace)::f()"},
		"_ZN4core3ptr13drop_in_place17h0123456789abcdefE":                                         {"core::ptr::drop_in_place", "core::ptr::drop_in_place"},
		"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE": {"<alloc::string::String as core::fmt::Debug>::fmt", "<alloc::string::String as core::fmt::Debug>::fmt"},
		"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h0123456789abcdefE.llvm.77":         {"std::sys::backtrace::__rust_begin_short_backtrace", "std::sys::backtrace::__rust_begin_short_backtrace"},
		"_ZN4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE":                              {"main::{{closure}}", "main::{{closure}}"},
		"_ZN4main3foo17h0000000000000001E":                                                        {"main::foo::h0000000000000001", "main::foo::h0000000000000001"},
		"_RNvCs1234_7mycrate3foo":                                                                 {"mycrate::foo", "mycrate::foo"},
		"_RNvCs1234_7mycrate3foo.llvm.12AB":                                                       {"mycrate::foo", "mycrate::foo"},
		"_RNvCs1234_7mycrate3foo.cold.1":                                                          {"mycrate::foo.cold.1", "mycrate::foo.cold.1"},
		"_Rbroken":                                                                                {"_Rbroken", "_Rbroken"},
		"_RNvC3foo9bar":                                                                           {"_RNvC3foo9bar", "_RNvC3foo9bar"},
		"_Zbroken":                                                                                {"_Zbroken", "_Zbroken"},
		"camlStdlib__List__map_1234":                                                              {"Stdlib.List.map_1234", "Stdlib.List.map_1234"},
		"camlStdlib__$2b$zz$2":                                                                    {"Stdlib.+$zz$2", "Stdlib.+$zz$2"},
		"camlp4":                                                                                  {"camlp4", "camlp4"},
	} {
		for _, mode := range []struct {
			Demangle
			want string
		}{{DemangleSimple, want.simple}, {DemangleFull, want.full}, {DemangleNone, in}} {
			d := newDemangler(mode.Demangle)
			for range 2 {
				if got := d.name(in); got != mode.want {
					t.Errorf("mode %d of %s: %q, want %q", mode.Demangle, in, got, mode.want)
				}
			}
		}
	}
}
