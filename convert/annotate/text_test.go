package annotate

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// longListing has samples in instruction 20 of 40.
func longListing() (*stacks.Set, *Annotation) {
	s := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
	l := &Listing{Function: "f\x1b[31m", Path: "/p", Self: 200, Cum: 201, Mapping: stacks.Mapping{File: "/was/p", BuildID: "abcd"}}
	for i := range uint64(40) {
		l.Rows = append(l.Rows, Row{Off: i, Text: "nop"})
	}
	l.Rows[20] = Row{Off: 20, Text: "hot\x1b", Self: 198, Cum: 198, Source: Source{File: "/src/a/b.c", Line: 2, Function: "inlined"}}
	l.Rows[21].Self, l.Rows[21].Cum = 2, 2
	l.Rows[22].Cum = 1
	return s, &Annotation{Total: 402, Listings: []*Listing{l}, Missing: []Missing{{Mapping: stacks.Mapping{File: "/q"}, Self: 1, Cum: 2, Err: errors.New("gone")}}, Inlined: []Inlined{{"g", 3, 4}}}
}

// TestText: on a terminal what is around samples, in colours; lines of source beside
// instructions, or with their text above them.
func TestText(t *testing.T) {
	s, a := longListing()
	text := func(o TextOptions) string {
		var b bytes.Buffer
		if err := a.WriteText(&b, s, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	head := "Function: f\uFFFD[31m in /p, build id abcd\nEvent: cycles, cycles of count\nTotal: 200 self, 201 with what it calls, of 402 (50.00%)\n\n"
	got := text(TextOptions{Color: true, Context: 1})
	want := head + `      self   self%        cum    cum%  offset  source         instruction
` + "\x1b[2m" + `                                               … 19 without samples` + "\x1b[m" + `
                                           13                 nop
` + "\x1b[31m" + `       198  99.00%        198  98.51%      14  b.c:2 inlined  hot` + "\uFFFD\x1b[m" + `
` + "\x1b[32m" + `         2   1.00%          2   1.00%      15                 nop` + "\x1b[m" + `
                            1   0.50%      16                 nop
                                           17                 nop
` + "\x1b[2m" + `                                               … 16 without samples` + "\x1b[m" + `
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := text(TextOptions{}); strings.Count(got, "\n") != 5+40 || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
	source := func(file string, line int) string { return map[string]string{"/src/a/b.c": "x++;"}[file] }
	got = text(TextOptions{Text: source, Context: 1})
	if !strings.Contains(got, "\n                                               b.c:2 inlined: x++;\n       198  99.00%        198  98.51%      14  hot\uFFFD\n") {
		t.Errorf("%s", got)
	}
	for _, line := range strings.Split(text(TextOptions{Width: 50, Context: 1}), "\n")[4:] {
		if len([]rune(line)) > 50 {
			t.Errorf("%q is wider than 50", line)
		}
	}
	a.Listings[0].Rows = a.Listings[0].Rows[:3] // none has samples
	if got := text(TextOptions{Context: 1}); strings.Count(got, "nop") != 3 {
		t.Errorf("%s", got)
	}
}

func TestJSON(t *testing.T) {
	s, a := longListing()
	a.Listings[0].Rows = a.Listings[0].Rows[19:21]
	var b bytes.Buffer
	if err := a.WriteJSON(&b, s, Options{}); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"event": "cycles", "type": "cycles", "unit": "count", "total": 402,
		"functions": [{"function": "f\u001b[31m", "file": "/p", "recorded_file": "/was/p", "build_id": "abcd", "self": 200, "cum": 201, "instructions": [
			{"offset": 19, "text": "nop", "self": 0, "cum": 0},
			{"offset": 20, "text": "hot\u001b", "self": 198, "cum": 198, "source": "/src/a/b.c", "line": 2, "function": "inlined"}]}],
		"missing": [{"recorded_file": "/q", "self": 1, "cum": 2, "reason": "gone"}],
		"inlined": [{"into": "g", "self": 3, "cum": 4}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s", b.Bytes())
	}
}

// TestSources: a file is found by as much of its path as is there, and never outside.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	if err := os.MkdirAll(filepath.Join(tree, "fs", "ext4"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		livetest.WriteFile(t, filepath.Join(dir, name), text)
	}
	write("tree/fs/read.c", "one\n\ttwo\n")
	write("tree/read.c", "other\n")
	write("secret", "secret\n")
	if err := os.Symlink("../secret", filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSources(tree)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, x := range []struct {
		file string
		line int
		want string
	}{
		{"/build/linux/fs/read.c", 2, "two"},
		{"fs/read.c", 1, "one"},
		{"/build/linux/fs/read.c", 3, ""},
		{"fs/read.c", 0, ""},
		{"fs/read.c", -1, ""},
		{"/mm/read.c", 1, "other"},
		{"/x/../secret", 1, ""},
		{"../secret", 1, ""},
		{"link", 1, ""},
		{"fs", 1, ""},
		{"", 1, ""},
		{"/nowhere.c", 1, ""},
	} {
		if got := s.Text(x.file, x.line); got != x.want {
			t.Errorf("%s:%d: %q, want %q", x.file, x.line, got, x.want)
		}
	}
	if _, err := OpenSources(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
