package span_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"kprof/convert/span"
)

// A function calls itself, and the return of the inner call is missed.
func ExamplePairs() {
	x := span.NewPairs([]span.Rules{{Nested: true}}, func(s *span.Span) {
		fmt.Println("from", s.Start, "for", s.Time, s.Outcome == span.Ended)
	})
	for _, p := range []span.Point{
		{Time: 10, Kind: span.Begin, Place: 1000, Match: span.MatchYes},
		{Time: 20, Kind: span.Begin, Place: 900, Match: span.MatchYes},
		{Time: 50, Kind: span.End, Place: 1008, Match: span.MatchYes},
	} {
		x.Take(&p)
	}
	x.Finish()
	// Output:
	// from 20 for 30 false
	// from 10 for 40 true
}

func begin(t, key uint64) span.Point {
	return span.Point{Time: t, Kind: span.Begin, Key: span.Key{Values: [3]uint64{key}}, Row: uint32(t), Match: span.MatchYes}
}

func end(t, key uint64) span.Point {
	p := begin(t, key)
	p.Kind = span.End
	return p
}

// on is an event of what stays on a CPU, -1 for any.
func on(p span.Point, cpu int32) span.Point { p.Key.CPU = cpu; return p }

func lossOf(k span.Kind, t uint64, cpu int32) span.Point {
	return span.Point{Time: t, Kind: k, CPU: cpu}
}

func at(p span.Point, place uint64) span.Point    { p.Place = place; return p }
func check(p span.Point, value uint64) span.Point { p.Check = value; return p }
func match(p span.Point, m span.Match) span.Point { p.Match = m; return p }

func TestPairs(t *testing.T) {
	const stack = 0xffffc90000010000 // where those of the kernel are
	leave := begin(40, 1)
	leave.Kind = span.Leave
	for _, c := range []struct {
		name   string
		nested bool
		points []span.Point
		want   []string
		stats  span.Stats
	}{
		{"by key", false, []span.Point{begin(10, 1), begin(11, 2), end(20, 1), end(30, 2)},
			[]string{"10 10 0", "11 19 0"}, span.Stats{Ended: 2}},
		{"an interrupt within another", false, []span.Point{begin(10, 1), begin(11, 2), begin(12, 3), end(13, 3), end(15, 2), begin(17, 2), end(18, 2), end(30, 1)},
			[]string{"10 20 0", "11 4 0", "12 1 0", "17 1 0"}, span.Stats{Ended: 4}},
		{"a start in the place of another", false, []span.Point{begin(10, 1), begin(15, 1), end(20, 1)},
			[]string{"10 5 3", "15 5 0"}, span.Stats{Ended: 1, Unended: 1}},
		{"an end alone", false, []span.Point{end(5, 1), begin(10, 1), end(20, 1), end(30, 1)},
			[]string{"10 10 0"}, span.Stats{Ended: 1, Unbegun: 2}},
		{"open", false, []span.Point{begin(10, 1), begin(20, 2), end(50, 3)},
			[]string{"10 40 1", "20 30 1"}, span.Stats{Open: 2, Unbegun: 1}},
		{"what does not return", false, []span.Point{begin(10, 1), leave, end(50, 1)},
			[]string{"10 30 3"}, span.Stats{Unended: 1, Unbegun: 1}},
		{"a call of another kind ends", false, []span.Point{check(begin(10, 1), 5), check(end(20, 1), 6), check(begin(30, 1), 5), check(end(40, 1), span.Unchecked)},
			[]string{"10 10 3", "30 10 0"}, span.Stats{Ended: 1, Unended: 1, Unbegun: 1}},
		{"a gap between", false, append(append([]span.Point{begin(10, 1)}, gap(12, 14)...), end(20, 1), begin(21, 1), end(25, 1)),
			[]string{"10 10 2", "21 4 0"}, span.Stats{Ended: 1, Lost: 1}},
		{"an end whose start is in a gap", false, append(gap(12, 14), end(20, 1)), nil, span.Stats{}},
		{"open in a gap", false, append([]span.Point{begin(10, 1)}, gap(12, 14)...), []string{"10 4 2"}, span.Stats{Lost: 1}},
		{"replaced behind a gap", false, append(append([]span.Point{begin(10, 1)}, gap(12, 14)...), begin(20, 1), end(22, 1)),
			[]string{"10 10 2", "20 2 0"}, span.Stats{Ended: 1, Lost: 1}},
		{"a gap of another CPU", false, append(append([]span.Point{on(begin(10, 1), 1), on(begin(11, 1), -1)}, gap(12, 14)...), on(end(20, 1), 1), on(end(21, 1), -1), on(end(30, 2), 1)),
			[]string{"10 10 0", "11 10 2"}, span.Stats{Ended: 1, Lost: 1, Unbegun: 1}},
		{"a gap of any CPU", false, append([]span.Point{on(begin(10, 1), 1), lossOf(span.LostFrom, 12, -1), lossOf(span.LostTo, 14, -1)}, on(end(20, 1), 1), on(end(30, 2), 1)),
			[]string{"10 10 2"}, span.Stats{Lost: 1}},
		{"a gap of another CPU than the first", false, []span.Point{on(begin(10, 1), 0), lossOf(span.LostFrom, 12, 1), lossOf(span.LostTo, 14, 1), on(end(20, 1), 0)},
			[]string{"10 10 0"}, span.Stats{Ended: 1}},
		{"no time at all", false, []span.Point{begin(10, 1), end(10, 1)}, []string{"10 0 0"}, span.Stats{Ended: 1}},
		{"in no order", false, []span.Point{begin(20, 1), end(10, 1)}, []string{"20 0 2"}, span.Stats{Lost: 1}},
		{"nested without places", true, []span.Point{begin(10, 1), begin(11, 1), begin(12, 1), end(20, 1), end(21, 1), end(23, 1)},
			[]string{"10 13 0", "11 10 0", "12 8 0"}, span.Stats{Ended: 3}},
		{"nested, one return missed", true, []span.Point{at(begin(10, 1), 900), at(begin(11, 1), 800), at(begin(12, 1), 700), at(end(20, 1), 708), at(end(23, 1), 908)},
			[]string{"10 13 0", "11 12 3", "12 8 0"}, span.Stats{Ended: 2, Unended: 1}},
		{"a call where one was whose return was missed", true, []span.Point{at(begin(10, 1), 900), at(begin(20, 1), 900), at(end(30, 1), 908)},
			[]string{"10 10 3", "20 10 0"}, span.Stats{Ended: 1, Unended: 1}},
		{"a call as far up the stack as a stack is large", true, []span.Point{at(begin(10, 1), stack), at(begin(20, 1), stack+16<<10), at(end(30, 1), stack+16<<10+8)},
			[]string{"10 10 3", "20 10 0"}, span.Stats{Ended: 1, Unended: 1}},
		{"a call further up than that", true, []span.Point{at(begin(10, 1), stack), at(begin(20, 1), stack+16<<10+8), at(end(30, 1), stack+16<<10+16)},
			[]string{"10 20 1", "20 10 0"}, span.Stats{Ended: 1, Open: 1}},
		{"a return of 32 bits", true, []span.Point{at(begin(10, 1), 900), at(end(20, 1), 904), at(end(30, 1), 896)},
			[]string{"10 10 0"}, span.Stats{Ended: 1, Unbegun: 1}},
		{"on a stack of its own", true, []span.Point{at(begin(10, 1), 900), at(begin(20, 1), 1<<40), at(end(30, 1), 1<<40+8), at(end(40, 1), 908)},
			[]string{"10 30 0", "20 10 0"}, span.Stats{Ended: 2}},
		{"a return of a call that was not seen", true, []span.Point{at(begin(10, 1), 900), at(end(20, 1), 2000), at(end(30, 1), 900)},
			[]string{"10 20 0"}, span.Stats{Ended: 1, Unbegun: 1}},
		{"taken by its start", false, []span.Point{match(begin(10, 1), span.MatchNo), end(20, 1), begin(30, 1), match(end(40, 1), span.MatchUnknown)},
			[]string{"30 10 0"}, span.Stats{Ended: 1, Refused: 1}},
		{"taken by its end", false, []span.Point{match(begin(10, 1), span.MatchUnknown), end(20, 1), begin(30, 1), match(end(40, 1), span.MatchNo),
			match(begin(50, 1), span.MatchUnknown), match(end(60, 1), span.MatchUnknown), match(begin(70, 1), span.MatchUnknown)},
			[]string{"10 10 0"}, span.Stats{Ended: 1, Refused: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			x := span.NewPairs([]span.Rules{{Nested: c.nested}}, func(s *span.Span) {
				got = append(got, fmt.Sprint(s.Start, s.Time, s.Outcome))
				if uint64(s.Row) != s.Start {
					t.Errorf("%d has row %d", s.Start, s.Row)
				}
			})
			for i := range c.points {
				x.Take(&c.points[i])
			}
			x.Finish()
			slices.Sort(got)
			if !slices.Equal(got, c.want) || x.Stats[0] != c.stats {
				t.Errorf("got  %q %+v\nwant %q %+v", got, x.Stats[0], c.want, c.stats)
			}
		})
	}
}

// TestPairsSimulated: of calls within each other on the stacks of several tasks, some of
// whose returns are missed and some of whose records are lost, no time is told that is not
// the true one, and each call comes to something.
func TestPairsSimulated(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		losing, missing := seed%2 == 1, seed%3 == 0
		type call struct{ start, place uint64 }
		stacks := make([][]call, 1+seed%5)
		truth := map[uint64]uint64{} // by start, which no two have in common
		var points []span.Point
		now, calls, lostUntil, missed := uint64(0), uint64(0), uint64(0), uint64(0)
		add := func(p span.Point) {
			if now < lostUntil {
				return
			}
			if p.Kind == span.Begin {
				calls++
			}
			points = append(points, p)
		}
		for range 4000 {
			now += 1 + r.Uint64N(4)
			if losing && now >= lostUntil && r.IntN(200) == 0 {
				points = append(points, gap(now, now+50)...)
				points[len(points)-1].Time = now + 50
				lostUntil = now + 50
			}
			k := r.IntN(len(stacks))
			s := &stacks[k]
			key := span.Key{Task: int32(k + 1)}
			if len(*s) == 0 || len(*s) < 6 && r.IntN(2) == 0 {
				place := uint64(1<<20)*uint64(k+1) + 9000
				if len(*s) > 0 {
					place = (*s)[len(*s)-1].place - 16*(1+r.Uint64N(9))
				}
				*s = append(*s, call{now, place})
				add(span.Point{Time: now, Kind: span.Begin, Key: key, Place: place, Match: span.MatchYes})
				continue
			}
			c := (*s)[len(*s)-1]
			*s = (*s)[:len(*s)-1]
			truth[c.start] = now - c.start
			if missing && r.IntN(20) == 0 {
				missed++
				continue
			}
			add(span.Point{Time: now, Kind: span.End, Key: key, Place: c.place + 8*(seed%2), Match: span.MatchYes})
		}
		ended := uint64(0)
		x := span.NewPairs([]span.Rules{{Nested: true}}, func(s *span.Span) {
			if s.Outcome == span.Ended {
				ended++
				if s.Time != truth[s.Start] {
					t.Errorf("seed %d: %d from %d, it took %d", seed, s.Time, s.Start, truth[s.Start])
				}
			}
		})
		for i := range points {
			x.Take(&points[i])
		}
		x.Finish()
		st := x.Stats[0]
		if st.Ended != ended || st.Ended+st.Lost+st.Open+st.Unended != calls || !missing && st.Unended != 0 && !losing || missing && !losing && st.Unended+st.Open < missed || ended < calls/10 {
			t.Errorf("seed %d: %d calls, %d returns missed: %+v", seed, calls, missed, st)
		}
	}
}

// FuzzPairs: whatever points come, each start comes to one outcome, and no span takes
// longer than all points do. What is written of a point is read again.
func FuzzPairs(f *testing.F) {
	keyed := map[span.Kind]bool{span.Begin: true, span.End: true, span.Leave: true, span.Release: true, span.Allocate: true, span.Allocated: true, span.Free: true}
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Fuzz(func(t *testing.T, b []byte) {
		var points []span.Point
		now := uint64(0)
		for ; len(b) >= 4; b = b[4:] {
			now += uint64(b[0] & 7)
			p := span.Point{
				Time: now, Kind: span.Kind(b[0]>>3) % (span.Nothing + 1), Key: span.Key{Rule: uint32(b[1]) % 2, Task: int32(b[1]>>1) % 4},
				Place: uint64(b[2]) % 40 * 8, Check: uint64(b[3]) % 2, Match: span.Match(b[3]>>2) % 3, Task: int32(b[1]) % 5, Next: int32(b[2]) % 5, State: span.State(b[3] % 6),
			}
			enc, _ := p.AppendBinary(nil)
			q := span.Point{Time: p.Time}
			if q.Decode(enc); keyed[p.Kind] && q != p {
				t.Fatalf("%+v is read as %+v", p, q)
			}
			points = append(points, p)
		}
		var starts, returns, outcomes uint64
		count := func(s *span.Span) {
			outcomes++
			if s.Time > now {
				t.Errorf("%+v", *s)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x := span.NewPairs([]span.Rules{{}, {Nested: true}}, count)
		off := span.NewOffCPU(func(s *span.OffSpan) {
			if s.Blocked+s.Runnable > now {
				t.Errorf("%+v", *s)
			}
		})
		for i := range points {
			switch points[i].Kind {
			case span.Begin:
				starts++
			case span.Allocated:
				returns++
			}
			x.Take(&points[i])
			off.Take(&points[i])
		}
		x.Finish()
		off.Finish()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<16+1000*uint64(len(points)) {
			t.Errorf("%d bytes for %d points", n, len(points))
		}
		var told uint64
		for _, st := range x.Stats {
			told += st.Ended + st.Open + st.Lost + st.Unended
			outcomes += st.Refused
		}
		if outcomes < starts || outcomes > starts+returns || told > outcomes {
			t.Errorf("%d starts, %d outcomes, %+v", starts, outcomes, x.Stats)
		}
	})
}

// TestPairsNoAllocation: pairing takes no memory a pair.
func TestPairsNoAllocation(t *testing.T) {
	x := span.NewPairs([]span.Rules{{}}, func(*span.Span) {})
	n := uint64(0)
	if got := testing.AllocsPerRun(100, func() {
		for range 100 {
			n++
			b, e := begin(n, n%7), end(n, n%7)
			x.Take(&b)
			x.Take(&e)
		}
	}); got > 0 {
		t.Errorf("%v allocations", got)
	}
}
