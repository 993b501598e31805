package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
)

// graphOf makes a Set of samples that wander through functions of each kind:
// stacks of up to 40 frames, of which many share their beginning.
func graphOf(n int, seed uint64) *stacks.Set {
	r := rand.New(rand.NewPCG(seed, 5))
	s := stacks.New(oneEvent())
	kinds := []stacks.Kind{stacks.KindUser, stacks.KindUser, stacks.KindUser, stacks.KindKernel, stacks.KindKernel,
		stacks.KindModule, stacks.KindBPF, stacks.KindAnon, stacks.KindGuest, stacks.KindUnknown}
	var locations []uint32
	for i := range 60 {
		kind := kinds[i%len(kinds)]
		m := int32(stacks.NoMapping)
		if kind != stacks.KindUnknown {
			m = s.AddMapping(stacks.Mapping{File: "/lib/x.so", Kind: kind})
		}
		l := s.AddLocation(m, uint64(i), kind)
		name := fmt.Sprintf("f%d_%s", i, strings.Repeat("x", r.IntN(30)))
		lines := []stacks.Line{{Function: s.AddFunction(stacks.Function{Name: name})}}
		if i%7 == 0 {
			lines = append([]stacks.Line{{Function: s.AddFunction(stacks.Function{Name: "inline_" + name})}}, lines...)
		}
		s.SetLines(l, lines...)
		locations = append(locations, l)
	}
	var labels []stacks.LabelsID
	for i := range 3 {
		labels = append(labels, s.InternLabels([]stacks.Label{{Key: "comm", Str: fmt.Sprintf("worker/%d", i)}, {Key: "pid", Num: int64(i)}}))
	}
	for range n {
		var chain []uint32
		at := r.IntN(3)
		for range 1 + r.IntN(1+r.IntN(40)) {
			chain = append(chain, locations[at])
			at = (at*7 + 1 + int(math.Abs(r.NormFloat64())*.9)) % len(locations)
		}
		slices.Reverse(chain)
		value := 1 + r.Int64N(9)
		s.Add(0, s.Intern(chain), labels[r.IntN(3)], value, value*250_000)
	}
	return s
}

func svg(t testing.TB, s *stacks.Set, o SVGOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := SVG(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// svgFile writes a flame graph to a file that goes with the test.
func svgFile(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "graph.svg")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// hostile are names that would be something else than text if they were not
// written with care.
var hostile = []string{
	`<script>pwned()</script>`,
	`</script><script>pwned()</script>`,
	`]]><script xmlns="http://www.w3.org/2000/svg">pwned()</script><![CDATA[`,
	`"><img src=x onerror=pwned()>`,
	`' onclick='pwned()`,
	`&lt;&amp;&#x41;`,
	`std::map<std::string, int>::operator[](std::string const&)`,
	`${pwned()}`, "`+pwned()+`", `\u003cb\u003e`, `\`, `"`,
	"naïve_ﬁ_日本語_имя_🔥🔥🔥",
	"a\x00b\x01\x1b[31mred\x7f\x9b\u2028\u2029\u202eevil\ufffe\uffff",
	"broken \xff\xfe utf-8 \xe2\x82",
	"__proto__", "constructor", "",
	strings.Repeat("long<&]]>", 445)[:4000],
}

// wideNames have letters that are wider than most.
var wideNames = []string{strings.Repeat("日本語", 20), strings.Repeat("Ǆ𝕎ﬃ", 20)}

func hostileSet() *stacks.Set {
	s := stacks.New(stacks.Event{Name: `<b>"event"]]>`, Values: []stacks.ValueType{{Type: `<i>'type'`, Unit: `]]>&unit`}}})
	for i, name := range slices.Concat(hostile, wideNames) {
		l := s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindUnknown)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: name}})
		s.Add(0, s.Intern([]uint32{l}), labels, 100)
	}
	return s
}

// TestSVGIsXML: whatever names hold, the file is well-formed, has one script and
// only the elements that flame graphs have.
func TestSVGIsXML(t *testing.T) {
	text := svg(t, hostileSet(), SVGOptions{Title: hostile[2], Notes: hostile})
	d := xml.NewDecoder(strings.NewReader(text))
	elements := make(map[string]int)
	var labels []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			elements[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "pwned") {
					t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			labels = append(labels, string(e))
		}
	}
	if elements["script"] != 1 || elements["style"] != 1 {
		t.Errorf("%d scripts and %d styles", elements["script"], elements["style"])
	}
	for name := range elements {
		if !slices.Contains(strings.Fields("svg title style g rect text path script"), name) {
			t.Errorf("an element %s", name)
		}
	}
	if !slices.Contains(labels, "naïve_ﬁ_日本語_имя_🔥🔥🔥") && !strings.Contains(text, "naïve_ﬁ") {
		t.Error("a name of other alphabets is not written as it is")
	}
	if strings.ContainsFunc(text, func(r rune) bool {
		return r == 0xfffe || r == 0xffff || r < ' ' && r != '\n' && r != '\t' || r == 0x202e || r == 0x9b
	}) || !utf8.ValidString(text) {
		t.Error("characters that XML does not have, or that nobody sees")
	}
	if strings.Contains(svgScript, "]]>") || strings.Contains(svgStyle, "<") || strings.Contains(svgStyle, "&") {
		t.Error("the script or the style would end before its end")
	}
}

func TestFitting(t *testing.T) {
	tests := []struct {
		name string
		room float64 // in letters
		want string
	}{
		{"vfs_read", 8, "vfs_read"},
		{"vfs_read", 7, "vfs_re…"},
		{"vfs_read", 3, "vf…"},
		{"vfs_read", 2, ""},
		{"ab", 2, "ab"},
		{"ab", 1, ""},
		{"", 5, ""},
		{"a/b/pkg.(*T).run/x", 30, "a/b/pkg.(*T).run/x"},
		{"a/b/pkg.(*T).run/x", 14, "pkg.(*T).run/x"},
		{"a/b/pkg.(*T).run/x", 8, "pkg.(*T…"},
		{"/usr/lib/", 5, "/usr…"},
		{"kworker/u8:2-events", 8, "kworker…"},
		{"日本語日本語", 10, "日本…"}, // three letters wide, at most
	}
	for _, test := range tests {
		if got := fitting(test.name, test.room*textWidth+.01); got != test.want {
			t.Errorf("%q in %v letters: %q, not %q", test.name, test.room, got, test.want)
		}
	}
}

func TestSVGErrors(t *testing.T) {
	s, empty := treeSet(), stacks.New(oneEvent())
	negative := stacks.New(oneEvent())
	negative.Add(0, negative.Intern(nil), 0, -1, 1)
	tests := []struct {
		s    *stacks.Set
		o    SVGOptions
		want string
	}{
		{s, SVGOptions{Event: 2}, "no event 2"},
		{s, SVGOptions{Column: 2}, "no column 2"},
		{s, SVGOptions{Width: 99}, "width of 99"},
		{s, SVGOptions{Width: -1}, "width of -1"},
		{s, SVGOptions{Total: -1}, "total of -1"},
		{s, SVGOptions{Total: 1022}, "more than a total of 1022"},
		{s, SVGOptions{ByTime: true}, "no times"},
		{s, SVGOptions{ByTime: true, Reverse: true}, "order of time"},
		{s, SVGOptions{MinWidth: math.NaN()}, "no such width"},
		{s, SVGOptions{Color: ColorGrey + 1}, "no such"},
		{empty, SVGOptions{}, "no samples"},
		{negative, SVGOptions{}, "below 0"},
	}
	for _, test := range tests {
		if err := SVG(io.Discard, test.s, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, not one with %q", test.o, err, test.want)
		}
	}
	for _, o := range []DiffSVGOptions{{BaseEvent: 2}, {BaseColumn: 2}, {SVGOptions: SVGOptions{Event: 2}}, {BaseScale: -1}, {BaseScale: math.Inf(1)},
		{BaseScale: math.NaN()}, {SVGOptions: SVGOptions{Total: 5000}}} {
		if err := DiffSVG(io.Discard, s, s, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	for _, sets := range [][2]*stacks.Set{{s, empty}, {empty, s}, {negative, s}} {
		if err := DiffSVG(io.Discard, sets[0], sets[1], DiffSVGOptions{}); err == nil {
			t.Error("no error for a comparison with an empty or a compared profile")
		}
	}
	full := writerThat(func(p []byte) (int, error) { return 0, io.ErrShortWrite })
	if err := SVG(full, s, SVGOptions{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer's error comes back as %v", err)
	}
}

type writerThat func([]byte) (int, error)

func (w writerThat) Write(p []byte) (int, error) { return w(p) }

// TestSVGSize: a profile with far more to show than can be opened is cut, and
// says so.
func TestSVGSize(t *testing.T) {
	s := stacks.New(oneEvent())
	var locations []uint32
	for i := range 50_000 {
		l := s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindUnknown)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprintf("%s%d", strings.Repeat("n", 80), i)})})
		locations = append(locations, l)
	}
	for i := range 5000 {
		var chain []uint32
		for j := range 40 {
			chain = append(chain, locations[(i*40+j)%len(locations)])
		}
		s.Add(0, s.Intern(chain), 0, 1+int64(i%100), 1)
	}
	text := svg(t, s, SVGOptions{})
	if len(text) > 5_000_000 || len(text) < 2_500_000 {
		t.Errorf("the file has %d bytes", len(text))
	}
	if !strings.Contains(text, "px are left out, and all they call: ") {
		t.Error("the file does not say that frames are left out")
	}
}

// TestCut: leaving out afterwards is the same as before.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		s := graphOf(300, r.Uint64())
		least := r.Int64N(60)
		whole, err := NewTree(s, TreeOptions{Comm: true})
		if err != nil {
			t.Fatal(err)
		}
		whole.cut(func(i int) bool { return whole.Nodes[i].Value < least })
		cut, err := NewTree(s, TreeOptions{Comm: true, Min: (float64(least) - .5) / float64(whole.Nodes[0].Value)})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := drawTree(whole), drawTree(cut); got != want || whole.Cut != cut.Cut {
			t.Fatalf("%d left out afterwards, %d before\n%s", whole.Cut, cut.Cut, cmp.Diff(want, got))
		}
	}
}

// TestDiffLook: what is gone, new, more, less and the same is marked as that.
func TestDiffLook(t *testing.T) {
	set := func(gone, less, same, more, fresh int64) *stacks.Set {
		var rows []row
		for name, v := range map[string]int64{"gone": gone, "less": less, "same": same, "more": more, "fresh": fresh} {
			if v > 0 {
				rows = append(rows, row{"x", 1, v, []frame{{name, "u"}}})
			}
		}
		return setOf(rows)
	}
	tree, err := newDiffTree(set(5, 400, 1000, 300, 0), set(0, 300, 1004, 400, 1), TreeOptions{}, TreeOptions{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	look := diffLook(tree)
	marks := map[string]int{"gone": markGone, "less": markLess, "same": markNone, "more": markMore, "fresh": markNew}
	for i := range tree.Nodes {
		if i == 0 {
			continue
		}
		name := tree.Names[tree.Nodes[i].Name]
		color, mark := look.of(i)
		if mark != marks[name] {
			t.Errorf("%s has the mark %d, not %d", name, mark, marks[name])
		}
		side := map[string]int{"gone": -1, "less": -1, "same": 0, "more": 1, "fresh": 1}[name]
		if got := min(max(color-diffSteps, -1), 1); got != side {
			t.Errorf("%s has the colour %d", name, color)
		}
	}
}

// BenchmarkSVG draws 680,000 distinct stacks of 30 frames.
func BenchmarkSVG(b *testing.B) {
	s := wide(680_000, 30, 50_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := SVG(io.Discard, s, SVGOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
