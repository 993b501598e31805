package span_test

import (
	"slices"
	"testing"

	"kprof/convert/span"
)

// The ring of CPU 1 begins at 100, that of CPU 2 at 200; task 8 was seen on CPU 1, task 7 on
// CPU 0 alone; of others nothing is known.
var late = span.Late{All: 200, Tasks: map[int32]uint64{7: 0, 8: 100}}

// Of what began before all rings had, only that is a time of a task which stayed where all is known.
func TestLateOffCPU(t *testing.T) {
	for name, c := range map[string]struct {
		points []span.Point
		want   []string
		early  uint64
	}{
		"a task that was never on late CPUs":  {[]span.Point{out(10, 0, 7, 1, 0), out(50, 0, 0, 0, 7)}, []string{"7 interruptible 40+0 from 10"}, 0},
		"came to another CPU":                 {[]span.Point{out(10, 0, 7, 1, 0), out(50, 3, 0, 0, 7)}, nil, 1},
		"was on a CPU whose ring had not yet": {[]span.Point{out(10, 0, 8, 1, 0), out(150, 0, 0, 0, 8)}, nil, 1},
		"was on a CPU whose ring had begun":   {[]span.Point{out(110, 0, 8, 1, 0), out(150, 0, 0, 0, 8)}, []string{"8 interruptible 40+0 from 110"}, 0},
		"began with the ring of its CPU":      {[]span.Point{out(100, 0, 8, 1, 0), out(150, 0, 0, 0, 8)}, []string{"8 interruptible 50+0 from 100"}, 0},
		"began behind all":                    {[]span.Point{out(200, 0, 9, 1, 0), out(250, 2, 0, 0, 9)}, []string{"9 interruptible 50+0 from 200"}, 0},
		"has not come back":                   {[]span.Point{out(10, 0, 7, 1, 0), out(250, 0, 0, 0, 6)}, nil, 1},
		"left twice":                          {[]span.Point{out(10, 0, 9, 1, 0), out(210, 2, 9, 1, 0), out(220, 2, 0, 0, 9)}, []string{"9 interruptible 10+0 from 210"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			x := span.NewOffCPU(func(s *span.OffSpan) { got = append(got, offWords(s)) })
			x.Begin(late)
			for i := range c.points {
				x.Take(&c.points[i])
			}
			x.Finish()
			if !slices.Equal(got, c.want) || x.Stats.Early != c.early || x.Stats.Lost != 0 || x.Stats.First != 0 {
				t.Errorf("%q, %+v; want %q and %d early", got, x.Stats, c.want, c.early)
			}
		})
	}
}

// What left once all was known, and left again, is lost, and not early.
func TestLateLost(t *testing.T) {
	for since, want := range map[uint64]span.OffStats{199: {Early: 1}, 200: {Lost: 1}} {
		x := span.NewOffCPU(func(*span.OffSpan) {})
		x.Begin(late)
		for _, p := range []span.Point{out(since, 0, 9, 1, 0), out(300, 2, 9, span.Dead, 0)} {
			x.Take(&p)
		}
		if want.Dead = 1; x.Stats != want {
			t.Errorf("left at %d: %+v, want %+v", since, x.Stats, want)
		}
	}
}

// The same of spans, and those of a CPU begin and end in its own ring.
func TestLatePairs(t *testing.T) {
	const anyCPU = -1
	for name, c := range map[string]struct {
		key          span.Key
		began, ended int32
		from, to     uint64
		want         span.Stats
	}{
		"of a CPU":                           {span.Key{CPU: 0}, 0, 0, 10, 50, span.Stats{Ended: 1}},
		"of a task that stayed":              {span.Key{CPU: anyCPU, Task: 7}, 0, 0, 10, 50, span.Stats{Ended: 1}},
		"of a task that moved":               {span.Key{CPU: anyCPU, Task: 7}, 0, 3, 10, 50, span.Stats{Early: 1}},
		"of a task on a CPU that was hidden": {span.Key{CPU: anyCPU, Task: 9}, 0, 0, 150, 250, span.Stats{Early: 1}},
		"of anything":                        {span.Key{CPU: anyCPU, Values: [3]uint64{5}}, 0, 0, 10, 50, span.Stats{Early: 1}},
		"behind all":                         {span.Key{CPU: anyCPU, Values: [3]uint64{5}}, 0, 3, 200, 250, span.Stats{Ended: 1}},
		"not ended":                          {span.Key{CPU: anyCPU, Task: 7}, 0, 0, 10, 0, span.Stats{Early: 1}},
		"not ended, of a CPU":                {span.Key{CPU: 0}, 0, 0, 10, 0, span.Stats{Open: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			x := span.NewPairs([]span.Rules{{}}, func(*span.Span) {})
			x.Begin(late)
			x.Take(&span.Point{Time: c.from, Kind: span.Begin, CPU: c.began, Key: c.key, Match: span.MatchYes})
			if c.to != 0 {
				x.Take(&span.Point{Time: c.to, Kind: span.End, CPU: c.ended, Key: c.key, Match: span.MatchYes})
			}
			x.Finish()
			if x.Stats[0] != c.want {
				t.Errorf("%+v, want %+v", x.Stats[0], c.want)
			}
		})
	}
}
