package flamegraph

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

func svg(t testing.TB, s *stacks.Set, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := Write(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// svgFile writes a flame graph to a file that goes with the test.
func svgFile(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "graph.svg")
	livetest.WriteFile(t, name, text)
	return name
}

// wideNames have letters that are wider than most.
var wideNames = []string{strings.Repeat("日本語", 20), strings.Repeat("Ǆ𝕎ﬃ", 20)}

func hostileSet() *stacks.Set {
	s := stacks.New(stacks.Event{Name: `<b>"event"]]>`, Values: []stacks.ValueType{{Type: `<i>'type'`, Unit: `]]>&unit`}}})
	for i, name := range slices.Concat(stackstest.Hostile, wideNames) {
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
	text := svg(t, hostileSet(), Options{Title: stackstest.Hostile[2], Notes: stackstest.Hostile})
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
	s, empty := stackstest.TreeSet(), stacks.New(stackstest.OneEvent())
	negative := stacks.New(stackstest.OneEvent())
	negative.Add(0, negative.Intern(nil), 0, -1, 1)
	tests := []struct {
		s    *stacks.Set
		o    Options
		want string
	}{
		{s, Options{Event: 2}, "no event 2"},
		{s, Options{Column: 2}, "no column 2"},
		{s, Options{Width: 99}, "width of 99"},
		{s, Options{Width: -1}, "width of -1"},
		{s, Options{Total: -1}, "total of -1"},
		{s, Options{Total: 1022}, "more than a total of 1022"},
		{s, Options{ByTime: true}, "no times"},
		{s, Options{ByTime: true, Reverse: true}, "order of time"},
		{s, Options{MinWidth: math.NaN()}, "no such width"},
		{s, Options{Color: ColorGrey + 1}, "no such"},
		{empty, Options{}, "no samples"},
		{negative, Options{}, "below 0"},
	}
	for _, test := range tests {
		if _, err := Write(io.Discard, test.s, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, not one with %q", test.o, err, test.want)
		}
	}
	for _, o := range []DiffOptions{{BaseEvent: 2}, {BaseColumn: 2}, {Options: Options{Event: 2}}, {BaseScale: -1}, {BaseScale: math.Inf(1)},
		{BaseScale: math.NaN()}, {Options: Options{Total: 5000}}} {
		if _, err := WriteDiff(io.Discard, s, s, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	for _, sets := range [][2]*stacks.Set{{s, empty}, {empty, s}, {negative, s}} {
		if _, err := WriteDiff(io.Discard, sets[0], sets[1], DiffOptions{}); err == nil {
			t.Error("no error for a comparison with an empty or a compared profile")
		}
	}
	full := writerThat(func(p []byte) (int, error) { return 0, io.ErrShortWrite })
	if _, err := Write(full, s, Options{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a writer's error comes back as %v", err)
	}
}

type writerThat func([]byte) (int, error)

func (w writerThat) Write(p []byte) (int, error) { return w(p) }

// TestSVGSize: a profile with far more to show than can be opened is cut, and
// says so.
func TestSVGSize(t *testing.T) {
	s := stacks.New(stackstest.OneEvent())
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
	text := svg(t, s, Options{})
	if len(text) > 5_000_000 || len(text) < 2_500_000 {
		t.Errorf("the file has %d bytes", len(text))
	}
	if !strings.Contains(text, "px are left out, and all they call: ") {
		t.Error("the file does not say that frames are left out")
	}
}

// TestDiffLook: what is gone, new, more, less and the same is marked as that.
func TestDiffLook(t *testing.T) {
	set := func(gone, less, same, more, fresh int64) *stacks.Set {
		var rows []stackstest.Row
		for name, v := range map[string]int64{"gone": gone, "less": less, "same": same, "more": more, "fresh": fresh} {
			if v > 0 {
				rows = append(rows, stackstest.NewRow("x", 1, v, name, "u"))
			}
		}
		return stackstest.SetOf(rows)
	}
	tree, err := calltree.Source{Base: set(5, 400, 1000, 300, 0), Set: set(0, 300, 1004, 400, 1), BaseScale: 1}.Tree(calltree.Options{})
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
	s := stackstest.Wide(680_000, 30, 50_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Write(io.Discard, s, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCutString(t *testing.T) {
	livetest.Table(t, Cut.String, map[Cut]string{
		{Frames: 12345, Width: .1}:   "12,345 frames narrower than 0.1 px are",
		{Frames: 2, Width: 0.000123}: "2 frames narrower than 0.00012 px are",
		{Frames: 1, Width: 1100}:     "1 frame narrower than 1100 px is",
		{Frames: 3, Width: 12.5}:     "3 frames narrower than 12 px are",
	})
}
