package symbolize

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
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
	run(t, "objcopy", "--only-keep-debug", path, debug)
	run(t, "strip", "-o", stripped, path)
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
	local := Mapping{Kind: User, Path: stripped, BuildID: id}
	gone := Mapping{Kind: User, Path: "/gone/prog", BuildID: id}
	vmlinux := Mapping{Kind: Kernel, Path: "[kernel.kallsyms]_text", BuildID: id, Offset: addrs["_text"]}
	for _, test := range []struct {
		m    Mapping
		addr uint64
	}{{local, off}, {gone, off}, {vmlinux, addrs["vfs_write"]}} {
		opts := Options{Foreign: true, Inline: true, DebugDirs: []string{}}
		s := New(opts)
		if got, err := chain(t, s, test.m, test.addr); got != "" || err == nil {
			t.Errorf("%s without a server: %q, %v", test.m.Path, got, err)
		}
		s.Close()
		opts.DebuginfodURLs = []string{"http://127.0.0.1:1/", emptyURL, url}
		opts.DebuginfodCache = t.TempDir()
		for range 2 {
			s := New(opts)
			for range 2 {
				if got, err := chain(t, s, test.m, test.addr); !strings.Contains(got, "vfs_write kernel.c:2") || err != nil {
					t.Errorf("%s: %q, %v", test.m.Path, got, err)
				}
			}
			s.Close()
		}
		for path, n := range srv.asked {
			if n != 1 {
				t.Errorf("%s: asked %d times for %s", test.m.Path, n, path)
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
	if err := os.WriteFile(text, []byte("no ELF file"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := Mapping{Kind: Kernel, Path: "[kernel.kallsyms]_text", BuildID: id, Offset: addrs["_text"]}
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
