package browse_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"

	"kprof/convert/browse"
	"kprof/convert/folded"
)

// press has a browser handle keys, letters that are what is typed.
func press(b *browse.Browser, keys string) {
	for _, r := range keys {
		key := tcell.KeyRune
		if r == '\r' {
			key = tcell.KeyEnter
		}
		b.Handle(tcell.NewEventKey(key, r, tcell.ModNone))
	}
}

// TestDeepStack: what is open of a tree takes memory by its nodes, not by their depths.
func TestDeepStack(t *testing.T) {
	const deep = 10_000
	var names []string
	for i := range deep {
		names = append(names, fmt.Sprintf("function%d", i))
	}
	set, err := folded.Read(strings.NewReader(strings.Join(names, ";")+" 2\n"), folded.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := browse.New(set, browse.Options{Mode: browse.Tree})
	if err != nil {
		t.Fatal(err)
	}
	press(b, "*") // open all, and fill the tree anew
	b.Update(set, nil)
	runtime.ReadMemStats(&after)
	if perNode := (after.TotalAlloc - before.TotalAlloc) / deep; perNode > 4096 {
		t.Errorf("%d bytes for each function of a stack", perNode)
	}
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		t.Fatal(err)
	}
	defer screen.Fini()
	b.Handle(tcell.NewEventKey(tcell.KeyEnd, 0, tcell.ModNone))
	b.Draw(screen)
	screen.Show()
	cells, _, _ := screen.GetContents()
	var text strings.Builder
	for _, c := range cells {
		text.WriteString(string(c.Runes))
	}
	if !strings.Contains(text.String(), "2 100.00%          2 100.00%") { // its own, and with what it calls
		t.Errorf("the innermost function is not the last row:\n%s", text.String())
	}
}

// TestPage: a page is asked for as the profile was looked at.
func TestPage(t *testing.T) {
	set, err := folded.Read(strings.NewReader("main;parse;malloc 2\nmain;read 3\n"), folded.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := browse.New(set, browse.Options{Page: true})
	if err != nil {
		t.Fatal(err)
	}
	press(b, "i&^parse$\r/Mal\r")
	if at, wanted := b.Page(); wanted {
		t.Errorf("a page is wanted before it is asked for: %+v", at)
	}
	press(b, "w")
	at, wanted := b.Page()
	want := "0.0 inverted true, search Mal, focus (?i:^parse$)"
	got := fmt.Sprintf("%d.%d inverted %v, search %s", at.Event, at.Column, at.Inverted, at.Search)
	for _, step := range at.Steps {
		got += fmt.Sprintf(", %v %s", step.Op, step.Text)
	}
	if !wanted || got != want {
		t.Errorf("wanted %v: %s, want %s", wanted, got, want)
	}
}

// TestWide: columns are as wide as values that have more digits than a time.
func TestWide(t *testing.T) {
	set, err := folded.Read(strings.NewReader("main;parse 1234567890123\nmain 5\n"), folded.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := browse.New(set, browse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		t.Fatal(err)
	}
	defer screen.Fini()
	b.Draw(screen)
	screen.Show()
	cells, width, _ := screen.GetContents()
	line := func(y int) string {
		var text strings.Builder
		for _, c := range cells[y*width : (y+1)*width] {
			text.WriteString(string(c.Runes))
		}
		return strings.TrimRight(text.String(), " ")
	}
	for y, want := range map[int]string{
		2: "        ↓self   self%           cum    cum%  function",
		3: "1234567890123 100.00% 1234567890123 100.00%  parse  [unknown]",
		4: "            5   0.00% 1234567890128 100.00%  main  [unknown]",
	} {
		if got := line(y); got != want {
			t.Errorf("line %d:\n%q, want\n%q", y, got, want)
		}
	}
}
