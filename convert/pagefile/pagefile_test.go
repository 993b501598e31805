package pagefile

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/folded"
	"kprof/convert/page"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

// pageOf is a page of a Set, and what is read of it.
func pageOf(t *testing.T, s *stacks.Set, o Options) (text string, again *stacks.Set) {
	t.Helper()
	var b strings.Builder
	if err := page.Write(&b, s, page.Options{}); err != nil {
		t.Fatal(err)
	}
	again, err := Read(strings.NewReader(b.String()), o)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), again
}

// lines are the folded stacks of a column, of which text and its weight is all that counts.
func lines(t *testing.T, s *stacks.Set, event, column int) string {
	t.Helper()
	var b bytes.Buffer
	if err := folded.Write(&b, s, folded.Options{Event: event, Column: column, PlainNames: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// moments are the times of samples, with their values and functions.
func moments(s *stacks.Set) (all []string) {
	for _, m := range s.TimedSamples {
		text := fmt.Sprint(m.Time, " ", m.Value)
		x := s.Sample(int(m.Sample))
		for _, loc := range s.Stack(x.Stack) {
			for _, l := range s.Lines(loc) {
				text += ";" + s.Functions[l.Function].Name
			}
		}
		all = append(all, text)
	}
	return all
}

// TestRead: what is read of a page is what was written into it: stacks, values, labels and times.
func TestRead(t *testing.T) {
	sets := map[string]*stacks.Set{"of each kind": stackstest.TreeSet(), "wide": stackstest.Wide(3000, 20, 500)}
	for seed := range uint64(4) {
		sets[fmt.Sprint("rows ", seed)] = stackstest.SetOf(stackstest.PlainRows(seed, 500))
		sets[fmt.Sprint("graph ", seed)] = stackstest.GraphOf(2000, seed)
	}
	for name, s := range sets {
		t.Run(name, func(t *testing.T) {
			s.TimeNanos, s.DurationNanos, s.Comments = 1_600_000_000_123_000_000, 5e9, []string{"host: here"}
			stackstest.Timed(s)
			_, again := pageOf(t, s, Options{Times: true})
			if len(again.Events) != len(s.Events) {
				t.Fatalf("%d events, not %d", len(again.Events), len(s.Events))
			}
			for e := range s.Events {
				if d := cmp.Diff(s.Events[e], again.Events[e]); d != "" {
					t.Error(d)
				}
				for c := range s.Events[e].Values {
					if d := cmp.Diff(lines(t, s, e, c), lines(t, again, e, c)); d != "" {
						t.Errorf("column %d: %s", c, d)
					}
				}
			}
			if d := cmp.Diff(s.LabelKeys(), again.LabelKeys()); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(moments(s), moments(again)); d != "" {
				t.Error(d)
			}
			if again.TimeNanos != s.TimeNanos || again.DurationNanos != s.DurationNanos || !slices.Equal(again.Comments, s.Comments) {
				t.Errorf("%d, %d, %q", again.TimeNanos, again.DurationNanos, again.Comments)
			}
			for id := range again.NumLabels() {
				if l, ok := again.Label(stacks.LabelsID(id), "pid"); ok && l.Str != "" {
					t.Errorf("pid %+v", l)
				}
			}
			var all int64
			_, blocks := pageOf(t, s, Options{})
			for _, b := range blocks.BlockSums {
				all += b.Value
			}
			var want int64
			for _, m := range s.TimedSamples {
				want += m.Value
			}
			if len(blocks.TimedSamples) > 0 || all != want {
				t.Errorf("sums over blocks come to %d, and the samples to %d", all, want)
			}
		})
	}
}

// TestReadShown: the value that a page shows first is the one that is shown of what is read of it;
// a damaged page may say anything.
func TestReadShown(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "space", Values: []stacks.ValueType{{Type: "objects", Unit: "count"}, {Type: "space", Unit: "bytes"}}})
	s.Add(0, s.Intern(nil), 0, 2, 4096)
	for column, want := range []string{"objects", ""} { // the last is shown anyway
		var b strings.Builder
		if err := page.Write(&b, s, page.Options{Column: column}); err != nil {
			t.Fatal(err)
		}
		again, err := Read(strings.NewReader(b.String()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if again.DefaultType != want {
			t.Errorf("column %d: the default is %q, want %q", column, again.DefaultType, want)
		}
	}
	for _, h := range []head{{Event: -1}, {Event: 1}, {Column: -1}, {Column: 2}} {
		d := decoder{head: h}
		d.head.Events = append(d.head.Events, struct {
			Name     string
			Columns  []column
			Rows     int
			Counted  bool
			Instants bool
		}{Columns: []column{{Type: "a"}, {Type: "b"}}})
		if err := d.addEvents(); err != nil || d.set.DefaultType != "" {
			t.Errorf("%+v: %q, %v", h, d.set.DefaultType, err)
		}
	}
}

// TestReadPlaces: mappings, kinds of code and inlined functions are as they were.
func TestReadPlaces(t *testing.T) {
	s := stacks.New(stackstest.OneEvent())
	vmlinux := s.AddMapping(stacks.Mapping{File: "[kernel.kallsyms]", Kind: stacks.KindKernel, BuildID: "ab"})
	lib := s.AddMapping(stacks.Mapping{File: "/lib/libx.so", Kind: stacks.KindUser, BuildID: "cd"})
	named := func(m int32, kind stacks.Kind, names ...string) uint32 {
		loc := s.AddLocation(m, 0x1000, kind)
		var l []stacks.Line
		for _, n := range names {
			l = append(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: n, SystemName: n, File: n + ".c", StartLine: 7})})
		}
		s.SetLines(loc, l...)
		return loc
	}
	read, inlined, unnamed := named(vmlinux, stacks.KindKernel, "vfs_read"), named(lib, stacks.KindUser, "leaf", "middle", "outer"), named(lib, stacks.KindUser)
	s.Add(0, s.Intern([]uint32{read, inlined, unnamed}), 0, 2, 500)
	_, again := pageOf(t, s, Options{})
	stack := again.Stack(again.Sample(0).Stack)
	if len(stack) != 3 {
		t.Fatalf("%d locations", len(stack))
	}
	for i, want := range []struct {
		names    string
		file, id string
		kind     stacks.Kind
	}{
		{"vfs_read", "[kernel.kallsyms]", "ab", stacks.KindKernel},
		{"leaf middle outer", "libx.so", "cd", stacks.KindUser},
		{"", "libx.so", "cd", stacks.KindUser},
	} {
		var names []string
		for _, l := range again.Lines(stack[i]) {
			f := again.Functions[l.Function]
			names = append(names, f.Name)
			if f.File != f.Name+".c" || f.StartLine != 7 {
				t.Errorf("%+v", f)
			}
		}
		l := again.Locations[stack[i]]
		m := again.Mappings[l.Mapping]
		if got := strings.Join(names, " "); got != want.names || m.File != want.file || m.BuildID != want.id || m.Kind != want.kind || l.Kind != want.kind {
			t.Errorf("%q in %+v, %v", got, m, l.Kind)
		}
	}
}

// TestCut: of a page in which stacks are cut, values are those of the Set.
func TestCut(t *testing.T) {
	s := stackstest.GraphOf(3000, 1)
	var b strings.Builder
	if err := page.Write(&b, s, page.Options{}); err != nil {
		t.Fatal(err)
	}
	data := unpacked(t, b.String())
	n, size := binary.Uvarint(data)
	var h map[string]any
	if err := json.Unmarshal(data[size:size+int(n)], &h); err != nil {
		t.Fatal(err)
	}
	// What functions cost stands before the moments, of which there are none: a single function.
	h["cut"] = true
	for range s.Events[0].Values {
		data = append(data, 1, 0, 2, 2)
	}
	head, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(strings.NewReader(packed(append(binary.AppendUvarint(nil, uint64(len(head))), append(head, data[size+int(n):]...)...))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(lines(t, s, 0, 0), lines(t, again, 0, 0)); d != "" {
		t.Error(d)
	}
}

// unpacked are the data of a page.
func unpacked(t testing.TB, text string) []byte {
	t.Helper()
	_, text, _ = strings.Cut(text, element)
	text, _, _ = strings.Cut(text, "<")
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packed is a page with these data.
func packed(data []byte) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return "<!doctype html>\n" + element + base64.StdEncoding.EncodeToString(b.Bytes()) + "</script>\n"
}

func TestErrors(t *testing.T) {
	text, _ := pageOf(t, stackstest.TreeSet(), Options{})
	if !Is([]byte(text[:4096])) || Is([]byte("<!doctype html>\n<title>kprof</title>")) {
		t.Error("a page is not known by how it begins")
	}
	at := strings.Index(text, element) + len(element)
	data := unpacked(t, text)
	for _, x := range []struct{ name, text, want string }{
		{"another page", "<!doctype html>\n<p>no profile</p>", ErrNoProfile.Error()},
		{"without data", text[:at] + "</script>", ErrNoProfile.Error()},
		{"cut off", text[:at+200], "it is cut off"},
		{"data that are none", text[:at] + "AAAA</script>", "read page: "},
		{"no base64", text[:at] + "*</script>", "read page: "},
		{"cut data", packed(data[:len(data)-3]), "ends early"},
		{"a long head", packed(binary.AppendUvarint(nil, 1<<40)), "no profile is like that"},
		{"no head", packed([]byte{2, '{', 'x'}), "its head"},
		{"no events", packed([]byte("\x0c{\"format\":2}")), "no events"},
		{"another version", packed([]byte{2, '{', '}'}), "another version of kprof"},
	} {
		if _, err := Read(strings.NewReader(x.text), Options{}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, not %q", x.name, err, x.want)
		}
	}
	// What expands to very much more than it is stored as.
	head := `{"format":2,"events":[{"name":"x","columns":[{"type":"samples","unit":"count"}],"rows":0}],"names":["f"],"frames":[0,1,-1,0,0,0],"labels":[[]],"clock":"1","nodes":400000000}`
	bomb := append(append(binary.AppendUvarint(nil, uint64(len(head))), head...), append([]byte{1, 0, 1, 0, 0}, bytes.Repeat([]byte{1}, 64<<20)...)...)
	var large *stacks.TooLargeError
	if _, err := Read(strings.NewReader(packed(bomb)), Options{}); !errors.As(err, &large) {
		t.Errorf("of a bomb: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	fuzztest.Add(f)
	f.Fuzz(func(t *testing.T, head string, body []byte) {
		data := append(binary.AppendUvarint(nil, uint64(len(head))), head...)
		text := packed(append(data, body...))
		defer memtest.Within(t, 32<<20+2000*(len(head)+len(body)))()
		s, err := Read(strings.NewReader(text), Options{Times: len(body)%2 == 0})
		if err != nil {
			return
		}
		for e := range s.Events {
			s.Totals(e)
		}
		if err := folded.Write(&bytes.Buffer{}, s, folded.Options{}); err != nil {
			t.Fatal(err)
		}
	})
}
