package symbolize

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
)

// server serves files as debuginfod does, and counts what it is asked for.
type server struct {
	files map[string]string // path of the URL to file
	mu    sync.Mutex
	asked map[string]int
}

func serve(t *testing.T, files map[string]string) (*server, string) {
	s := &server{files: files, asked: map[string]int{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h.URL
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	s.mu.Unlock()
	if file, ok := s.files[r.URL.Path]; ok {
		http.ServeFile(w, r, file)
		return
	}
	http.NotFound(w, r)
}

// strippedCopy returns a stripped copy of a program, and its debug file.
func strippedCopy(t *testing.T, path string) (stripped, debug string) {
	t.Helper()
	livetest.RequirePrograms(t, "objcopy", "strip")
	dir := t.TempDir()
	stripped, debug = filepath.Join(dir, "prog"), filepath.Join(dir, "debug")
	livetest.Run(t, "objcopy", "--only-keep-debug", path, debug)
	livetest.Run(t, "strip", "-o", stripped, path)
	return stripped, debug
}

func TestDebuginfod(t *testing.T) {
	kernel, id, addrs := miniature(t)
	stripped, debug := strippedCopy(t, kernel)
	file, err := elfsym.Open(kernel, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	off, ok := file.Offset(addrs["vfs_write"])
	file.Close()
	if !ok {
		t.Fatal("vfs_write is nowhere in the file")
	}
	byID := "/buildid/" + id
	srv, url := serve(t, map[string]string{byID + "/debuginfo": debug, byID + "/executable": stripped})
	empty, emptyURL := serve(t, nil)
	local := Mapping{Kind: mapping.User, File: stripped, BuildID: id}
	gone := Mapping{Kind: mapping.User, File: "/gone/prog", BuildID: id}
	vmlinux := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: id, Offset: addrs["_text"]}
	for _, test := range []struct {
		m    Mapping
		addr uint64
	}{{local, off}, {gone, off}, {vmlinux, addrs["vfs_write"]}} {
		opts := Options{Foreign: true, Inline: true, DebugDirs: []string{}}
		s := New(opts)
		if got, err := chain(t, s, test.m, test.addr); got != "" || err == nil {
			t.Errorf("%s without a server: %q, %v", test.m.File, got, err)
		}
		s.Close()
		opts.DebuginfodURLs = []string{"http://127.0.0.1:1/", emptyURL, url}
		opts.DebuginfodCache = t.TempDir()
		for range 2 {
			s := New(opts)
			for range 2 {
				if got, err := chain(t, s, test.m, test.addr); !strings.Contains(got, "vfs_write kernel.c:2") || err != nil {
					t.Errorf("%s: %q, %v", test.m.File, got, err)
				}
			}
			s.Close()
		}
		for path, n := range srv.asked {
			if n != 1 {
				t.Errorf("%s: asked %d times for %s", test.m.File, n, path)
			}
		}
		clear(srv.asked)
	}
	if len(empty.asked) == 0 {
		t.Error("the first server that answers was not asked")
	}

	// Without a directory nothing is left behind.
	t.Setenv("TMPDIR", t.TempDir())
	s := New(Options{Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{url}})
	if got, err := chain(t, s, gone, off); got == "" {
		t.Errorf("%q, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestDebuginfodRefuses(t *testing.T) {
	kernel, id, addrs := miniature(t)
	other, _, _ := miniature(t, "-DOTHER", "-O1")
	text := filepath.Join(t.TempDir(), "text")
	livetest.WriteFile(t, text, "no ELF file")
	m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: id, Offset: addrs["_text"]}
	for name, file := range map[string]string{"another build": other, "text": text, "too large": kernel} {
		srv, url := serve(t, map[string]string{"/buildid/" + id + "/debuginfo": file})
		dir := t.TempDir()
		s := New(Options{Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{url}, DebuginfodCache: dir})
		if name == "too large" {
			s.servers.limit = 1000
		}
		if got, err := chain(t, s, m, addrs["vfs_write"]); got != "" || err == nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		left, _ := filepath.Glob(filepath.Join(dir, id, "*"))
		hidden, _ := filepath.Glob(filepath.Join(dir, id, ".*"))
		if s.servers.dead[url] != (name != "too large") { // others may not be
			t.Errorf("%s: the server is asked no more: %v", name, s.servers.dead[url])
		}
		if len(left)+len(hidden) > 0 || len(srv.asked) != 1 {
			t.Errorf("%s: kept %v %v, asked %v", name, left, hidden, srv.asked)
		}
		s.Close()
	}
	// Endless answers without a length, and ids that are no hexadecimal numbers.
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	defer h.Close()
	s := New(Options{Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{h.URL}})
	defer s.Close()
	s.servers.limit = 1 << 20
	if got, err := chain(t, s, m, addrs["vfs_write"]); got != "" || err == nil {
		t.Errorf("endless: %q, %v", got, err)
	}
	for _, id := range []string{"", "..", "../../../etc", hex.EncodeToString([]byte("x")) + "/"} {
		if f, _, err := s.servers.fetch(id, "debuginfo"); err == nil {
			f.Close()
			t.Errorf("fetched %q", id)
		}
	}
}

// TestDebuginfodSlow asks a server that sends a byte now and then for ever, and one that
// never answers: both together delay for as long as patience goes, whatever is asked
// for, and that is told.
func TestDebuginfodSlow(t *testing.T) {
	gone := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for tick := time.NewTicker(20 * time.Millisecond); r.URL.Query() != nil; {
			select {
			case <-gone:
				return
			case <-r.Context().Done():
				return
			case <-tick.C:
				if strings.HasPrefix(r.URL.Path, "/silent") {
					continue
				}
				if _, err := w.Write([]byte{0x7f}); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		}
	}))
	defer h.Close()
	defer close(gone)
	s := New(Options{Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{h.URL, h.URL + "/silent"}})
	s.servers.patience.limit = 300 * time.Millisecond
	begun := time.Now()
	for i := range 20 {
		m := Mapping{Kind: mapping.User, File: "/gone/prog", BuildID: fmt.Sprintf("%040x", i+1)}
		if got, err := chain(t, s, m, 0x1000); got != "" || err == nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if took := time.Since(begun); took < 300*time.Millisecond || took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if err := s.ServerErr(); err == nil || strings.Count(err.Error(), "slower than") != 2 {
		t.Errorf("told %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestDebuginfodClose ends what is being fetched.
func TestDebuginfodClose(t *testing.T) {
	asked, gone := make(chan struct{}), make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-gone
	}))
	defer h.Close()
	defer close(gone)
	t.Setenv("TMPDIR", t.TempDir())
	s := New(Options{Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{h.URL}})
	s.servers.patience.limit = time.Hour
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Resolve(context.Background(), Mapping{Kind: mapping.User, File: "/gone/prog", BuildID: "0123456789abcdef"}, []uint64{1})
	}()
	<-asked
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-done
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := s.Resolve(context.Background(), Mapping{Kind: mapping.User, File: "/x"}, []uint64{1}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestDebuginfodRedirect: nothing that TLS protected comes without it.
func TestDebuginfodRedirect(t *testing.T) {
	kernel, id, addrs := miniature(t)
	_, plain := serve(t, map[string]string{"/buildid/" + id + "/debuginfo": kernel})
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/there") {
			http.ServeFile(w, r, kernel)
			return
		}
		http.Redirect(w, r, map[bool]string{true: plain, false: "/there"}[strings.HasPrefix(r.URL.Path, "/out")]+strings.TrimPrefix(r.URL.Path, "/out"), http.StatusFound)
	}))
	defer secure.Close()
	m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: id, Offset: addrs["_text"]}
	for url, good := range map[string]bool{secure.URL: true, secure.URL + "/out": false} {
		s := New(Options{Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{url}})
		s.servers.once.Do(s.servers.start)
		s.servers.client.Transport = secure.Client().Transport
		got, _ := chain(t, s, m, addrs["vfs_write"])
		if err := s.ServerErr(); (got != "") != good || (err == nil) != good || err != nil && !strings.Contains(err.Error(), "redirect from https to http") {
			t.Errorf("%s: %q, %v", url, got, err)
		}
		s.Close()
	}
}

// TestDebuginfodProxy: servers are asked by way of a proxy where there is one.
func TestDebuginfodProxy(t *testing.T) {
	kernel, id, addrs := miniature(t)
	proxy, address := serve(t, map[string]string{"/buildid/" + id + "/debuginfo": kernel})
	through, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{
		Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{"http://debuginfod.invalid"}, // RFC 2606: there is none
		DebuginfodProxy: http.ProxyURL(through),
	})
	defer s.Close()
	m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: id, Offset: addrs["_text"]}
	if got, err := chain(t, s, m, addrs["vfs_write"]); !strings.HasPrefix(got, "vfs_write") || len(proxy.asked) != 1 {
		t.Errorf("%q, %v; the proxy was asked for %v", got, err, proxy.asked)
	}
}

// TestDebuginfodPrivate: what is kept is for its user alone, and nothing is taken from
// where others may write.
func TestDebuginfodPrivate(t *testing.T) {
	kernel, id, addrs := miniature(t)
	_, url := serve(t, map[string]string{"/buildid/" + id + "/debuginfo": kernel})
	m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: id, Offset: addrs["_text"]}
	name := func(dir string) (string, error) {
		s := New(Options{Foreign: true, DebugDirs: []string{}, DebuginfodURLs: []string{url}, DebuginfodCache: dir})
		defer s.Close()
		got, _ := chain(t, s, m, addrs["vfs_write"])
		return got, s.ServerErr()
	}
	dir := filepath.Join(t.TempDir(), "new")
	if got, err := name(dir); got == "" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	for path, want := range map[string]fs.FileMode{"": 0o700, id: 0o700, id + "/debuginfo": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := name(dir); got != "" || err == nil || !strings.Contains(err.Error(), "others may write") {
		t.Errorf("%q, %v", got, err)
	}
}
