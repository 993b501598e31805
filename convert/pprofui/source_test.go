package pprofui

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// TestSourcePage: the listing has lines of files below the directory that was opened,
// and of no others, although the profile names them.
func TestSourcePage(t *testing.T) {
	open, closed := t.TempDir(), t.TempDir()
	for _, dir := range []string{open, closed} {
		livetest.WriteFile(t, filepath.Join(dir, "work.c"), "int work(void)\n{\n\treturn 0; // "+dir+"\n}\n")
	}
	if err := os.Symlink(filepath.Join(closed, "work.c"), filepath.Join(open, "link.c")); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(open)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, tt := range []struct {
		dir         *os.Root
		file, shows string
	}{
		{dir, filepath.Join(open, "work.c"), "return 0; // " + open},
		{dir, "/build/work.c", "return 0; // " + open},
		{dir, filepath.Join(open, "link.c"), "???"},
		{nil, filepath.Join(open, "work.c"), "???"},
	} {
		set := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		at := set.AddLocation(set.AddMapping(stacks.Mapping{File: "/bin/app", Limit: 0x1000}), 0x10, stacks.KindUser)
		set.SetLines(at, stacks.Line{Function: set.AddFunction(stacks.Function{Name: "work", File: tt.file, StartLine: 1}), Line: 3})
		set.Add(0, set.Intern([]uint32{at}), 0, 3)
		var shown Profiles
		if err := shown.Show(set); err != nil {
			t.Fatal(err)
		}
		pages := sourcePages{dir: tt.dir, from: &shown, options: Options{Program: "a test", SourceHint: " Open one.", Message: func(text string) { t.Error(text) }}}
		w := httptest.NewRecorder()
		pages.serve(w, httptest.NewRequest("GET", "/source?f=work", nil))
		note := fmt.Sprintf("Source is read only below %s.", open)
		if tt.dir == nil {
			note = "a test opens nothing that a profile names. Open one."
		}
		body := w.Body.String()
		if !strings.Contains(body, tt.shows) || !strings.Contains(body, note) || strings.Contains(body, "return 0; // "+closed) {
			t.Errorf("%s: %s", tt.file, body)
		}
		if tt.shows == "???" && strings.Contains(body, "return 0;") {
			t.Errorf("%s is shown:\n%s", tt.file, body)
		}
	}
}
