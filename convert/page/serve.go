package page

import (
	"bytes"
	"fmt"
	"net/http"
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
// served.
type Tabs struct {
	names []string
	links []Link

	mu    sync.Mutex
	pages [][]byte // by tab, nil until it is written
}

// NewTabs makes tabs of these names, without pages. Each page has the links too.
func NewTabs(names []string, links ...Link) *Tabs {
	return &Tabs{names: names, links: links, pages: make([][]byte, len(names))}
}

// Write writes the page of a tab. The set is not kept.
func (t *Tabs) Write(tab int, s *stacks.Set, o Options) error {
	if len(t.names) > 1 {
		for i, name := range t.names {
			o.tabs = append(o.tabs, Link{name, fmt.Sprintf("?tab=%d", i)})
		}
	}
	o.tab, o.links = tab, t.links
	var b bytes.Buffer
	if err := Write(&b, s, o); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pages[tab] = bytes.Clone(b.Bytes()) // without what the buffer has room for
	return nil
}

// Empty reports whether no page has been written.
func (t *Tabs) Empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pages {
		if p != nil {
			return false
		}
	}
	return true
}

func (t *Tabs) page(tab int) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tab < 0 || tab >= len(t.pages) {
		return nil
	}
	return t.pages[tab]
}

func (t *Tabs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tab := 0
	if text := r.URL.Query().Get("tab"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			n = -1
		}
		tab = n
	}
	page := t.page(tab)
	if r.URL.Path != "/" || page == nil {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "a page is only to be read", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(page))
}
