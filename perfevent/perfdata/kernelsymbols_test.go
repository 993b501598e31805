package perfdata

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

var someKernelSymbols = KernelSymbols{
	Kallsyms: []byte("ffffffff81000000 T _text\nffffffffc0000000 t init\t[ext4]\n"),
	Modules:  []byte("ext4 1048576 1 - Live 0xffffffffc0000000\n"),
}

var oneEvent = []abi.Event{{Name: "cpu-clock", Attr: abi.Attr{Type: abi.TypeSoftware, SampleType: abi.SampleIP}, IDs: []uint64{1}}}

// blockOf is kernel symbols as they are in a file.
func blockOf(t testing.TB, k *KernelSymbols, o abi.Order) []byte {
	t.Helper()
	b, err := k.AppendTo(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestKernelSymbolsRoundTrip(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		for _, want := range []KernelSymbols{someKernelSymbols, {Kallsyms: bytes.Repeat([]byte("x"), 1<<20)}, {}} {
			b := blockOf(t, &want, o)
			if len(b)%8 != 0 {
				t.Errorf("%d bytes, not a multiple of eight", len(b))
			}
			got, err := DecodeKernelSymbols(b, o)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&want, got); d != "" {
				t.Errorf("%v: -want +got\n%s", o, d)
			}
		}
	}
}

// TestKernelSymbolsInFile finds the kernel symbols of a recording: those before the data,
// also when the recorder was killed, and the one at the end where there is one.
func TestKernelSymbolsInFile(t *testing.T) {
	early := blockOf(t, &someKernelSymbols, abi.LittleEndian)
	late := KernelSymbols{Kallsyms: []byte("ffffffff81000000 T _stext\n")}
	trailer := blockOf(t, &late, abi.LittleEndian)
	with := someKernelSymbols
	with.IOMem = []byte("08000000-0800ffff : gic\n")
	registers := blockOf(t, &with, abi.LittleEndian)
	for _, tt := range []struct {
		name           string
		early, trailer []byte
		closed         bool
		want           *KernelSymbols
	}{
		{"none", nil, nil, true, nil},
		{"before the data", early, nil, true, &someKernelSymbols},
		{"killed", early, trailer, false, &someKernelSymbols},
		{"at the end", early, trailer, true, &late},
		{"only at the end", nil, trailer, true, &late},
		{"registers at the start", registers, trailer, true, &KernelSymbols{Kallsyms: late.Kallsyms, IOMem: []byte("08000000-0800ffff : gic\n")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := tempFile(t)
			w, err := NewWriter(f, oneEvent, Features{}, WriterOptions{KernelSymbols: tt.early})
			if err != nil {
				t.Fatal(err)
			}
			w.SetTrailer(tt.trailer)
			if tt.closed {
				if err := w.Close(Features{}); err != nil {
					t.Fatal(err)
				}
			}
			r := livetest.Open(t, Open, f.Name())
			got, err := r.KernelSymbols()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func FuzzDecodeKernelSymbols(f *testing.F) {
	fuzztest.Add(f)
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		b := blockOf(f, &someKernelSymbols, o)
		f.Add(b, o == abi.BigEndian)
	}
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		defer memtest.Within(t, 96<<20+500*len(b))()
		o := abi.LittleEndian
		if big {
			o = abi.BigEndian
		}
		c, err := DecodeKernelSymbols(b, o)
		if err != nil {
			return
		}
		b, err = c.AppendTo(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeKernelSymbols(b, o)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.Kallsyms, again.Kallsyms) || !bytes.Equal(c.Modules, again.Modules) {
			t.Error("encoded and decoded again it differs")
		}
	})
}
