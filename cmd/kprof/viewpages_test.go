//go:build linux

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/convert/browsertest"
	"kprof/perfevent/livetest"
)

// pageTotals is the sum of each event of the page, by name.
func pageTotals(p *browsertest.Page) map[string]int64 {
	p.Wait("window.kprof")
	totals := map[string]int64{}
	for _, e := range browsertest.Eval[[]struct {
		Name  string
		Total int64
	}](p, "kprof.p.events.map(e => ({Name: e.name, Total: e.values.at(-1).reduce((a, b) => a + b, 0)}))") {
		totals[e.Name] = e.Total
	}
	return totals
}

// TestViewPage: a profile is a page of ours, and behind a link the pages of pprof.
// Nobody else sees either, and nothing else is there.
func TestViewPage(t *testing.T) {
	v := startView(t, t.TempDir(), viewed(t))
	token := v.prefix()
	v.page("/", http.StatusOK, "<title>cpu.pb.gz</title>")
	v.page("/pprof/top", http.StatusOK, "vfs_read")
	for _, path := range []string{"/top", "/pprof/nothing", "/?tab=1", "/pprof/pprof/"} {
		v.page(path, http.StatusNotFound)
	}
	for _, path := range []string{"", "/", "/?tab=0", "/pprof/", "/pprof/top"} {
		for name, change := range map[string]func(*http.Request){
			"a foreign host":   func(r *http.Request) { r.Host = "evil.example" },
			"a foreign origin": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
			"no token":         func(r *http.Request) { r.URL.Path = strings.TrimPrefix(r.URL.Path, token) },
		} {
			if status, body := v.request("GET", token+path, change); status != http.StatusForbidden || strings.Contains(body, "work") {
				t.Errorf("%s: %s: status %d\n%.300s", name, path, status, body)
			}
		}
	}

	p := browsertest.Open(t, v.addr+"/", browsertest.View{})
	if got, want := fmt.Sprint(pageTotals(p)), "map[cpu-clock:4000000 page-faults:2]"; got != want {
		t.Errorf("totals %s, want %s", got, want)
	}
	p.ClickOn("#links a")
	p.Wait("location.pathname.endsWith('/pprof/flamegraph') && document.body.innerText.includes('work')")
	for _, link := range []string{"topbtn", "peek", "list", "flamegraph"} {
		href := browsertest.Eval[string](p, "document.getElementById('"+link+"').href")
		if !strings.HasPrefix(href, v.addr+"/pprof/") {
			t.Errorf("the link %s is to %s", link, href)
		}
	}
	if errs := v.end(unix.SIGINT); errs != "" {
		t.Errorf("it says %q", errs)
	}
}

// TestViewMany: inputs of several kinds are tabs, and the first tab has their sum, as
// pprof's pages have.
func TestViewMany(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/x.folded": "x;main;left 10\n", "b/x.folded": "y;main;right 20\nx;main;left 3\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, filepath.Join(dir, name), text)
	}
	v := startView(t, dir, filepath.Join(dir, "a/x.folded"), filepath.Join(dir, "b/x.folded"))
	p := browsertest.Open(t, v.addr+"/", browsertest.View{})
	p.Wait("window.kprof")
	if got := browsertest.Eval[[]string](p, "[...document.querySelectorAll('#tabs a')].map(a => a.textContent)"); !slices.Equal(got, []string{"all", "a/x.folded", "b/x.folded"}) {
		t.Errorf("tabs %q", got)
	}
	for tab, want := range []int64{33, 10, 23} {
		p.Go(fmt.Sprintf("%s/?tab=%d", v.addr, tab))
		for name, sum := range pageTotals(p) {
			if sum != want {
				t.Errorf("tab %d: %s has %d, want %d", tab, name, sum, want)
			}
		}
	}
	v.page("/pprof/top", http.StatusOK, `"Name":"main","InlineLabel":"","Flat":0,"Cum":33`)
	v.end(unix.SIGINT)
}

// TestViewChanged: pprof's pages, which are made of what is read again, show nothing else than
// the page beside them.
func TestViewChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.folded")
	livetest.WriteFile(t, file, "x;main;left 10\n")
	v := startView(t, t.TempDir(), file)
	livetest.WriteFile(t, file, "y;other 5\n")
	v.page("/pprof/top", http.StatusInternalServerError, file+" is no longer what the other pages show")
	v.page("/", http.StatusOK)
	v.end(unix.SIGINT)
}

// TestViewUnnamed: functions without a name are called by their file in pprof's pages
// too, which otherwise leave them out.
func TestViewUnnamed(t *testing.T) {
	dir := t.TempDir()
	out, err := kprof(t, "convert", "--symfs", dir, filepath.Join(root, "testdata", "demo.data"), "-o", filepath.Join(dir, "x.pb.gz")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folded, err := kprof(t, "convert", "-q", filepath.Join(dir, "x.pb.gz"), "-f", "folded").Output()
	if err != nil {
		t.Fatal(err)
	}
	v := startView(t, dir, filepath.Join(dir, "x.pb.gz"))
	top := v.page("/pprof/top", http.StatusOK)
	unnamed := map[string]bool{}
	for line := range strings.Lines(string(folded)) {
		stack := strings.Split(line[:strings.LastIndexByte(line, ' ')], ";")
		for _, frame := range stack[1:] {
			if strings.HasPrefix(frame, "[") && strings.HasSuffix(frame, "]") {
				unnamed[frame] = true
			}
		}
	}
	if len(unnamed) < 2 {
		t.Errorf("no functions are without a name: the test shows nothing\n%s", folded)
	}
	for name := range unnamed {
		if !strings.Contains(top, fmt.Sprintf(`"Name":%q`, name)) {
			t.Errorf("%s is not in pprof's table", name)
		}
	}
	v.end(unix.SIGINT)
}
