package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kprof/convert"
	"kprof/convert/browsertest"
	"kprof/perfevent/livetest"
	"kprof/symbolize"
)

var every = flag.Bool("every", false, "look at pages of all recordings")

// TestEveryRecording: what TestEveryView does, with all recordings that there are, in both
// browsers. It takes half an hour, and is run by hand:
// go test -timeout 1h -run TestEveryRecording ./convert/page -every
func TestEveryRecording(t *testing.T) {
	if !*every {
		return
	}
	axe := needChecker(t, "axe-core", "axe-core/axe.min.js")
	for _, file := range livetest.Recordings(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			page := pageOfRecording(t, file)
			t.Run("chromium", func(t *testing.T) {
				p := browsertest.OpenFile(t, page, browsertest.View{})
				settle(p)
				if browsertest.Eval[bool](p, "!kprof.sums().total[0]") {
					return // as there are no samples, there is nothing to look at
				}
				h := hands{t, p}
				h.byKeys()
				h.byMouse()
				p.Do(axe)
				for _, v := range []browsertest.View{{}, {Width: 390, Height: 844, Mobile: true, Dark: true}} {
					p.View(v)
					for _, view := range viewNames {
						if h.disabled(view) {
							continue
						}
						p.Do(fmt.Sprintf("kprof.set({view: %q})", view))
						accessible(t, p, view)
						equal(t, view+": scrolls sideways", browsertest.Eval[bool](p, "document.documentElement.scrollWidth > innerWidth"), false)
					}
				}
			})
			t.Run("firefox", func(t *testing.T) {
				f := browsertest.OpenFirefox(t, browsertest.FileURL(t, page), browsertest.View{})
				f.Wait(firefoxSettled)
				h := hands{t, f}
				if h.text("!kprof.sums().total[0]") == "true" {
					return // as there are no samples, there is nothing to look at
				}
				h.byKeys()
				h.byMouse()
			})
		})
	}
}

// pageOfRecording is a page of what can be read of a recording.
func pageOfRecording(t *testing.T, file string) string {
	t.Helper()
	p, err := convert.Open(context.Background(), file, convert.Options{Selection: convert.Selection{Times: true}, Symbols: symbolize.Options{Root: t.TempDir()}})
	if p == nil || errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	event, page := p.Set.Most(), filepath.Join(t.TempDir(), "page.html")
	livetest.WriteFile(t, page, pageOf(t, p.Set, Options{Title: filepath.Base(file), Event: event, Column: len(p.Set.Events[event].Values) - 1}))
	return page
}
