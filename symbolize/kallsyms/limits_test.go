package kallsyms

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"kprof/perfevent/livetest"
)

// TestNew: symbols that come one by one make the table that their text makes, but for
// names that no table holds.
func TestNew(t *testing.T) {
	long := strings.Repeat("x", maxName)
	table, err := New(slices.Values([]RawSymbol{
		{0x3000, 'D', "data"}, {0x1000, 'T', "_text"}, {0x2000, 't', long}, {0x1800, 't', ""}, {0x1900, 'T', long + "x"},
		{0x1f00, 'W', "weak"}, {0x1800, 'A', "absolute"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := dump(table), fmt.Sprintf("1000-1f00 _text\n1f00-2000 weak\n2000-3000 %s\n", long); got != want {
		t.Errorf("%.100q, want %.100q", got, want)
	}
	if text, stext := table.Text(); text != 0x1000 || stext != 0 {
		t.Errorf("_text %#x, _stext %#x", text, stext)
	}
	if _, err := New(slices.Values([]RawSymbol{{1, 'D', "data"}})); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v, want %v", err, ErrEmpty)
	}
	if _, err := New(slices.Values([]RawSymbol{{0, 'T', "hidden"}})); !errors.Is(err, ErrRestricted) {
		t.Errorf("%v, want %v", err, ErrRestricted)
	}
}

// TestManyModules: there are numbers for 65,535 modules, and what is of more is a bad line.
func TestManyModules(t *testing.T) {
	var b strings.Builder
	for i := range maxModules {
		fmt.Fprintf(&b, "%x t f\t[m%d]\n", 0x1000*(i+1), i)
	}
	table := mustParse(t, b.String()+fmt.Sprintf("%x t again\t[m0]\n", 0x1000*(maxModules+1)))
	for addr, module := range map[uint64]string{0x1000: "m0", 0x1000 * maxModules: fmt.Sprint("m", maxModules-1), 0x1000 * (maxModules + 1): "m0"} {
		if sym, ok := table.Lookup(addr); !ok || sym.Module != module {
			t.Errorf("%#x is of %q, want %q", addr, sym.Module, module)
		}
	}
	var format *FormatError
	if _, err := Parse(strings.NewReader(b.String() + "1 t over\t[more]\n")); !errors.As(err, &format) || format.Offset != int64(b.Len()) {
		t.Errorf("%v, want a bad line at byte %d", err, b.Len())
	}
}

// TestWhyNothing: what ended the input is told rather than that it was empty.
func TestWhyNothing(t *testing.T) {
	broken := errors.New("broken")
	for _, in := range []string{"", "1000 D data\n"} {
		_, err := Parse(iotest.DataErrReader(&thenError{strings.NewReader(in), broken}))
		if !errors.Is(err, broken) || errors.Is(err, ErrEmpty) {
			t.Errorf("Parse(%q): %v, want %v", in, err, broken)
		}
	}
}

// thenError ends with an error.
type thenError struct {
	*strings.Reader
	err error
}

func (r *thenError) Read(b []byte) (int, error) {
	if r.Len() == 0 {
		return 0, r.err
	}
	return r.Reader.Read(b)
}

// TestEnds: where functions end that no function of the same file follows.
func TestEnds(t *testing.T) {
	livetest.Table(t, func(in string) string { return dump(mustParse(t, in)) }, map[string]string{
		// The last page of all ends where addresses do.
		"fffffffffffff000 T last\n":      "fffffffffffff000-ffffffffffffffff last\n",
		"ffffffffffffef00 T last\n":      "ffffffffffffef00-ffffffffffffffff last\n",
		"ffffffffffffe000 T last\n":      "ffffffffffffe000-fffffffffffff000 last\n",
		"1000 T a\n1fff T b\n":           "1000-1fff a\n1fff-3000 b\n",
		"1000 T a\n1001 T b\n":           "1000-1001 a\n1001-3000 b\n",
		"1000 T a\n2000 t b\t[m]\n":      "1000-2000 a\n2000-3000 b [m]\n",
		"1000 T a\n2001 t b\t[m]\n":      "1000-2000 a\n2001-4000 b [m]\n",
		"1000 T a\n1fff t b\t[m]\n":      "1000-1fff a\n1fff-3000 b [m]\n",
		"1000 T a\n2000 D x\n9000 D y\n": "1000-2000 a\n",
	})
	// What is unknown is one entry, however many symbols it has.
	if n := len(mustParse(t, "1000 T a\n2000 D x\n3000 B y\n4000 b z\n5000 T b\n").entries); n != 4 {
		t.Errorf("%d entries, want those of a, of what is after it, of b, and of what is after that", n)
	}
}

// TestWithin: functions that start in a range, without the gaps between them, until no more are wanted.
func TestWithin(t *testing.T) {
	table := mustParse(t, "1000 T a\n1010 T b\n2000 D data\n3000 t c\t[m]\n3010 t d\t[m]\n")
	for _, c := range []struct {
		start, limit uint64
		want         string
	}{
		{0, ^uint64(0), "a b c d"},
		{0x1000, 0x3010, "a b c"}, // a start is in it, a limit is not
		{0x1001, 0x3011, "b c d"},
		{0x1011, 0x3000, ""},
		{0x3010, 0x3010, ""},
		{0x9000, 0xa000, ""},
	} {
		var got []string
		for s := range table.Within(c.start, c.limit) {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("from %#x to %#x: %q, want %s", c.start, c.limit, got, c.want)
		}
	}
	for s := range table.Within(0x1000, 0x4000) {
		if s.Name != "a" || s.End != 0x1010 {
			t.Errorf("first %+v", s)
		}
		break
	}
}
