package symbolize

import (
	"strings"
	"testing"
	"unicode/utf8"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// TestConvertRust has names made by rustc 1.95, and what its own demangler
// (rustc-demangle, "{:#}") shows of them.
func TestConvertRust(t *testing.T) {
	livetest.Table(t, func(name string) string {
		got, ok := convertRust(name)
		if !ok {
			t.Errorf("%s is not taken for a name", name)
		}
		return got
	}, map[string]string{
		// Empty names one after the other.
		"_RNCNCNCNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal00s_0B9_":                                                                 "std::rt::lang_start_internal::{closure#0}::{closure#0}::{closure#1}",
		"_RNCINvNtNtCsjrHSEGnQ3l9_3std6thread7current17with_current_nameNCNCNvNtB8_9panicking12default_hook00uE0B8_":                     "std::thread::current::with_current_name::<std::panicking::default_hook::{closure#0}::{closure#0}, ()>::{closure#0}",
		"_RNvNCNKNvNtNtCsjrHSEGnQ3l9_3std2io5stdio14OUTPUT_CAPTURE0023___RUST_STD_INTERNAL_VAL":                                          "std::io::stdio::OUTPUT_CAPTURE::{K#0}::{closure#0}::__RUST_STD_INTERNAL_VAL",
		"_RNvNCNvNtNtCsjrHSEGnQ3l9_3std6thread9lifecycle15spawn_unchecked03MIN":                                                          "std::thread::lifecycle::spawn_unchecked::{closure#0}::MIN",
		"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_": "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::<core::slice::memchr::memrchr::{closure#1}>::{closure#0}",
		// Types.
		"_RNvMs_NtCsl0gHu2WDNTj_3big5innerINtB4_3ArrKj5_Kc3bb_Kb1_E1nB6_":   "<big::inner::Arr<5, '\u03bb', true>>::n",
		"_RINvC3foo3barFUK6systemhEuE":                                      "foo::bar::<unsafe extern \"system\" fn(u8)>",
		"_RINvC3foo3barFG_RL0_hEuE":                                         "foo::bar::<for<'a> fn(&'a u8)>",
		"_RINvC3foo3barDG_INtC3foo2FnTRL0_hEEp6OutputuEL_E":                 "foo::bar::<dyn for<'a> foo::Fn<(&'a u8,), Output = ()>>",
		"_RINvC3foo3barL_E":                                                 "foo::bar::<'_>",
		"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y": "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da\u10d8_\u10e1\u10d0\u10d3\u10d8\u10da\u10d8",
		"_RNSC3foo4shim":                                                    "foo::{shim:shim#0}",
		"_RNvC6_123foo3bar":                                                 "123foo::bar",
		// Constants.
		"_RMCs4fqI2P2rA04_13const_genericINtB0_8UnsignedKhb_E": "<const_generic::Unsigned<11>>",
		"_RINvC3foo3barKRe616263_E":                            "foo::bar::<\"abc\">",
		"_RINvC3foo3barKAtf_t6_EE":                             "foo::bar::<{[15, 6]}>",
		"_RINvC3foo3barKTh1_h2_EE":                             "foo::bar::<{(1, 2)}>",
		"_RINvC3foo3barKVNtC3foo3BarS3bazh5_3quxb1_EE":         "foo::bar::<{foo::Bar { baz: 5, qux: true }}>",
		"_RINvC3foo3barKc27_E":                                 "foo::bar::<'\\''>",
		"_RINvC3foo3barKca_E":                                  "foo::bar::<'\\n'>",
		"_RINvC3foo3barKln80_E":                                "foo::bar::<-128>",
		"_RINvC3foo3barKoffffffffffffffffffff_E":               "foo::bar::<0xffffffffffffffffffff>",
	})
	for _, name := range []string{
		"", "_R", "_R0NvC3foo3bar", "_RNvC3foo", "_RNvC3foo4bar", "_RNvC3foo3barX", "_RNvC3fo\xff3bar", "_RNvB_3foo",
		"_RINvC3foo3barRLs_hE", "_RINvC3foo3barKc110000_E", "_RINvC3foo3barKb2_E", "_RNCNvC3foo3baru0",
	} {
		if got, ok := convertRust(name); ok {
			t.Errorf("%q taken for %q", name, got)
		}
	}
}

func FuzzConvertRust(f *testing.F) {
	fuzztest.Add(f)
	for _, name := range []string{
		"_RNCNCNCNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal00s_0B9_", "_RINvC3foo3barKVNtC3foo3BarS3bazh5_3quxb1_EE",
		"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y", "_RINvC3foo3barDG_INtC3foo2FnTRL0_hEEp6OutputuEL_E",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		defer memtest.Within(t, 1<<20+500*len(name))()
		got, ok := convertRust(name)
		if ok && (!utf8.ValidString(got) && utf8.ValidString(name) || len(got) > 1<<maxReadable+len(name)) {
			t.Errorf("%q is %q", name, got)
		}
		if !ok && strings.HasPrefix(name, "_R") && newDemangler(DemangleFull).convert(name) != name {
			t.Errorf("%q is no name and yet converted", name)
		}
	})
}
