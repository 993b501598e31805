package render

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFoldedRead(t *testing.T) {
	in := "bash;main;read 3\n\nbash;main;read 4\r\nbash 2\n;; 5\nx;a b;c 1"
	want := ";; 5\nbash 2\nbash;main;read 7\nx;a b;c 1\n"
	for _, o := range []FoldedReadOptions{{}, {Comm: true}} {
		s, err := FoldedRead(strings.NewReader(in), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, folded(t, s, FoldedOptions{PlainNames: true})); diff != "" {
			t.Errorf("%+v: %s", o, diff)
		}
		comm, ok := s.Label(s.Sample(0).Labels, "comm")
		if ok != o.Comm || ok && comm.Str != "bash" {
			t.Errorf("%+v: comm %q, %v", o, comm.Str, ok)
		}
		if got := len(s.Stack(s.Sample(0).Stack)); o.Comm && got != 2 || !o.Comm && got != 3 {
			t.Errorf("%+v: %d frames", o, got)
		}
	}
}

func TestFoldedReadFractions(t *testing.T) {
	s, err := FoldedRead(strings.NewReader("a 1\nb 0.25\nc 1e3\nd -2.5\ne 0.0004\nf 0.0006\nb .75\n"), FoldedReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a 1000\nb 1000\nc 1000000\nd -2500\nf 1\n", folded(t, s, FoldedOptions{})); diff != "" {
		t.Error(diff)
	}
	if u := s.Events[0].Values[0].Unit; u != "thousandths" {
		t.Errorf("unit %q", u)
	}
}

func TestFoldedReadRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"a;b":                                 "line 1: no weight",
		"a 1\nb x\n":                          `line 2: weight "x" is not`,
		"a 1\n\nb ":                           `line 3: weight "" is not`,
		"a NaN":                               "is not a number",
		"a Inf":                               "is not a number",
		"a 1e19":                              "too large",
		"a 9223372036854775807\nb 0.5":        "too large beside",
		strings.Repeat(";", 1<<18) + " 1":     "frames, at most",
		strings.Repeat("x", maxLine+2<<20):    "longer than 16 MiB",
		"<html><body>Not found</body></html>": "is not a number",
	} {
		if _, err := FoldedRead(strings.NewReader(in), FoldedReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want %q", in, err, want)
		}
	}
	if _, err := FoldedRead(&brokenReader{}, FoldedReadOptions{}); err == nil || !strings.Contains(err.Error(), "line 2: disk full") {
		t.Errorf("error %v", err)
	}
}

type brokenReader struct{ read bool }

func (b *brokenReader) Read(p []byte) (int, error) {
	if b.read {
		return 0, errFull
	}
	b.read = true
	return copy(p, "a 1\nb"), nil
}

// A long line, longer than the reader's buffer, is a line like others.
func TestFoldedReadLong(t *testing.T) {
	in := strings.Repeat("x", 3<<20) + ";y 1\nz 2\n"
	s, err := FoldedRead(strings.NewReader(in), FoldedReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := folded(t, s, FoldedOptions{}); got != in {
		t.Errorf("%d bytes, want %d", len(got), len(in))
	}
}

func TestFoldedReadIsInverse(t *testing.T) {
	for seed := range uint64(50) {
		want := folded(t, setOf(oddRows(seed, 500)), FoldedOptions{})
		for _, o := range []FoldedReadOptions{{}, {Comm: true}} {
			s, err := FoldedRead(strings.NewReader(want), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, folded(t, s, FoldedOptions{PlainNames: true})); diff != "" {
				t.Fatalf("seed %d, %+v: %s", seed, o, diff)
			}
		}
	}
}

func FuzzFoldedRead(f *testing.F) {
	f.Add("bash;main;read 3\nbash 1.5\n", true)
	f.Add(folded(f, setOf(oddRows(1, 20)), FoldedOptions{}), false)
	f.Fuzz(func(t *testing.T, in string, comm bool) {
		s, err := FoldedRead(strings.NewReader(in), FoldedReadOptions{Comm: comm})
		if err != nil {
			return
		}
		out := folded(t, s, FoldedOptions{PlainNames: true})
		again, err := FoldedRead(strings.NewReader(out), FoldedReadOptions{Comm: comm})
		if err != nil {
			t.Fatalf("%q, made of %q: %v", out, in, err)
		}
		if diff := cmp.Diff(out, folded(t, again, FoldedOptions{PlainNames: true})); diff != "" {
			t.Error(diff)
		}
		if err := Top(io.Discard, s, TopOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkFoldedRead(b *testing.B) {
	text := folded(b, wide(100_000, 30, 50_000), FoldedOptions{})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FoldedRead(strings.NewReader(text), FoldedReadOptions{Comm: true}); err != nil {
			b.Fatal(err)
		}
	}
}
