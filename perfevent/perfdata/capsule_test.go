package perfdata

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
)

var someCapsule = Capsule{
	Kallsyms: []byte("ffffffff81000000 T _text\nffffffffc0000000 t init\t[ext4]\n"),
	Modules:  []byte("ext4 1048576 1 - Live 0xffffffffc0000000\n"),
}

func TestCapsuleRoundTrip(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		for _, want := range []Capsule{someCapsule, {Kallsyms: bytes.Repeat([]byte("x"), 1<<20)}, {}} {
			b, err := want.AppendTo(nil, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(b)%8 != 0 {
				t.Errorf("%d bytes, not a multiple of eight", len(b))
			}
			got, err := DecodeCapsule(b, o)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&want, got); d != "" {
				t.Errorf("%v: -want +got\n%s", o, d)
			}
		}
	}
}

// TestCapsuleInFile finds the capsule of a recording: the one before the data,
// also when the recorder was killed, and the one at the end where there is one.
func TestCapsuleInFile(t *testing.T) {
	early, err := someCapsule.AppendTo(nil, abi.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	late := Capsule{Kallsyms: []byte("ffffffff81000000 T _stext\n")}
	trailer, err := late.AppendTo(nil, abi.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	events := []abi.Event{{Name: "cpu-clock", Attr: abi.Attr{Type: abi.TypeSoftware, SampleType: abi.SampleIP}, IDs: []uint64{1}}}
	for _, tt := range []struct {
		name           string
		early, trailer []byte
		closed         bool
		want           *Capsule
	}{
		{"none", nil, nil, true, nil},
		{"before the data", early, nil, true, &someCapsule},
		{"killed", early, trailer, false, &someCapsule},
		{"at the end", early, trailer, true, &late},
		{"only at the end", nil, trailer, true, &late},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := tempFile(t)
			w, err := NewWriter(f, events, Features{}, WriterOptions{Capsule: tt.early})
			if err != nil {
				t.Fatal(err)
			}
			w.SetTrailer(tt.trailer)
			if tt.closed {
				if err := w.Close(Features{}); err != nil {
					t.Fatal(err)
				}
			}
			r, err := Open(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := r.Capsule()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func FuzzDecodeCapsule(f *testing.F) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		b, err := someCapsule.AppendTo(nil, o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, o == abi.BigEndian)
	}
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		o := abi.LittleEndian
		if big {
			o = abi.BigEndian
		}
		c, err := DecodeCapsule(b, o)
		if err != nil {
			return
		}
		b, err = c.AppendTo(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeCapsule(b, o)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(c.Kallsyms, again.Kallsyms) || !bytes.Equal(c.Modules, again.Modules) {
			t.Error("encoded and decoded again it differs")
		}
	})
}
