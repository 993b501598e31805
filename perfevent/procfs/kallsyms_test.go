package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// list is the symbols of text, one a line, and the first error.
func list(text string) (string, error) {
	var b strings.Builder
	err := ReadSymbols(strings.NewReader(text), func(s *Symbol) bool {
		fmt.Fprintf(&b, "%x %c %q", s.Addr, s.Type, s.Name)
		if s.Module != nil {
			fmt.Fprintf(&b, " of %q", s.Module)
		}
		if s.Function() {
			b.WriteString(" function")
		}
		if s.Loadable() {
			b.WriteString(" loadable")
		}
		b.WriteByte('\n')
		return true
	})
	return b.String(), err
}

func TestReadSymbols(t *testing.T) {
	for _, test := range []struct{ line, want string }{ // want is empty for a malformed line
		{"ffffffff81000000 T _text", `ffffffff81000000 T "_text" function`},
		{"0000000000000000 A fixed_percpu_data", `0 A "fixed_percpu_data"`},
		{"0000000000014c40 a this_cpu_off", `14c40 a "this_cpu_off"`},
		{"0000000000000000 t hidden\t[fuse]", `0 t "hidden" of "fuse" function loadable`},
		{"ffffffffc0000000 W weak\t[a-b_c]", `ffffffffc0000000 W "weak" of "a-b_c" function loadable`},
		{"ffffffffc0000000 t bpf_prog_6deef7357e7b4530_sd_fw_egress\t[bpf]", `ffffffffc0000000 t "bpf_prog_6deef7357e7b4530_sd_fw_egress" of "bpf" function`},
		{"ffffffffc0000000 t ftrace_trampoline\t[__builtin__ftrace]", `ffffffffc0000000 t "ftrace_trampoline" of "__builtin__ftrace" function`},
		{"ffffffffc0000000 t kprobe_insn_page\t[__builtin__kprobes]", `ffffffffc0000000 t "kprobe_insn_page" of "__builtin__kprobes" function`},
		{"ffffffffc0000000 t f [fuse]", `ffffffffc0000000 t "f" of "fuse" function loadable`},
		{"ffffffffc0000000 t f \t [fuse] \t\r", `ffffffffc0000000 t "f" of "fuse" function loadable`},
		{"ffffffffc0000000 t f\t[two words]", `ffffffffc0000000 t "f" of "two words" function loadable`},
		{"ffffffffc0000000 t f\r", `ffffffffc0000000 t "f" function`},
		{"ffffffffc0000000 t f[0]", `ffffffffc0000000 t "f[0]" function`},
		{"1 t $x", `1 t "$x" function`},
		{"FFFF D data", `ffff D "data"`},
		{"1 ? x", `1 ? "x"`},

		{"", ""}, {" ", ""}, {"x", ""}, {"1", ""}, {"1 t", ""}, {"1 t ", ""}, {"1  t f", ""}, {"1 tt f", ""},
		{"g t f", ""}, {"-1 t f", ""}, {"0x1 t f", ""}, {"11112222333344445 t f", ""}, {"                 U f", ""},
		{"1 t a b", ""}, {"1 t f\tfuse", ""}, {"1 t f\t[]", ""}, {"1 t f\t[fuse", ""}, {"1 t \t[fuse]", ""}, {"1 t [fuse]", `1 t "[fuse]" function`},
		{"(ptrval) t f", ""},
	} {
		got, err := list("1000 T before\n" + test.line + "\n2000 T after\n")
		want := "1000 T \"before\" function\n"
		if test.want != "" {
			want += test.want + "\n"
		}
		want += "2000 T \"after\" function\n"
		var format *FormatError
		if bad := errors.As(err, &format); got != want || bad != (test.want == "") || err != nil && !bad || bad && format.Offset != 14 {
			t.Errorf("%q:\n%swant\n%serror %v", test.line, got, want, err)
		}
		if last, _ := list(test.line); test.want != "" && last != test.want+"\n" {
			t.Errorf("%q without a newline: %s", test.line, last)
		}
	}
}

// TestReadSymbolsLine: what is written again is what was read.
func TestReadSymbolsLine(t *testing.T) {
	text := "1000 T a\n\nbad\n2000 t b\t[m]\n3000 D c"
	var kept []byte
	var offsets []int64
	err := ReadSymbols(iotest.OneByteReader(strings.NewReader(text)), func(s *Symbol) bool {
		kept = append(kept, s.Line...)
		offsets = append(offsets, s.Offset)
		return len(offsets) < 3
	})
	if want := "1000 T a\n2000 t b\t[m]\n3000 D c"; string(kept) != want || fmt.Sprint(offsets) != "[0 14 27]" {
		t.Errorf("%q at %v, want %q", kept, offsets, want)
	}
	if want := "malformed kallsyms line at byte 9"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	n := 0
	if err := ReadSymbols(strings.NewReader(text), func(*Symbol) bool { n++; return false }); n != 1 || err != nil {
		t.Errorf("%d symbols and %v after the first", n, err)
	}
	broken := errors.New("broken")
	if err := ReadSymbols(iotest.ErrReader(broken), func(*Symbol) bool { return true }); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

func TestReadSymbolsLongLine(t *testing.T) {
	got, err := list("1000 T a\n2000 t " + strings.Repeat("x", 3*lineSize) + "\n3000 T b\n")
	if want := "1000 T \"a\" function\n3000 T \"b\" function\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var format *FormatError
	if !errors.As(err, &format) || format.Offset != 9 {
		t.Error(err)
	}
}

// TestReadSymbolsAllocatesNothing: nothing for a line.
func TestReadSymbolsAllocatesNothing(t *testing.T) {
	allocs := func(lines int) float64 {
		text := bytes.Repeat([]byte("ffffffffc0000000 t f\t[m]\n"), lines)
		return testing.AllocsPerRun(10, func() {
			if err := ReadSymbols(bytes.NewReader(text), func(*Symbol) bool { return true }); err != nil {
				t.Error(err)
			}
		})
	}
	if few, many := allocs(1), allocs(10_000); many > few {
		t.Errorf("%v allocations for 10,000 lines, %v for one", many, few)
	}
}

// TestOwnSymbols reads this machine's.
func TestOwnSymbols(t *testing.T) {
	livetest.UseMachine(t)
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	functions := 0
	err = ReadSymbols(f, func(s *Symbol) bool {
		if s.Function() {
			functions++
		}
		return true
	})
	if err != nil || functions < 1000 {
		t.Errorf("%d functions, %v", functions, err)
	}
}

func TestModuleName(t *testing.T) {
	livetest.Table(t, ModuleName, map[string]string{
		"[ext4]": "ext4", "[snd-hda]": "snd_hda", "/lib/modules/6.1/kernel/fs/fat/vfat.ko.xz": "vfat",
		"/lib/a/nf-nat.ko": "nf_nat", "vfat.ko": "vfat", "/bin/sh": "", "": "", "[../../etc]": "", "[a/b]": "",
	})
}

func FuzzReadSymbols(f *testing.F) {
	f.Add([]byte("ffffffff81000000 T _text\nffffffff81000040 t a\nffffffffc0000000 t b\t[m]\n0 A c\nff D d"))
	f.Add([]byte("1 t f [fuse]\n1 t f\t[two words] \r\n\n2 t bpf_prog_x\t[bpf]\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		defer memtest.Within(t, 1<<20+10*len(in))()
		lines, last := 0, int64(-1)
		err := ReadSymbols(bytes.NewReader(in), func(s *Symbol) bool {
			if lines++; len(s.Name) == 0 || bytes.ContainsAny(s.Name, " \t\n") || s.Module != nil && len(s.Module) == 0 {
				t.Fatalf("%q: name %q, module %q", s.Line, s.Name, s.Module)
			}
			if s.Offset <= last || !bytes.HasPrefix(in[s.Offset:], s.Line) || bytes.Count(s.Line, []byte("\n")) > 1 {
				t.Fatalf("line %q at byte %d, after %d", s.Line, s.Offset, last)
			}
			last = s.Offset
			return true
		})
		all := bytes.Count(in, []byte("\n"))
		if len(in) > 0 && in[len(in)-1] != '\n' {
			all++
		}
		if (err == nil) != (lines == all) {
			t.Fatalf("%d symbols in %d lines, error %v", lines, all, err)
		}
	})
}

func BenchmarkReadSymbols(b *testing.B) {
	var text bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&text, "%016x t function_number_%d\n", 0xffffffff81000000+uint64(i)*64, i)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if err := ReadSymbols(bytes.NewReader(text.Bytes()), func(*Symbol) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}
