package page

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"kprof/convert/stacks"
)

// Link is an address that a page leads to.
type Link struct {
	Text    string `json:"text"`
	Address string `json:"address"` // relative to that of the page
}

// Tabs serves pages from memory, side by side as tabs of one address: an http.Handler
// of the path "/", and of "/?tab=N" for tab N. A page may be written again while it is
// served. Of "/live?tab=N&after=VERSION" it answers with the data of a page that was written
// since, for which it waits a while; pages of what still goes on ask for that, until nothing
// will come.
type Tabs struct {
	names []string
	links []Link

	mu      sync.Mutex
	pages   []servedPage  // by tab
	written chan struct{} // closed when a page has been written
	waiting int           // who ask for what is newer
}

// servedPage is the page of a tab.
type servedPage struct {
	head, tail string // "" until it is written
	data       []byte // between them as base64, see pageData.compress
	// version counts how often it was written; live tells that it will be again.
	version int
	live    bool
}

// NewTabs makes tabs of these names, without pages. Each page has the links too.
func NewTabs(names []string, links ...Link) *Tabs {
	return &Tabs{names: names, links: links, pages: make([]servedPage, len(names)), written: make(chan struct{})}
}

// Write writes the page of a tab. The set is not kept.
func (t *Tabs) Write(tab int, s *stacks.Set, o Options) error { return t.write(tab, s, o, false) }

// WriteLive is Write of a page that will be written again: who looks at it then sees what
// was written last, until that is what Write wrote.
func (t *Tabs) WriteLive(tab int, s *stacks.Set, o Options) error { return t.write(tab, s, o, true) }

func (t *Tabs) write(tab int, s *stacks.Set, o Options, live bool) error {
	if len(t.names) > 1 {
		for i, name := range t.names {
			o.tabs = append(o.tabs, Link{name, fmt.Sprintf("?tab=%d", i)})
		}
	}
	o.tab, o.links = tab, t.links
	t.mu.Lock()
	page := servedPage{version: t.pages[tab].version + 1, live: live}
	t.mu.Unlock()
	if live {
		o.live = page.version
	}
	d, err := newPageData(s, o, usualLimits)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	var data bytes.Buffer
	if err := d.compress(&data); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	page.head, page.tail = htmlPage(d.head.Title, live)
	page.data = bytes.Clone(data.Bytes()) // without what the buffer has room for
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pages[tab] = page
	close(t.written)
	t.written = make(chan struct{})
	return nil
}

// End says that no page will be written again. Who looks at one that was live learns that
// what it shows may not be all.
func (t *Tabs) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.pages {
		t.pages[i].live = false
	}
	close(t.written)
	t.written = make(chan struct{})
}

// Empty reports whether no page has been written.
func (t *Tabs) Empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !slices.ContainsFunc(t.pages, func(p servedPage) bool { return p.head != "" })
}

// Waiting is how many wait for a page to be written again.
func (t *Tabs) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting
}

// page is the page that a request names, without a head if there is none.
func (t *Tabs) page(r *http.Request) (p servedPage, written <-chan struct{}) {
	tab := 0
	if text := r.URL.Query().Get("tab"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			n = -1
		}
		tab = n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if tab < 0 || tab >= len(t.pages) {
		return servedPage{}, t.written
	}
	return t.pages[tab], t.written
}

func (t *Tabs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, _ := t.page(r)
	if r.URL.Path != "/" && r.URL.Path != "/live" || page.head == "" {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "a page is only to be read", http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Path == "/live" {
		t.serveLive(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(page.head)+base64.StdEncoding.EncodedLen(len(page.data))+len(page.tail)))
	if r.Method == http.MethodHead {
		return
	}
	io.WriteString(w, page.head)
	text := base64.NewEncoder(base64.StdEncoding, w)
	text.Write(page.data)
	text.Close()
	io.WriteString(w, page.tail)
}

// longestWait is how long an answer waits for what is newer.
const longestWait = 20 * time.Second

// serveLive answers with what was written since a version, with nothing where it has waited for
// long, or that nothing will be written.
func (t *Tabs) serveLive(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil {
		http.Error(w, "after which version?", http.StatusBadRequest)
		return
	}
	t.wait(1)
	defer t.wait(-1)
	late := time.NewTimer(longestWait)
	defer late.Stop()
	for {
		page, written := t.page(r)
		if page.version > after {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write(page.data)
			return
		}
		if !page.live {
			http.Error(w, "the page is not written again", http.StatusGone)
			return
		}
		select {
		case <-written:
		case <-late.C:
			w.WriteHeader(http.StatusNoContent)
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (t *Tabs) wait(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting += n
}
