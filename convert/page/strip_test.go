package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"kprof/convert/browsertest"
)

// TestStrip: the wheel and keys select more and less of the time, and the rows that there is no
// room for are shown when asked for, threads of a process side by side.
func TestStrip(t *testing.T) {
	s := largeSet(3000, 40, true)
	p := openHTML(t, s, browsertest.View{})
	size := func() float64 {
		settle(p)
		return browsertest.Eval[float64](p, "(([from, to]) => (to - from) / kprof.strip.duration)(kprof.state.span ?? [0, kprof.strip.duration])")
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > .01 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	p.Do("document.querySelector('#strip canvas').focus()")
	p.Keys("++")
	near("two times less", size(), .25)
	near("around the middle", browsertest.Eval[float64](p, "kprof.state.span[0] / kprof.strip.duration"), .375)
	p.Keys("-")
	near("more", size(), .5)
	const wheel = "kprof.strip.canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: %d, clientX: kprof.strip.width, cancelable: true, bubbles: true}))"
	p.Do("kprof.set({span: null}); " + fmt.Sprintf(wheel, -200))
	near("by the wheel", size(), math.Exp(-.8))
	near("up to where it was", browsertest.Eval[float64](p, "kprof.state.span[1] / kprof.strip.duration"), 1)
	first, sum := s.TimedSamples[0].Time, int64(0)
	span := browsertest.Eval[[]float64](p, "kprof.state.span")
	for _, m := range s.TimedSamples {
		if at := float64(m.Time - first); at >= span[0] && at <= span[1] {
			sum += m.Value
		}
	}
	equal(t, "sum", total(p), sum)
	p.Do(fmt.Sprintf(wheel, 200) + ";" + fmt.Sprintf(wheel, 200))
	equal(t, "all again", browsertest.Eval[bool](p, "kprof.state.span === null"), true)

	equal(t, "rows", browsertest.Eval[int](p, "kprof.strip.data.lanes.length"), 6)
	samples := map[int64]int64{} // of each process
	threads := map[int64]bool{}
	for _, m := range s.TimedSamples {
		labels := s.Sample(int(m.Sample)).Labels
		pid, _ := s.Label(labels, "pid")
		tid, _ := s.Label(labels, "tid")
		samples[pid.Num]++
		threads[tid.Num] = true
	}
	equal(t, "button", browsertest.Eval[string](p, "kprof.strip.more.textContent"), fmt.Sprintf("%d more", len(threads)-6))
	p.ClickOn("#strip button")
	settle(p)
	equal(t, "hash", hash(p), "#rows=true")
	p.Screenshot("strip-unfolded")
	var of []string // processes, in order
	for _, text := range browsertest.Eval[[]string](p, "kprof.strip.data.lanes.map((l) => l.text)") {
		if pid, _, _ := strings.Cut(text, "/"); len(of) == 0 || of[len(of)-1] != pid {
			of = append(of, pid)
		}
	}
	var want []string
	for _, pid := range slices.SortedFunc(maps.Keys(samples), func(a, b int64) int { return cmp.Compare(samples[b], samples[a]) }) {
		want = append(want, fmt.Sprint(pid))
	}
	equal(t, "processes", of, want)
	p.Reload()
	settle(p)
	equal(t, "rows after a reload", browsertest.Eval[int](p, "kprof.strip.data.lanes.length"), len(threads))
	p.ClickOn("#strip button")
	equal(t, "rows after a click", browsertest.Eval[int](p, "kprof.strip.data.lanes.length"), 6)
}
