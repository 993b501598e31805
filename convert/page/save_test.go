package page

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprof/convert/browsertest"
	"kprof/convert/folded"
	"kprof/convert/pagefile"
	"kprof/convert/pprof"
	"kprof/convert/stacks"
)

// TestSave: what is saved is what is selected: folded stacks add up to it, the picture is
// well-formed and has a box for each that can be seen.
func TestSave(t *testing.T) {
	s := pageSet()
	p := openPage(t, pageOf(t, s, Options{Column: 1, Title: "a & <b>", Select: Select{Command: []string{"kprof", "report"}, Inputs: []string{"x.data"},
		Flags: map[string]string{"event": "--event", "focus": "--focus"}}}), browsertest.View{})
	p.Do("kprof.set({group: -1, steps: [{op: 'focus', text: '^do_syscall_64$'}]})")
	settle(p)
	want := sumOf(s, 0, 1, func(_ stacks.Sample, path []string) bool { return slices.Contains(path, "do_syscall_64") })
	set, err := folded.Read(strings.NewReader(browsertest.Eval[string](p, "(async () => (await kprof.selectedStacks()).text())()")), folded.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "folded", set.Totals(0)[0], want)
	d := xml.NewDecoder(strings.NewReader(browsertest.Eval[string](p, "(async () => (await kprof.selectedPicture()).text())()")))
	boxes := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			boxes++
		}
	}
	if boxes < 50 {
		t.Errorf("%d boxes", boxes)
	}
	// What is searched for selects nothing, and neither do the commands that save the same.
	p.Do(`kprof.set({query: 'vfs'});
		window.chosen = [];
		kprof.copy = (text) => chosen.push(text);
		HTMLAnchorElement.prototype.click = function () { chosen.push(this.download); }`)
	for _, choice := range []struct{ key, want string }{
		{"f", "a_b_.folded"},
		{"b", "a_b_.pb.gz"},
		{"h", "a_b_.selected.html"},
		{"s", "a_b_.svg"},
		{"p", "a_b_.png"},
		{"o", "kprof convert --event cpu-clock --focus '^do_syscall_64$' x.data -o a_b_.pb.gz"},
		{"x", "kprof convert --event cpu-clock --focus '^do_syscall_64$' x.data -o a_b_.firefox.json"},
	} {
		p.ClickOn("#save")
		p.Keys(choice.key)
		p.Wait("chosen.length")
		equal(t, choice.key, browsertest.Eval[string](p, "chosen.pop()"), choice.want)
	}
	equal(t, "errors", p.Errors(), nil)
	t.Run("profile", testSaveProfile)
	t.Run("page", testSavePage)
	t.Run("large", testSaveLarge)
}

// testSaveLarge: what floating point rounds to 2^63 is saved as what 64 bits hold, and said to be about that.
func testSaveLarge(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "e", Unit: "count"}}})
	s.Add(0, s.Intern([]uint32{s.AddLocation(stacks.NoMapping, 1, stacks.KindUser)}), 0, math.MaxInt64)
	p := openHTML(t, s, browsertest.View{})
	equal(t, "shown", browsertest.Eval[string](p, "document.querySelector('#details').textContent"), "total ≈\u202f9\u202f223\u202f372\u202f036\u202f854\u202f776\u202f000")
	stacksSaved, err := folded.Read(bytes.NewReader(saved(t, p, "await kprof.selectedStacks()")), folded.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	profile, err := pprof.Read(bytes.NewReader(saved(t, p, "await kprof.selectedProfile()")))
	if err != nil {
		t.Fatal(err)
	}
	page, err := pagefile.Read(bytes.NewReader(saved(t, p, "await kprof.selectedPage()")), pagefile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]*stacks.Set{"folded": stacksSaved, "pprof": profile, "page": page} {
		equal(t, what, s.Totals(0)[0], 1<<63-1024)
	}
}

// saved is a file that the page makes, from an expression of its Blob.
func saved(t *testing.T, p *browsertest.Page, js string) []byte {
	t.Helper()
	text := browsertest.Eval[string](p, `(async () => {
		const bytes = new Uint8Array(await (`+js+`).arrayBuffer());
		let text = '';
		for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode(...bytes.subarray(i, i + 4096));
		return btoa(text);
	})()`)
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testSaveProfile: a profile for pprof that the page makes has what is selected: the stacks,
// with their labels and values of all events, and no others.
func testSaveProfile(t *testing.T) {
	s := pageSet()
	s.TimeNanos, s.DurationNanos = 1_700_000_000_000_000_000, 3e9
	p := openHTML(t, s, browsertest.View{})
	from, to := s.TimedSamples[100].Time, s.TimedSamples[1200].Time
	clock := s.TimedSamples[0].Time
	for name, test := range map[string]struct {
		state string
		span  bool
		take  func(x stacks.Sample, path []string) bool
	}{
		"all": {"{}", false, func(stacks.Sample, []string) bool { return true }},
		"stacks, labels and times": {
			fmt.Sprintf("{steps: [{op: 'focus', text: '^do_syscall_64$'}], span: [%d, %d], filter: new Map([[0, new Set([kprof.p.head.values[0].indexOf('worker<b>')])]])}", from-clock, to-clock), true,
			func(x stacks.Sample, path []string) bool {
				return slices.Contains(path, "do_syscall_64") && labelIs(s, x, "comm", "worker<b>")
			},
		},
	} {
		p.Do("kprof.set({...{steps: [], span: null, filter: new Map()}, ..." + test.state + "})")
		b := saved(t, p, "await kprof.selectedProfile()")
		google, err := profile.ParseData(b)
		if err == nil {
			err = google.CheckValid()
		}
		if err != nil {
			t.Fatalf("%s: google/pprof: %v", name, err)
		}
		got, err := pprof.Read(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows := map[string]int64{}
		count := func(to map[string]int64, of *stacks.Set, n *stacks.Names, x stacks.Sample, values []int64) {
			key := strings.Join(path(of, n, x), ";")
			labels := slices.Clone(of.Labels(x.Labels))
			slices.SortFunc(labels, func(a, b stacks.Label) int { return strings.Compare(a.Key, b.Key) })
			for _, l := range labels {
				key += fmt.Sprintf(" %s=%s/%d", l.Key, l.Str, l.Num)
			}
			for c, v := range values {
				if v != 0 {
					to[fmt.Sprint(key, of.Events[x.Event].Values[c])] += v
				}
			}
		}
		n := got.Names()
		for i := range got.NumSamples() {
			x := got.Sample(i)
			count(rows, got, n, x, x.Values)
		}
		want, n := map[string]int64{}, s.Names()
		for i := range s.NumSamples() {
			if x := s.Sample(i); test.take(x, path(s, n, x)) && !test.span {
				count(want, s, n, x, x.Values)
			}
		}
		for _, m := range s.TimedSamples {
			if x := s.Sample(int(m.Sample)); test.span && m.Time >= from && m.Time <= to && test.take(x, path(s, n, x)) {
				count(want, s, n, x, []int64{1, m.Value})
			}
		}
		if !maps.Equal(rows, want) {
			for _, key := range slices.Sorted(maps.Keys(want))[:5] {
				t.Logf("%s: %d", key, want[key])
			}
			t.Errorf("%s: %d rows are not those %d", name, len(rows), len(want))
		}
		if start := int64(from - clock); test.span && (google.TimeNanos-s.TimeNanos-start > 1000 || google.DurationNanos != int64(to-from)) {
			t.Errorf("%s: from %d for %d", name, google.TimeNanos, google.DurationNanos)
		}
	}
}

// testSavePage: a page of what is selected has the same sums, functions and times of samples,
// and names nothing else.
func testSavePage(t *testing.T) {
	s := pageSet()
	for i := range s.TimedSamples { // a clock that floating point does not hold
		s.TimedSamples[i].Time += 1_700_000_000_123_456_789
	}
	p := openHTML(t, s, browsertest.View{})
	const seen = `[[0, 1], [1, 0]].flatMap(([event, column]) => {
		kprof.set({event, column, group: -1});
		const functions = kprof.functions(), out = [];
		functions.some.forEach((some, i) => { if (some) out.push(kprof.p.names[i] + ' ' + functions.self[i] + ' ' + functions.total[i]); });
		return ['total ' + kprof.sums().total[0], 'samples ' + kprof.samples().length, ...out.sort()];
	})`
	for _, state := range []string{
		"{span: [2e7, 25e7], filter: new Map([[0, new Set([1])]]), steps: [{op: 'focus', text: 'e'}, {op: 'hide', text: '^serve$'}, {op: 'collapse', text: 'libc.so.6'}]}",
		"{steps: [{op: 'show', text: '^(main|serve)$'}, {op: 'collapse-recursion', text: 'main'}]}",
	} {
		p.Do("kprof.set({...{span: null, filter: new Map()}, ..." + state + "})")
		want := browsertest.Eval[[]string](p, seen)
		again := openPage(t, string(saved(t, p, "await kprof.selectedPage()")), browsertest.View{})
		if got := browsertest.Eval[[]string](again, seen); !slices.Equal(got, want) {
			t.Errorf("%s: %.3000q\nwant %.3000q", state, got, want)
		}
		equal(t, "title", browsertest.Eval[[]string](again, "[document.title, document.querySelector('h1').textContent]"), []string{"a & <b> (selected)", "a & <b> (selected)"})
		if strings.Contains(state, "show") {
			equal(t, "names", browsertest.Eval[[]string](again, "kprof.p.head.names"), []string{"main", "serve", "[server]", "[kernel]"})
			equal(t, "clock", browsertest.Eval[string](again, "kprof.p.head.clock"), fmt.Sprint(s.TimedSamples[0].Time))
		}
		equal(t, "values", browsertest.Eval[bool](again, "kprof.p.head.values.every((all, k) => all.every((_, v) => kprof.p.head.labels.some((l) => l.some((x, i) => i % 2 === 0 && x === k && l[i + 1] === v))))"), true)
	}
}
