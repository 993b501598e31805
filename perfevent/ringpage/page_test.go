package ringpage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/ringpage"
	"kprof/perfevent/tracetest"
)

var machines = []tracetest.Machine{
	{Order: abi.LittleEndian, Long: 8, Page: 4096},
	{Order: abi.LittleEndian, Long: 4, Page: 4096},
	{Order: abi.BigEndian, Long: 8, Page: 65536},
	{Order: abi.BigEndian, Long: 4, Page: 256},
	{Order: abi.LittleEndian, Long: 8, Page: 512 << 10},
}

// walk returns the events of a page as text.
func walk(t *testing.T, l *ringpage.Layout, page []byte) (events []string, p ringpage.Page, err error) {
	t.Helper()
	err = p.Load(l, page)
	for {
		data, ok := p.Next()
		if !ok {
			return events, p, errors.Join(err, p.Err())
		}
		events = append(events, fmt.Sprintf("%d %s", p.Time, strings.TrimRight(string(data), "\x00")))
	}
}

// TestEntries: each type of entry, in either byte order, with a long of either size.
func TestEntries(t *testing.T) {
	for _, m := range machines {
		l, err := ringpage.ParseHeaderPage(m.HeaderPage(), m.Order)
		if want := ringpage.Default(m.Order, m.Long, m.Page); err != nil || l != want {
			t.Fatalf("%v: %+v, %v, want %+v", m, l, err, want)
		}
		long := strings.Repeat("x", 130)
		page := m.Sub(1<<60+1000, 7,
			m.Event(1, []byte("first")), m.Extend(1<<40+3), m.Event(0, []byte("late")),
			m.Discarded(2, 12), m.LongEvent(4, []byte("abcd")), m.Stamp(1<<41), m.Event(1, []byte("stamped")),
			m.Event(1<<27-1, []byte("z")), m.Rest(), []byte("anything"))
		got, p, err := walk(t, &l, page)
		base := uint64(1<<60 + 1001)
		stamped := uint64(1<<60 | 1<<41)
		want := []string{
			fmt.Sprint(base, " first"), fmt.Sprint(base+1<<40+3, " late"), fmt.Sprint(base+1<<40+9, " abcd"),
			fmt.Sprint(stamped+1, " stamped"), fmt.Sprint(stamped+1<<27, " z"),
		}
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%v: %v\n%s\nwant\n%s", m, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if p.Lost != 7 {
			t.Errorf("%v: %d lost", m, p.Lost)
		}
		if got, p, err := walk(t, &l, m.Sub(5, -1, m.Event(0, []byte(long)))); err != nil || p.Lost != ringpage.LostUnknown || len(got) != 1 || got[0] != "5 "+long {
			t.Errorf("%v: %v, %d lost, %v", m, got, p.Lost, err)
		}
	}
}

// TestStampBackwards: the highest bits of an absolute time are those of the time before, or
// one more where it would be earlier.
func TestStampBackwards(t *testing.T) {
	m := machines[0]
	l := ringpage.Default(m.Order, m.Long, m.Page)
	got, _, err := walk(t, &l, m.Sub(1<<59|1<<58, 0, m.Stamp(5), m.Event(0, []byte("x"))))
	if want := fmt.Sprint(uint64(2<<59|5), " x"); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
}

// TestDamaged: what is cut or says too much gives what is there, and an error.
func TestDamaged(t *testing.T) {
	m := machines[0]
	l := ringpage.Default(m.Order, m.Long, m.Page)
	good := m.Event(1, []byte("good"))
	huge := m.LongEvent(1, make([]byte, 100))
	copy(huge[4:], m.Order.AppendUint32(nil, 1<<31))
	tiny := m.LongEvent(1, []byte("x"))
	copy(tiny[4:], m.Order.AppendUint32(nil, 0))
	for name, page := range map[string][]byte{
		"cut":                     m.Sub(0, 0, good, m.Event(1, make([]byte, 64)))[:16+8+12],
		"a length beyond":         m.Sub(0, 0, good, huge),
		"a length of nothing":     m.Sub(0, 0, good, tiny),
		"half of a time":          m.Sub(0, 0, good, m.Extend(1)[:4]),
		"a discarded one beyond":  m.Sub(0, 0, good, m.Discarded(1, 1<<10)[:8]),
		"more than there is room": append(m.Sub(0, 0)[:8], append(m.Order.AppendUint64(nil, 1<<20), append(good, huge...)...)...),
	} {
		got, _, err := walk(t, &l, page)
		if !errors.Is(err, ringpage.ErrDamaged) || len(got) != 1 || got[0] != "1 good" {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, _, err := walk(t, &l, make([]byte, 15)); !errors.Is(err, ringpage.ErrDamaged) {
		t.Errorf("no header: %v", err)
	}
	if got, _, err := walk(t, &l, make([]byte, 4096)); err != nil || len(got) != 0 {
		t.Errorf("an empty page: %v, %v", got, err)
	}
}

func TestHeaderPage(t *testing.T) {
	for _, text := range []string{"", "field: x", strings.ReplaceAll(machines[0].HeaderPage(), "commit", "other"), strings.ReplaceAll(machines[0].HeaderPage(), "size:8;\tsigned:1", "size:3;\tsigned:1")} {
		if l, err := ringpage.ParseHeaderPage(text, 0); err == nil {
			t.Errorf("%q: %+v", text, l)
		}
	}
}

func TestAllocs(t *testing.T) {
	m := machines[0]
	l := ringpage.Default(m.Order, m.Long, m.Page)
	page := m.Sub(0, 3, m.Event(1, []byte("a")), m.Extend(4), m.LongEvent(1, []byte("b")))
	var p ringpage.Page
	if n := testing.AllocsPerRun(100, func() {
		p.Load(&l, page)
		for {
			if _, ok := p.Next(); !ok {
				break
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations a page", n)
	}
}

// FuzzPage looks for what panics or does not end, and for events beyond the page.
func FuzzPage(f *testing.F) {
	for i, m := range machines {
		f.Add(m.Sub(1<<60, 3, m.Event(1, []byte("one")), m.Extend(1<<30), m.LongEvent(2, []byte("two")), m.Discarded(1, 8), m.Stamp(9)), uint8(i))
	}
	f.Fuzz(func(t *testing.T, page []byte, kind uint8) {
		m := machines[int(kind)%len(machines)]
		l := ringpage.Default(m.Order, m.Long, m.Page)
		var p ringpage.Page
		err := p.Load(&l, page)
		total := 0
		for {
			data, ok := p.Next()
			if !ok {
				break
			}
			total += len(data) + 4
		}
		if total > len(page) {
			t.Fatalf("%d bytes of events in a page of %d", total, len(page))
		}
		if err != nil && p.Err() == nil {
			t.Fatalf("the error %v is lost", err)
		}
	})
}
