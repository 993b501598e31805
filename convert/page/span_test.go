package page

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
)

// weighedSet has samples of different values, some at one time, of two threads; the last
// event has no times.
func weighedSet() *stacks.Set {
	r := rand.New(rand.NewPCG(3, 9))
	s := stacks.New(
		stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cycles", Unit: "count"}}},
		stacks.Event{Name: "untimed", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}},
	)
	var locs []uint32
	for i := range 6 {
		l := s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprint("f", i)})})
		locs = append(locs, l)
	}
	t := uint64(7e9)
	for i := range 400 {
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: "two words"}, {Key: "tid", Num: int64(10 + i%2)}})
		value := 1000 + r.Int64N(1_000_000)
		row := s.Add(0, s.Intern([]uint32{locs[r.IntN(6)], locs[r.IntN(2)]}), labels, 1, value)
		s.AddTimedSample(stacks.TimedSample{Time: t, Sample: uint32(row), Value: value})
		if i%5 > 0 {
			t += r.Uint64N(3_000_000)
		}
	}
	s.Add(1, s.Intern(locs[:1]), 0, 17)
	s.SortTimedSamples()
	return s
}

// inSpan is the number of samples of an event and the sum of their values between two
// times after the first, both included.
func inSpan(s *stacks.Set, event int, from, to uint64, take func(stacks.Sample) bool) (count, sum int64) {
	first := s.TimedSamples[0].Time
	for _, m := range s.TimedSamples {
		if x := s.Sample(int(m.Sample)); x.Event == event && m.Time-first >= from && m.Time-first <= to && take(x) {
			count++
			sum += m.Value
		}
	}
	return count, sum
}

func anySample(stacks.Sample) bool { return true }

// TestTimeSpan: the samples of a span of time, and no others, are what is counted in all
// views, exactly, with filters too; the address has it.
func TestTimeSpan(t *testing.T) {
	for _, x := range []struct {
		name  string
		set   *stacks.Set
		exact bool
	}{{"equal values", pageSet(), true}, {"different values", weighedSet(), true}, {"bins", pageSet(), false}} {
		name, s, limits := x.name, x.set, usualLimits
		if !x.exact {
			limits.timeBits = 0
		}
		p := openPage(t, pageWithin(t, limits, s, Options{Column: 1, Select: Select{Command: []string{"kprof", "report"}, Inputs: []string{"a b.data"}, Labels: map[string]string{"tid": "--tid"}, Flags: map[string]string{"time": "--time", "event": "--event"}}}),
			browsertest.View{Width: 1200, Height: 800})
		times := make([]uint64, 0, len(s.TimedSamples))
		for _, m := range s.TimedSamples {
			times = append(times, m.Time-s.TimedSamples[0].Time)
		}
		last := times[len(times)-1]
		bin := browsertest.Eval[uint64](p, "kprof.p.head.bin")
		if (bin == 1) != x.exact {
			t.Errorf("%s: bins of %d ns", name, bin)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 12 {
			from, to := r.Uint64N(last), r.Uint64N(last)
			if r.IntN(2) == 0 { // at samples
				from, to = times[r.IntN(len(times))], times[r.IntN(len(times))]
			}
			from, to = min(from, to), max(from, to)
			p.Do(fmt.Sprintf("kprof.set({span: [%d, %d]})", from, to))
			from, to = from/bin*bin, (to/bin+1)*bin-1
			count, sum := inSpan(s, 0, from, to, anySample)
			p.Do("kprof.set({column: 0})")
			equal(t, name+": samples", total(p), count)
			p.Do("kprof.set({column: 1})")
			equal(t, name+": values", total(p), sum)
			equal(t, name+": functions", browsertest.Eval[int64](p, "Math.round(kprof.functions().self.reduce((a, b) => a + b))"), sum)
			wide := browsertest.Eval[int64](p, "kprof.flame.layout.max")
			equal(t, name+": width", wide, sum)
		}
		from, to := last/4, last/2
		p.Do(fmt.Sprintf("kprof.set({span: [%d, %d]})", from, to))
		from, to = from/bin*bin, (to/bin+1)*bin-1
		p.Do(`const key = kprof.p.head.keys.indexOf('tid'), first = kprof.p.head.values[key][0];
			kprof.set({filter: new Map([[key, new Set([0])]])})`)
		tid := browsertest.Eval[string](p, "kprof.p.head.values[kprof.p.head.keys.indexOf('tid')][0]")
		_, sum := inSpan(s, 0, from, to, func(x stacks.Sample) bool { return labelIs(s, x, "tid", tid) })
		equal(t, name+": with a filter", total(p), sum)
		first := s.TimedSamples[0].Time
		clock := func(t uint64) string { return fmt.Sprintf("%d.%09d", (first+t)/1e9, (first+t)%1e9) }
		equal(t, name+": command", browsertest.Eval[string](p, "document.querySelector('.command').title"),
			fmt.Sprintf("Copy: kprof report --event %s --tid %s --time %s,%s 'a b.data'", s.Events[0].Name, tid, clock(from), clock(to)))
		p.Reload()
		settle(p)
		equal(t, name+": after a reload", total(p), sum)
		p.Do("kprof.set({filter: new Map()}); document.querySelector('#chips button').click()")
		_, sum = inSpan(s, 0, 0, last, anySample)
		equal(t, name+": all again", total(p), sum)
	}
}

// TestTimeStrip: dragging selects, a click selects all again, arrows move; the strip's
// bars are the samples.
func TestTimeStrip(t *testing.T) {
	s := weighedSet()
	p := openPage(t, pageOf(t, s, Options{Column: 1}), browsertest.View{Width: 1200, Height: 800})
	_, all := inSpan(s, 0, 0, 1<<62, anySample)
	equal(t, "bars", browsertest.Eval[int64](p, "Math.round(kprof.strip.data.kinds.reduce((a, b) => a + b))"), all)
	equal(t, "lanes", browsertest.Eval[int](p, "kprof.strip.data.lanes.length"), 2)
	equal(t, "sum of lanes", browsertest.Eval[int64](p, "Math.round(kprof.strip.data.lanes.reduce((sum, l) => l.sums.reduce((a, b) => a + b, sum), 0))"), all)
	p.View(browsertest.View{Width: 1111, Height: 700})
	settle(p)
	painted := browsertest.Eval[float64](p, `(() => {
		const s = kprof.strip, d = s.context.getImageData(0, 0, s.canvas.width, 1 + stripTop(s)).data;
		let n = 0;
		for (let i = 0; i < d.length; i += 4) if (d[i] + d[i + 1] + d[i + 2] < 760) n++;
		return n / (d.length / 4);
		function stripTop(s) { return Math.round(30 * s.canvas.height / s.height); }
	})()`)
	if painted < .1 || painted > .95 {
		t.Errorf("%.2f of the bars' space is painted", painted)
	}
	drag := func(from, to float64) {
		p.Do(fmt.Sprintf(`const c = kprof.strip.canvas, r = c.getBoundingClientRect();
			c.setPointerCapture = () => {};
			const at = (type, x) => c.dispatchEvent(new PointerEvent(type, {clientX: r.x + x * r.width, clientY: r.y + 9, button: 0, bubbles: true, pointerId: 1}));
			at('pointerdown', %v); at('pointermove', %v); at('pointerup', %v);`, from, to, to))
		settle(p)
	}
	last := s.TimedSamples[len(s.TimedSamples)-1].Time - s.TimedSamples[0].Time
	drag(.6, .2)
	got := browsertest.Eval[[]uint64](p, "kprof.state.span")
	if from, to := float64(got[0])/float64(last), float64(got[1])/float64(last); from < .198 || from > .202 || to < .598 || to > .602 {
		t.Errorf("dragged to %v of %d", got, last)
	}
	_, sum := inSpan(s, 0, got[0], got[1], anySample)
	equal(t, "dragged", total(p), sum)
	if h := hash(p); h != fmt.Sprintf("#time=%d-%d", got[0], got[1]) {
		t.Errorf("hash %q", h)
	}
	p.Screenshot("html-span")
	p.Do("kprof.strip.canvas.focus()")
	p.Keys(browsertest.Right)
	moved := browsertest.Eval[[]uint64](p, "kprof.state.span")
	if moved[0] <= got[0] || moved[1]-moved[0] != got[1]-got[0] {
		t.Errorf("moved from %v to %v", got, moved)
	}
	drag(.5, .5)
	equal(t, "after a click", total(p), all)
	p.Do("kprof.set({event: 1, column: 0})")
	equal(t, "an event without times", total(p), int64(17))
	equal(t, "errors", p.Errors(), nil)
}

// TestWithoutTimes: there is no strip, and an address with a span shows all.
func TestWithoutTimes(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cpu", Values: stackstest.CountAndTime})
	l := s.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
	s.Add(0, s.Intern([]uint32{l}), 0, 5, 50)
	p := openPage(t, pageOf(t, s, Options{Column: 1}), browsertest.View{})
	p.Do("location.hash = 'time=1-2'")
	settle(p)
	equal(t, "total", total(p), int64(50))
	equal(t, "hidden", browsertest.Eval[bool](p, "document.querySelector('#strip').hidden"), true)
}
