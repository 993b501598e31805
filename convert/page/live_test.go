package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
)

// growingSet is what there is of a recording after some time: the second part has names,
// commands and values that the first one does not, before those that it has.
func growingSet(parts int) *stacks.Set {
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	add := func(comm string, n int64, names ...string) {
		stack := make([]uint32, len(names))
		for i, name := range names {
			l := s.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
			s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
			stack[len(names)-1-i] = l
		}
		row := s.Add(0, s.Intern(stack), s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}}), n)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(1e9 + 1e6*s.NumSamples()), Sample: uint32(row), Value: n})
	}
	if parts > 1 {
		add("before", 50, "a", "first", "work")
	}
	add("sh", 10, "main", "work", "loop")
	add("sh", 5, "main", "rest")
	return s
}

// TestLive: a page of what goes on shows what is written again, with what is looked at as it
// was, until that is whole; and then asks for no more.
func TestLive(t *testing.T) {
	tabs := NewTabs([]string{"profile"})
	asked := make(chan string, 100)
	var last atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// It asks the same again where nothing was new for longestWait.
		if r.URL.Path == "/live" && last.Swap(r.URL.RawQuery) != r.URL.RawQuery {
			asked <- r.URL.RawQuery
		}
		tabs.ServeHTTP(w, r)
	}))
	defer server.Close()
	write := func(how func(int, *stacks.Set, Options) error, parts int) {
		t.Helper()
		if err := how(0, growingSet(parts), Options{}); err != nil {
			t.Fatal(err)
		}
	}
	write(tabs.WriteLive, 1)
	p := browsertest.Open(t, server.URL, browsertest.View{})
	settle(p)
	equal(t, "asked", <-asked, "tab=0&after=1")
	p.Do("kprof.set({group: -1, filter: new Map([[0, new Set([0])]])})")
	clickBox(p, "work")
	settle(p)
	const seen = `[kprof.state.zoom && kprof.namesTo(kprof.state.zoom).join(';'), kprof.sums().total[0],
		[...kprof.state.filter].map(([k, v]) => kprof.p.head.keys[k] + '=' + [...v].map((i) => kprof.p.head.values[k][i])).join(),
		kprof.flame.range[1] - kprof.flame.range[0], document.querySelector('#live').hidden]`
	equal(t, "first", browsertest.Eval[[]any](p, seen), []any{"main;work", 15.0, "comm=sh", 10.0, false})

	write(tabs.WriteLive, 2)
	equal(t, "asked again", <-asked, "tab=0&after=2")
	p.Wait("kprof.p.head.live === 2")
	settle(p)
	equal(t, "second", browsertest.Eval[[]any](p, seen), []any{"main;work", 15.0, "comm=sh", 10.0, false})
	p.Do("kprof.set({filter: new Map(), zoom: 0})")
	equal(t, "all", browsertest.Eval[float64](p, "kprof.sums().total[0]"), 65)

	// What is pressed stays until it is let go, and is clicked then.
	p.Do("kprof.set({filter: new Map([[0, new Set([0])]])})")
	settle(p)
	chip := p.Box("#chips button")
	p.Press(chip.X+chip.Width/2, chip.Y+chip.Height/2)
	write(tabs.WriteLive, 1)
	p.Wait("kprof.newest.head.live === 3")
	equal(t, "pressed", browsertest.Eval[[]int](p, "[kprof.p.head.live, kprof.state.filter.size]"), []int{2, 1})
	p.Release(chip.X+chip.Width/2, chip.Y+chip.Height/2)
	p.Wait("kprof.p.head.live === 3")
	equal(t, "clicked", browsertest.Eval[int](p, "kprof.state.filter.size"), 0)
	equal(t, "asked when it was let go", <-asked, "tab=0&after=3")
	write(tabs.WriteLive, 2)
	equal(t, "asked for the next", <-asked, "tab=0&after=4")
	p.Wait("kprof.p.head.live === 4")
	settle(p)

	// What is held stays, and goes on when it is not held any more.
	p.ClickOn("#live")
	write(tabs.WriteLive, 1)
	equal(t, "asked while held", <-asked, "tab=0&after=5")
	equal(t, "held", browsertest.Eval[float64](p, "kprof.sums().total[0]"), 65)
	p.ClickOn("#live")
	equal(t, "not held", browsertest.Eval[float64](p, "kprof.sums().total[0]"), 15)

	write(tabs.Write, 2)
	p.Wait("kprof.p.head.live === 0")
	equal(t, "whole", browsertest.Eval[[]any](p, seen), []any{0.0, 65.0, "", 65.0, true})
	equal(t, "errors", p.Errors(), nil)
	if n := tabs.Waiting(); n != 0 || len(asked) != 0 {
		t.Errorf("%d wait for more, %d asked", n, len(asked))
	}
	p.Reload()
	settle(p)
	equal(t, "what is whole is no page that asks", browsertest.Eval[bool](p, "document.querySelector('meta[http-equiv]').content.includes('connect-src')"), false)

	// What is zoomed to is found again in one pass over the tree, however deep it is.
	const depth = 3000
	node := browsertest.Eval[[]int](p, fmt.Sprintf(`(() => {
		const n = %d, names = Array.from({length: n}, (_, i) => 'f' + i);
		let reads = 0;
		const parent = new Proxy(Array.from({length: n + 1}, (_, i) => i - 1), {get: (all, i) => { reads++; return Reflect.get(all, i); }});
		const app = {flameSums: () => ({tree: {parent, frame: parent.map((_, i) => i)}}), p: {nameOf: (f) => f - 1, nameText: (i) => names[i]}};
		reads = 0;
		const node = kprof.nodeOf.call(app, [...names, 'not there']);
		return [node, reads];
	})()`, depth))
	if node[0] != depth || node[1] > 10*depth {
		t.Errorf("node %d after %d reads of %d parents", node[0], node[1], depth+1)
	}

	for query, status := range map[string]int{"?after=6": http.StatusGone, "?after=x": http.StatusBadRequest, "?tab=1&after=0": http.StatusNotFound, "": http.StatusBadRequest} {
		r, err := http.Get(server.URL + "/live" + query)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		equal(t, "live"+query, r.StatusCode, status)
	}
}

// TestLiveEnds: a page of what has ended without being whole says so, whether it is looked at
// by then or opened later.
func TestLiveEnds(t *testing.T) {
	tabs := NewTabs([]string{"profile"})
	server := httptest.NewServer(tabs)
	defer server.Close()
	if err := tabs.WriteLive(0, growingSet(1), Options{}); err != nil {
		t.Fatal(err)
	}
	p := browsertest.Open(t, server.URL, browsertest.View{})
	settle(p)
	equal(t, "live", browsertest.Eval[bool](p, "document.querySelector('#live').hidden"), false)
	for deadline := time.Now().Add(time.Minute); tabs.Waiting() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	tabs.End()
	for _, when := range []string{"while it is looked at", "later"} {
		p.Wait("window.kprof && document.querySelector('#live').hidden && document.querySelector('#note').textContent.includes('has ended')")
		equal(t, when, total(p), int64(15))
		if errs := p.Errors(); len(errs) > 1 || len(errs) == 1 && !strings.Contains(errs[0], "410") {
			t.Errorf("errors: %q", errs)
		}
		if when != "later" {
			p.Reload()
		}
	}
}

// TestLeftTimes: times that were left out before they came to a page are told as those that it leaves out.
func TestLeftTimes(t *testing.T) {
	var b strings.Builder
	if err := write(&b, growingSet(2), Options{LeftTimes: MaxTimes}, usualLimits); err != nil {
		t.Fatal(err)
	}
	head, _, times := pageRows(t, b.String())
	want := fmt.Sprintf("the times of %d samples are left out, a page holds up to %d", MaxTimes+3, MaxTimes)
	if said := fmt.Sprint(head["comments"]); !strings.Contains(said, want) || len(times) > 0 {
		t.Errorf("%d times, and the page says %s", len(times), said)
	}
}
