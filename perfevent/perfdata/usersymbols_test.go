package perfdata

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// TestDamagedNames: where it is not known where the names begin, the kernel's symbols at the end
// are not found, and those that were known at the start are. Likewise with the rules.
func TestDamagedNames(t *testing.T) {
	o := abi.LittleEndian
	atStart := blockOf(t, &someKernelSymbols, o)
	later := KernelSymbols{Kallsyms: []byte("ffffffff81000000 T later\n")}
	atEnd := blockOf(t, &later, o)
	for _, tc := range []struct {
		name           string
		atStart        []byte
		damage         string // the magic of the block whose length is wrong
		want           *KernelSymbols
		names, symbols bool // are errors
	}{
		{"names", atStart, userBlock.magic, &someKernelSymbols, true, false},
		{"names alone", nil, userBlock.magic, nil, true, true},
		{"rules", atStart, rulesBlock.magic, &later, false, false},
	} {
		f := tempFile(t)
		w, err := NewWriter(f, oneEvent, Features{}, WriterOptions{Order: o, KernelSymbols: tc.atStart, Rules: []string{"rule"}})
		if err != nil {
			t.Fatal(err)
		}
		w.SetTrailer(atEnd)
		if err := w.Close(Features{}); err != nil {
			t.Fatal(err)
		}
		if err := AppendUserSymbols(f, []byte("names"), o); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		copy(b[bytes.LastIndex(b, []byte(tc.damage))-8:], []byte{0xff, 0xff, 0xff, 0xff})
		r, err := NewReaderAt(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.UserSymbols(); (err != nil) != tc.names {
			t.Errorf("%s: names %q, %v", tc.name, got, err)
		}
		got, err := r.KernelSymbols()
		if got != nil && tc.want == &later {
			got.IOMem = nil // which is from the start
		}
		if d := cmp.Diff(tc.want, got); d != "" || (err != nil) != tc.symbols {
			t.Errorf("%s: %v -want +got\n%s", tc.name, err, d)
		}
	}
}

// TestDamagedKernelSymbols: where the symbols known at the end are damaged, those of the start are
// found, or the other way round, and the damage is told.
func TestDamagedKernelSymbols(t *testing.T) {
	o := abi.LittleEndian
	early := blockOf(t, &someKernelSymbols, o)
	late := KernelSymbols{Kallsyms: []byte("ffffffff81000000 T later\n")}
	trailer := blockOf(t, &late, o)
	long := append(bytes.Clone(trailer[:len(trailer)-blockTail]), 0xff, 0xff, 0xff, 0xff)
	long = append(long, trailer[len(long):]...)
	for _, tt := range []struct {
		name           string
		early, trailer []byte
		want           *KernelSymbols
	}{
		{"at the end", early, damaged(trailer), &someKernelSymbols},
		{"its length", early, long, &someKernelSymbols},
		{"at the start", damaged(early), trailer, &late},
		{"both", damaged(early), damaged(trailer), nil},
		{"the only one", nil, damaged(trailer), nil},
	} {
		f := tempFile(t)
		w, err := NewWriter(f, oneEvent, Features{}, WriterOptions{Order: o, KernelSymbols: tt.early})
		if err != nil {
			t.Fatal(err)
		}
		w.SetTrailer(tt.trailer)
		if err := w.Close(Features{}); err != nil {
			t.Fatal(err)
		}
		r := livetest.Open(t, Open, f.Name())
		got, err := r.KernelSymbols()
		if d := cmp.Diff(tt.want, got); d != "" || err == nil {
			t.Errorf("%s: %v, -want +got\n%s", tt.name, err, d)
		}
	}
}

// TestUserSymbols: names are found behind everything else, and what was the last before
// them is found still, also when they could not be written.
func TestUserSymbols(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		trailer := blockOf(t, &someKernelSymbols, o)
		for _, names := range [][]byte{nil, []byte("names"), bytes.Repeat([]byte("x"), MaxUserSymbols)} {
			f := tempFile(t)
			w, err := NewWriter(f, oneEvent, Features{}, WriterOptions{Order: o})
			if err != nil {
				t.Fatal(err)
			}
			w.SetTrailer(trailer)
			if err := w.Close(Features{}); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			if names != nil {
				if err := AppendUserSymbols(f, names, o); err != nil {
					t.Fatal(err)
				}
			}
			r := livetest.Open(t, Open, f.Name())
			if got, err := r.UserSymbols(); err != nil || !bytes.Equal(got, names) {
				t.Errorf("%v: %d bytes, want %d, %v", o, len(got), len(names), err)
			}
			got, err := r.KernelSymbols()
			if d := cmp.Diff(&someKernelSymbols, got); err != nil || d != "" {
				t.Errorf("%v, kernel symbols: %v -want +got\n%s", o, err, d)
			}
			after, err := os.ReadFile(f.Name())
			if err != nil || !bytes.HasPrefix(after, before) || len(after)%8 != 0 {
				t.Errorf("%v: what was before is changed, or of %d bytes, %v", o, len(after), err)
			}
			if names == nil {
				continue
			}
			// Damage is an error, of names alone.
			livetest.WriteFile(t, f.Name(), append(before, damaged(after[len(before):])...))
			r = livetest.Open(t, Open, f.Name())
			if got, err := r.UserSymbols(); err == nil {
				t.Errorf("%v: %d bytes of damaged names", o, len(got))
			}
			if _, err := r.KernelSymbols(); err != nil {
				t.Errorf("%v: beside damaged names: %v", o, err)
			}
		}
	}
	f := tempFile(t)
	if err := AppendUserSymbols(f, make([]byte, MaxUserSymbols+1), abi.LittleEndian); err == nil {
		t.Error("too many names are written")
	}
}

// damaged returns a block whose payload is none.
func damaged(b []byte) []byte {
	b = bytes.Clone(b)
	clear(b[blockHead : len(b)-blockTail])
	return b
}
