package folded

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/convert/table"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

func TestFoldedRead(t *testing.T) {
	in := "bash;main;read 3\n\nbash;main;read 4\r\nbash 2\n;; 5\nx;a b;c 1"
	want := ";; 5\nbash 2\nbash;main;read 7\nx;a b;c 1\n"
	for _, o := range []ReadOptions{{}, {Comm: true}} {
		s, err := Read(strings.NewReader(in), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, folded(t, s, Options{PlainNames: true})); diff != "" {
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
	s, err := Read(strings.NewReader("a 1\nb 0.25\nc 1e3\nd -2.5\ne 0.0004\nf 0.0006\nb .75\n"), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a 1000\nb 1000\nc 1000000\nd -2500\nf 1\n", folded(t, s, Options{})); diff != "" {
		t.Error(diff)
	}
	if u := s.Events[0].Values[0].Unit; u != "thousandths" {
		t.Errorf("unit %q", u)
	}
}

// What Austin writes, and what other tools and hands leave around stacks.
func TestFoldedReadComments(t *testing.T) {
	in := "# austin: 3.7.0\n# interval: 100\n# mode: wall\n\nP1;T1;f.py:main:1 42\nP1;T1;f.py:main:1\t1 \n \t\n#\n// 7 runs of it\n" +
		"# main;x 3\n#x 2\n# x 1\n# duration: 383010\n"
	s, err := Read(strings.NewReader(in), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("# main;x 3\n# x 1\n#x 2\nP1;T1;f.py:main:1 43\n", folded(t, s, Options{PlainNames: true})); diff != "" {
		t.Error(diff)
	}
}

func TestFoldedReadRefuses(t *testing.T) {
	livetest.Errors(t, func(in string) (*stacks.Set, error) { return Read(strings.NewReader(in), ReadOptions{}) }, map[string]string{
		"a;b":                          "line 1: no weight",
		"a 1\nb x\n":                   `line 2: weight "x" is not`,
		"a 1\n\nb ":                    "line 3: no weight",
		"a NaN":                        "is not a number",
		"a Inf":                        "is not a number",
		"a 1e19":                       "too large",
		"a 9223372036854775807\nb 0.5": "too large beside",
		"a 9000000000000000000\na 9000000000000000000":      "line 2: the weights add up to more",
		"a -9000000000000000000\nb 300000000000000000":      "line 2: the weights add up to more",
		strings.Repeat("a 9000000000000000\n", 2) + "b 0.5": "the weights add up to more",
		strings.Repeat(";", 1<<18) + " 1":                   "frames, at most",
		strings.Repeat("x", maxLine+2<<20):                  "longer than 16 MiB",
		"<html><body>Not found</body></html>":               "is not a number",
	})
	if _, err := Read(&brokenReader{}, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "line 2: disk full") {
		t.Errorf("error %v", err)
	}
}

type brokenReader struct{ read bool }

func (b *brokenReader) Read(p []byte) (int, error) {
	if b.read {
		return 0, stackstest.ErrFull
	}
	b.read = true
	return copy(p, "a 1\nb"), nil
}

// A long line, longer than the reader's buffer, is a line like others.
func TestFoldedReadLong(t *testing.T) {
	in := strings.Repeat("x", 3<<20) + ";y 1\nz 2\n"
	s, err := Read(strings.NewReader(in), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := folded(t, s, Options{}); got != in {
		t.Errorf("%d bytes, want %d", len(got), len(in))
	}
}

func TestFoldedReadIsInverse(t *testing.T) {
	for seed := range uint64(50) {
		want := folded(t, stackstest.SetOf(stackstest.OddRows(seed, 500)), Options{})
		for _, o := range []ReadOptions{{}, {Comm: true}} {
			s, err := Read(strings.NewReader(want), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, folded(t, s, Options{PlainNames: true})); diff != "" {
				t.Fatalf("seed %d, %+v: %s", seed, o, diff)
			}
		}
	}
}

func FuzzFoldedRead(f *testing.F) {
	fuzztest.Add(f)
	f.Add("bash;main;read 3\nbash 1.5\n", true)
	f.Add(folded(f, stackstest.SetOf(stackstest.OddRows(1, 20)), Options{}), false)
	f.Add(folded(f, timedSet(), Options{Header: true}), true)
	f.Fuzz(func(t *testing.T, in string, comm bool) {
		defer memtest.Within(t, 32<<20+2000*len(in))()
		s, err := Read(strings.NewReader(in), ReadOptions{Comm: comm})
		if err != nil {
			return
		}
		out := folded(t, s, Options{PlainNames: true})
		again, err := Read(strings.NewReader(out), ReadOptions{Comm: comm})
		if err != nil {
			t.Fatalf("%q, made of %q: %v", out, in, err)
		}
		if diff := cmp.Diff(out, folded(t, again, Options{PlainNames: true})); diff != "" {
			t.Error(diff)
		}
		if err := table.Top(io.Discard, s, table.TopOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkFoldedRead(b *testing.B) {
	text := folded(b, stackstest.Wide(100_000, 30, 50_000), Options{})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(strings.NewReader(text), ReadOptions{Comm: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestReadFlat: of lines that all have one frame these are functions, not the comms of stacks without
// any; one line with two is enough, or a header, for them to be comms.
func TestReadFlat(t *testing.T) {
	for text, want := range map[string]string{
		"b 6\na 5\nb 1\n":        "function b 7, function a 5",
		"a 0.5\nb 1\n":           "function a 500, function b 1000",
		"a 5\nsh;b 6\n":          "comm a 5, function b 6",
		"# a comment\na 5\n":     "function a 5",
		"std::vec<int, int> 3\n": "function std::vec<int, int> 3",
	} {
		s, err := Read(strings.NewReader(text), ReadOptions{Comm: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range s.NumSamples() {
			x := s.Sample(i)
			name, _ := s.Label(x.Labels, "comm")
			line := fmt.Sprint("comm ", name.Str, " ", x.Values[0])
			for _, loc := range s.Stack(x.Stack) {
				line = fmt.Sprint("function ", s.Functions[s.Lines(loc)[0].Function].Name, " ", x.Values[0])
			}
			got = append(got, line)
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
	// A header is of what kprof wrote, where what stands first is a comm.
	in, err := Read(strings.NewReader("sh 5\nls;main 6\n"), ReadOptions{Comm: true})
	if err != nil {
		t.Fatal(err)
	}
	only := stacks.New(in.Events...)
	x := in.Sample(0)
	only.Add(0, only.Intern(nil), only.InternLabels(in.Labels(x.Labels)), x.Values...)
	var b bytes.Buffer
	if err := Write(&b, only, Options{Header: true}); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b, ReadOptions{Comm: true})
	if err != nil {
		t.Fatal(err)
	}
	if l, ok := again.Label(again.Sample(0).Labels, "comm"); !ok || l.Str != "sh" {
		t.Errorf("with a header, the comm is %q", l.Str)
	}
}
