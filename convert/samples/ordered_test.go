package samples

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// told is a sample with all that its stage adds to it.
func told(s *Sample, comm string) string {
	return fmt.Sprintf("%d %s %d/%d %s %d %x", s.Time, comm, s.PID, s.TID, s.Event.Name, s.Counts[0].Period, s.Callchain)
}

// TestOrdered: in the order of time come the samples that come in that of the file,
// sorted, each with the same state; from a file and from a stream, in little memory too.
func TestOrdered(t *testing.T) {
	for _, name := range []string{"demo.data", "recordings/armv7.data", "recordings/s390x.data", "recordings/ppc64le.data"} {
		for _, memory := range []int{0, 1024} {
			type row struct {
				time uint64
				text string
			}
			scan := func() *File {
				r := perftext.Open(t, "../../testdata/"+name)
				f, err := Scan(t.Context(), r, Options{})
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			var want, file, stream []row
			f := scan()
			if err := f.Each(t.Context(), func(s *Sample) {
				want = append(want, row{s.Time, told(s, f.Timeline.Comm(s.State.Name, s.TID))})
			}); err != nil {
				t.Fatal(err)
			}
			slices.SortStableFunc(want, func(a, b row) int { return cmp.Compare(a.time, b.time) })
			f = scan()
			st, err := f.EachOrdered(t.Context(), Ordered{Memory: memory, Emit: func(s *Sample) error {
				file = append(file, row{s.Time, told(s, f.Timeline.Comm(s.State.Name, s.TID))})
				return nil
			}})
			if err != nil || st.Late != 0 || (memory > 0) != (st.Spilled > 0) {
				t.Errorf("%s: %+v, %v", name, st, err)
			}
			r := perftext.Open(t, "../../testdata/"+name)
			var s *OrderedStream
			s = NewOrderedStream(r.Events, Ordered{Memory: memory, Emit: func(x *Sample) error {
				stream = append(stream, row{x.Time, told(x, s.Timeline.Comm(x.State.Name, x.TID))})
				return nil
			}})
			defer s.Close()
			if truncated, err := s.Read(t.Context(), r); truncated != nil || err != nil {
				t.Fatal(truncated, err)
			}
			if len(want) == 0 || !slices.Equal(want, file) || !slices.Equal(want, stream) {
				t.Errorf("%s: %d samples, from a file %d, from a stream %d", name, len(want), len(file), len(stream))
			}
			if st, _ := s.Stats(); int(st.Records[abi.RecordSample]) != len(want) {
				t.Errorf("%s: %+v", name, st)
			}
		}
	}
}

// TestPassing: records that are said to be in the order of time are passed as they come, and those
// that are not in it are counted: one with a time after all others makes none behind it late.
func TestPassing(t *testing.T) {
	rec, err := perftext.Parse(`event sched:sched_switch type=tracepoint config=1 period=1
sample t=10 pid=7 cpu=0 kernel 0x10
sample t=18446744073709551615 pid=7 cpu=0 kernel 0x10
sample t=20 pid=7 cpu=0 kernel 0x20
sample t=15 pid=7 cpu=0 kernel 0x15
`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rec.Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	written, err := perfdata.NewReaderAt(strings.NewReader(string(b)), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	r := perfdata.NewSourceReader(&perfdata.Source{Order: written.Order(), Events: written.Features.Events, Ordered: true, Records: written.Records})
	f, err := Scan(t.Context(), r, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	st, err := f.EachOrdered(t.Context(), Ordered{Emit: func(*Sample) error { n++; return nil }})
	if n != 4 || st.Late != 1 || err != nil {
		t.Errorf("%d samples, %+v, %v", n, st, err)
	}
}

// TestOrderedRounds: samples of two CPUs, a change of name that arrives after the samples
// that it concerns, and losses, where they are missing.
func TestOrderedRounds(t *testing.T) {
	const text = `event sched:sched_switch type=tracepoint config=1 period=1
comm t=1 pid=7 comm="old"
sample t=10 pid=7 cpu=0 kernel 0x10
sample t=30 pid=7 cpu=0 kernel 0x30
round
sample t=15 pid=7 cpu=1 kernel 0x15
comm t=20 pid=7 comm="new"
sample t=25 pid=7 cpu=1 kernel 0x25
lost t=40 count=3 cpu=1
sample t=41 pid=7 cpu=1 kernel 0x41
round
sample t=35 pid=7 cpu=0 kernel 0x35
round
`
	rec, err := perftext.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rec.Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	emit := func(comm func(*Sample) string) Ordered {
		return Ordered{
			Emit: func(s *Sample) error { got = append(got, fmt.Sprint(s.Time, " ", comm(s))); return nil },
			Lost: func(l Loss) error { got = append(got, fmt.Sprintf("%d lost %d", l.Time, l.Count)); return nil },
		}
	}
	open := func() *perfdata.Reader {
		r, err := perfdata.NewReaderAt(strings.NewReader(string(b)), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const want = "10 old, 15 old, 25 new, 30 new, 35 new, 40 lost 3, 41 new"
	f, err := Scan(context.Background(), open(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.EachOrdered(context.Background(), emit(func(s *Sample) string { return f.Timeline.Comm(s.State.Name, s.TID) })); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("from a file:\n%s, want\n%s", text, want)
	}
	got = nil
	r := open()
	var s *OrderedStream
	s = NewOrderedStream(r.Events, emit(func(x *Sample) string { return s.Timeline.Comm(x.State.Name, x.TID) }))
	defer s.Close()
	if _, err := s.Read(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("from a stream:\n%s, want\n%s", text, want)
	}
}
