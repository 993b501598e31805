package page

import (
	"net/http/httptest"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks/stackstest"
)

// TestTabs: each tab is a page that leads to the others, with what is looked at, and to
// what else there is; nothing else is served.
func TestTabs(t *testing.T) {
	tabs := NewTabs([]string{"all", "a <i>", "b"}, Link{"pprof", "pprof/"})
	if !tabs.Empty() {
		t.Error("tabs without a page are not empty")
	}
	sets := []int64{5, 7}
	for i, n := range sets {
		s := stackstest.Wide(100, 5, 20)
		s.Add(0, s.Sample(0).Stack, 0, n, n)
		if err := tabs.Write(i, s, Options{Title: tabs.names[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if tabs.Empty() {
		t.Error("tabs with pages are empty")
	}
	server := httptest.NewServer(tabs)
	defer server.Close()
	for path, want := range map[string]int{"/": 200, "/?tab=0": 200, "/?tab=1": 200, "/?tab=2": 404, "/?tab=3": 404, "/?tab=-1": 404, "/?tab=x": 404, "/other": 404} {
		r, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		equal(t, path, r.StatusCode, want)
	}
	r, err := server.Client().Post(server.URL, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	equal(t, "POST", r.StatusCode, 405)

	p := browsertest.Open(t, server.URL+"/#search=f1", browsertest.View{})
	settle(p)
	equal(t, "tabs", browsertest.Eval[[]string](p, "[...document.querySelectorAll('#tabs a')].map(a => a.textContent)"), []string{"all", "a <i>", "b"})
	first := total(p)
	p.Screenshot("html-tabs")
	p.ClickOn("#tabs a:nth-child(2)")
	p.Wait("document.title === 'a <i>' && window.kprof")
	settle(p)
	equal(t, "total of the second", total(p), first+sets[1]-sets[0])
	equal(t, "what is looked at", hash(p), "#search=f1")
	equal(t, "the tab", browsertest.Eval[string](p, "document.querySelector('#tabs [aria-current]').textContent"), "a <i>")
	equal(t, "link", browsertest.Eval[string](p, "document.querySelector('#links a').href"), server.URL+"/pprof/")
}
