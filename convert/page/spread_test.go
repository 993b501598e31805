package page

import (
	"fmt"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
)

// TestSpread: above the flame graph of spans is how many took how long; a bar selects those of
// its range, one with Shift all up to it, and once more all again.
func TestSpread(t *testing.T) {
	weighed := weighedSet()
	s := stacks.New(stacks.Event{Name: "span:f", Values: []stacks.ValueType{
		{Type: "spans", Unit: "count"}, {Type: "open", Unit: "count"}, {Type: "unended", Unit: "nanoseconds"}, {Type: "span:f", Unit: "nanoseconds"},
	}})
	frame := s.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
	s.SetLines(frame, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "f"})})
	var sums [64]int64
	for i, m := range weighed.TimedSamples {
		length := 1 + int64(i%7)*m.Value // from one ns on
		row := s.Add(0, s.Intern([]uint32{frame}), 0, 1, 0, 0, length)
		s.AddTimedSample(stacks.TimedSample{Time: m.Time, Sample: uint32(row), Value: length})
		e := 0
		for ; length>>(e+1) > 0; e++ {
		}
		sums[e] += length
	}
	s.SortTimedSamples()
	p := openPage(t, pageOf(t, s, Options{Column: 3}), browsertest.View{Width: 1200, Height: 800})
	first, last, all := -1, 0, int64(0)
	for e, n := range sums {
		if all += n; n > 0 {
			if last = e; first < 0 {
				first = e
			}
		}
	}
	equal(t, "bars", browsertest.Eval[int](p, "document.querySelectorAll('#spread button').length"), last-first+1)
	p.Screenshot("html-spread")
	click := func(e int, shift bool) {
		p.Do(fmt.Sprintf("document.querySelectorAll('#spread button')[%d].dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: %t}))", e-first, shift))
		settle(p)
	}
	click(last-1, false)
	equal(t, "one bar", total(p), sums[last-1])
	equal(t, "width", browsertest.Eval[int64](p, "kprof.flame.layout.max"), sums[last-1])
	equal(t, "bars that are chosen from", browsertest.Eval[int](p, "document.querySelectorAll('#spread button').length"), last-first+1)
	click(last, true)
	equal(t, "two bars", total(p), sums[last-1]+sums[last])
	equal(t, "chosen", browsertest.Eval[int](p, "document.querySelectorAll('#spread button[aria-pressed=true]').length"), 2)
	click(last, false)
	click(last, false)
	equal(t, "all", total(p), all)
	p.Do("kprof.set({view: 'functions'})")
	equal(t, "hidden elsewhere", browsertest.Eval[bool](p, "document.querySelector('#spread').hidden"), true)
	equal(t, "errors", p.Errors(), nil)
}
