//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
)

// opened watches files, and says which of them have been opened since.
type opened struct {
	t     *testing.T
	fd    int
	names map[int32]string
}

func watchInotify(t *testing.T, names ...string) *opened {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	o := &opened{t, fd, map[int32]string{}}
	for _, name := range names {
		wd, err := unix.InotifyAddWatch(fd, name, unix.IN_OPEN|unix.IN_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		o.names[int32(wd)] = name
	}
	return o
}

// none fails if anything was opened.
func (o *opened) none(when string) {
	o.t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Read(o.fd, buf)
	if err == unix.EAGAIN {
		return
	}
	if err != nil || n < unix.SizeofInotifyEvent {
		o.t.Fatal(n, err)
	}
	o.t.Errorf("%s: %s was opened", when, o.names[int32(binary.NativeEndian.Uint32(buf))])
}

const secret = "root:$y$j9T$secret:19000:0:99999:7:::"

// hostileProfile writes a profile, the functions of which say that they are of
// these files: functions 0, 1, … at line 1.
func hostileProfile(t *testing.T, files ...string) string {
	t.Helper()
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	for i, file := range files {
		m := s.AddMapping(stacks.Mapping{File: file, Kind: stacks.KindUser, Start: 0x1000, Limit: 0x9000, HasFunctions: true})
		l := s.AddLocation(m, 0x1000+uint64(i), stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprintf("function%d_", i), File: file, StartLine: 1}), Line: 1})
		s.Add(0, s.Intern([]uint32{l}), 0, 3)
	}
	return writeSet(t, filepath.Join(t.TempDir(), "hostile.pb.gz"), s)
}

// TestViewSourceAttack: no page opens a file because a profile names it, as its
// source or as what was mapped.
func TestViewSourceAttack(t *testing.T) {
	dir := t.TempDir()
	shadow := filepath.Join(dir, "shadow")
	if err := os.WriteFile(shadow, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(wd, shadow)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{shadow, relative, shadow[1:], "/" + shadow, "/proc/self/cwd/" + shadow, "./" + relative, "/proc/self/root" + shadow}
	profile := hostileProfile(t, files...)
	look := func(v *viewing) {
		opens := watchInotify(t, shadow)
		for i := range files {
			for _, page := range []string{"top", "peek", "flamegraph", "source", "disasm", "graph", "download"} {
				body := v.text(http.MethodGet, fmt.Sprintf("/%s?f=function%d_&g=lines", page, i))
				if strings.Contains(body, "secret") {
					t.Errorf("/%s shows the file %s:\n%.1000s", page, files[i], body)
				}
				opens.none(fmt.Sprintf("/%s of a function of %s", page, files[i]))
			}
		}
	}
	v := startPprof(t, t.TempDir(), profile)
	look(v)
	v.page("/source?f=function0_", http.StatusOK, "No source file is read", `<p class="filename">`+shadow+"</p>")
	v.end(unix.SIGINT)

	// A directory that is allowed is no way out of it.
	allowed := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(allowed, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shadow, filepath.Join(allowed, "shadow")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(allowed, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(allowed, "shadow"), filepath.Join(allowed, "link/shadow"), "link/shadow", "../"+filepath.Base(dir)+"/shadow", filepath.Join(allowed, "fifo"))
	v = startPprof(t, t.TempDir(), "--source", allowed, hostileProfile(t, files...))
	look(v)
	v.end(unix.SIGINT)
}

// TestViewSource: source lines are shown of files below the directory that is
// allowed, wherever they were compiled.
func TestViewSource(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lib/a.c"), []byte("int a(void)\n{\n\treturn b<c>();\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := startPprof(t, t.TempDir(), "--source", dir, hostileProfile(t, filepath.Join(dir, "lib/a.c"), "/build/x/lib/a.c", "lib/a.c", "/build/x/lib/other.c"))
	for i := range 3 {
		page := v.page(fmt.Sprintf("/source?f=function%d_", i), http.StatusOK, "int a(void)", "return b&lt;c&gt;();", "Source is read only below "+dir)
		lines := regexp.MustCompile(`<span class=line> +(\d+)</span> <span class=(\w+)> +(\S+)`).FindAllStringSubmatch(page, -1)
		var got []string
		for _, l := range lines {
			got = append(got, strings.Join(l[1:], " "))
		}
		if want := "1 deadsrc 3, 2 nop ., 3 nop ., 4 nop ."; strings.Join(got, ", ") != want {
			t.Errorf("lines %s, want %s", strings.Join(got, ", "), want)
		}
	}
	v.page("/source?f=function3_", http.StatusOK, "/build/x/lib/other.c", "???")
	v.end(unix.SIGINT)
}

// request makes a request of the server, whatever its path.
func (v *viewing) request(method, path string, change func(*http.Request)) (int, string) {
	v.t.Helper()
	u, err := url.Parse(v.addr)
	if err != nil {
		v.t.Fatal(err)
	}
	r, err := http.NewRequest(method, "http://"+u.Host+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	ctx, stop := context.WithTimeout(v.t.Context(), time.Minute) // of a server that reads a pipe, say
	defer stop()
	a, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		v.t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// prefix is the path of the pages, with the token.
func (v *viewing) prefix() string {
	u, err := url.Parse(v.addr)
	if err != nil || len(u.Path) < 20 {
		v.t.Fatalf("the address %s has no token: %v", v.addr, err)
	}
	return u.Path
}

// text is a page, whatever its status.
func (v *viewing) text(method, path string) string {
	v.t.Helper()
	_, body := v.request(method, v.prefix()+path, nil)
	return body
}

const someSettings = `{"configs":[{"name":"mine","focus":"work"}]}`

// startWithSettings starts kprof view for somebody who has settings of pprof, and
// watches these.
func startWithSettings(t *testing.T) (v *viewing, settings string, opens *opened) {
	t.Helper()
	home := t.TempDir()
	settings = filepath.Join(home, "pprof", "settings.json")
	if err := os.Mkdir(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(someSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KPROF_TEST_CONFIG", home)
	v = startPprof(t, t.TempDir(), viewed(t))
	return v, settings, watchInotify(t, settings, filepath.Dir(settings))
}

var viewPages = []string{"", "/", "/flamegraph", "/top", "/graph", "/peek?f=work", "/source?f=work", "/disasm?f=work", "/download",
	"/saveconfig?config=theirs", "/deleteconfig?config=mine", "/nothing"}

// TestViewGate: whoever is not of this machine, comes from another page, or does
// not know the token gets 403, whatever is asked for and however, and nothing is
// read or written.
func TestViewGate(t *testing.T) {
	v, settings, opens := startWithSettings(t)
	token := v.prefix()
	for name, bad := range map[string]struct {
		path   string
		change func(*http.Request)
	}{
		"no token":           {"", nil},
		"a wrong token":      {"/" + strings.Repeat("A", len(token)-1), nil},
		"part of the token":  {token[:len(token)-1], nil},
		"the token doubled":  {"/" + token, nil},
		"a foreign host":     {token, func(r *http.Request) { r.Host = "evil.example" }},
		"one that rebinds":   {token, func(r *http.Request) { r.Host = "evil.example:" + r.URL.Port() }},
		"below localhost":    {token, func(r *http.Request) { r.Host = "evil.localhost:" + r.URL.Port() }},
		"another address":    {token, func(r *http.Request) { r.Host = "192.0.2.1:" + r.URL.Port() }},
		"a foreign origin":   {token, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }},
		"another port":       {token, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }},
		"no port":            {token, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1") }},
		"another name of it": {token, func(r *http.Request) { r.Header.Set("Origin", "http://localhost:"+r.URL.Port()) }},
		"another scheme":     {token, func(r *http.Request) { r.Header.Set("Origin", "https://"+r.Host) }},
		"no known origin":    {token, func(r *http.Request) { r.Header.Set("Origin", "null") }},
		"two origins": {token, func(r *http.Request) {
			r.Header["Origin"] = []string{"http://" + r.URL.Host, "http://evil.example"}
		}},
		"the token in a cookie": {"", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "token", Value: token[1:]}) }},
	} {
		for _, page := range viewPages {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} {
				status, body := v.request(method, bad.path+page, bad.change)
				if status != http.StatusForbidden || strings.Contains(body, "work") || strings.Count(body, "\n") > 1 {
					t.Errorf("%s: %s %s: status %d\n%.300s", name, method, page, status, body)
				}
				opens.none(fmt.Sprintf("%s: %s %s", name, method, page))
			}
		}
	}
	// Nobody changes settings without an origin, nor by GET with one.
	own := func(r *http.Request) { r.Header.Set("Origin", "http://"+r.URL.Host) }
	for _, page := range []string{"/saveconfig?config=theirs", "/deleteconfig?config=mine"} {
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			if status, body := v.request(method, token+page, nil); status != http.StatusForbidden {
				t.Errorf("%s %s: status %d\n%s", method, page, status, body)
			}
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			if status, body := v.request(method, token+page, own); status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: status %d\n%s", method, page, status, body)
			}
		}
	}
	opens.none("no change of settings")

	// What they are for works: of every name of the loopback, and through a tunnel.
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "127.1.2.3", "localhost:9000", "LOCALHOST:80"} {
		status, body := v.request("GET", token+"/top", func(r *http.Request) {
			r.Host = host
			r.Header.Set("Origin", "http://"+host)
		})
		if status != http.StatusOK || !strings.Contains(body, "mine") {
			t.Errorf("host %s: status %d\n%.300s", host, status, body)
		}
	}
	if status, body := v.request("POST", token+"/saveconfig?config=ours&f=work", own); status != http.StatusOK {
		t.Errorf("settings are not saved: %d %s", status, body)
	}
	if status, body := v.request("DELETE", token+"/deleteconfig?config=mine", own); status != http.StatusOK {
		t.Errorf("settings are not deleted: %d %s", status, body)
	}
	b, err := os.ReadFile(settings)
	if err != nil || !strings.Contains(string(b), "ours") || strings.Contains(string(b), "mine") || strings.Contains(string(b), "theirs") {
		t.Errorf("the settings are %s, %v", b, err)
	}
	v.end(unix.SIGTERM)
}

// TestViewBrowser: what pprof's pages link to works below the token, in a browser.
func TestViewBrowser(t *testing.T) {
	v, settings, _ := startWithSettings(t)
	p := browsertest.Open(t, v.addr+"/", browsertest.View{})
	at := func(path string) string {
		return "location.href.startsWith('" + v.addr + path + "')"
	}
	p.Wait(at("/flamegraph") + " && document.body.innerText.includes('work')")
	p.Screenshot("view-flamegraph")
	for _, link := range []string{"topbtn", "peek", "list", "flamegraph"} {
		href := browsertest.Eval[string](p, "document.getElementById('"+link+"').href")
		if !strings.HasPrefix(href, v.addr+"/") {
			t.Errorf("the link %s is to %s", link, href)
		}
		p.Go(href)
		p.Wait("document.readyState == 'complete' && document.querySelector('.header')")
		if text := browsertest.Eval[string](p, "document.body.innerText"); !strings.Contains(text, "work") {
			t.Errorf("%s shows\n%s", href, text)
		}
		p.Screenshot("view-" + link)
	}
	if size := browsertest.Eval[int](p, "fetch('./download').then(r => r.ok ? r.arrayBuffer() : null).then(b => b.byteLength)"); size < 100 {
		t.Errorf("the download has %d bytes", size)
	}
	// Saving and deleting of what is set, as its dialogs do; the one then reloads.
	p.Go(v.addr + "/top?f=vfs_read")
	p.Do(`const url = new URL(document.URL)
		url.pathname = new URL('./saveconfig', document.URL).pathname
		url.searchParams.set('config', 'reads')
		await new Promise((done, fail) => sendURL('POST', url, ok => ok ? done() : fail('not saved')))`)
	p.Go(v.addr + "/top")
	p.Wait("document.querySelector('.menu-delete-btn[data-config=reads]')")
	p.Do("document.querySelector('.menu-delete-btn[data-config=mine]').click()")
	p.Do("document.getElementById('delete-confirm').click()")
	p.Wait("!document.querySelector('.menu-delete-btn[data-config=mine]')")
	if b, err := os.ReadFile(settings); err != nil || !strings.Contains(string(b), "reads") || strings.Contains(string(b), "mine") {
		t.Errorf("the settings are %s, %v", b, err)
	}
	v.end(unix.SIGINT)
}

// TestViewForeignPage: a page of another origin, or of a name that came to mean
// this machine, neither sees anything nor changes anything; nor does one that
// has got hold of the token.
func TestViewForeignPage(t *testing.T) {
	v, settings, _ := startWithSettings(t)
	u, err := url.Parse(v.addr)
	if err != nil {
		t.Fatal(err)
	}
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>elsewhere</title><link rel=icon href=data:,>")
	}))
	defer foreign.Close()
	attack := func(p *browsertest.Page, base string) []string {
		t.Helper()
		seen := browsertest.Eval[[]string](p, `(async () => {
			const base = '`+base+`', seen = []
			const asks = []
			for (const page of ['/', '/top', '/flamegraph', '/source?f=work', '/download', '/saveconfig?config=theirs', '/deleteconfig?config=mine'])
				for (const method of ['GET', 'POST', 'DELETE', 'PUT'])
					for (const mode of ['cors', 'no-cors', 'same-origin'])
						asks.push(fetch(base + page, {method, mode, credentials: 'include'})
							.then(async r => { seen.push(r.type + ' ' + r.status + ' ' + (await r.text()).slice(0, 60)) }, () => {}))
			const loaded = (tag, attribute, url) => new Promise(done => {
				const e = document.createElement(tag)
				e.onload = () => { if (tag == 'script') seen.push('loaded ' + tag); done() }
				e.onerror = () => done()
				e[attribute] = url
				document.documentElement.append(e)
				setTimeout(done, 3000)
			})
			asks.push(loaded('img', 'src', base + '/saveconfig?config=theirs'))
			asks.push(loaded('script', 'src', base + '/download'))
			asks.push(loaded('iframe', 'src', base + '/top'))
			const frame = document.createElement('iframe')
			frame.name = 'target'
			document.documentElement.append(frame)
			const form = document.createElement('form')
			form.action = base + '/saveconfig?config=theirs'
			form.method = 'post'
			form.target = 'target'
			document.documentElement.append(form)
			form.submit()
			await Promise.all(asks)
			await new Promise(done => setTimeout(done, 300))
			for (const f of document.querySelectorAll('iframe'))
				try { if (f.contentDocument.body.innerText) seen.push('frame ' + f.contentDocument.body.innerText) } catch {}
			return seen
		})()`)
		p.Errors() // which refusals are, in the console
		return seen
	}
	for what, base := range map[string]string{"without a token": "http://" + u.Host, "with the token": v.addr} {
		for _, origin := range []string{foreign.URL, strings.Replace(foreign.URL, "127.0.0.1", "localhost", 1)} {
			opens := watchInotify(t, settings, filepath.Dir(settings))
			for _, s := range attack(browsertest.Open(t, origin, browsertest.View{}), base) {
				if !strings.HasPrefix(s, "opaque 0 ") { // which shows nothing
					t.Errorf("a page of %s sees %s: %s", origin, what, s)
				}
			}
			if base != v.addr {
				opens.none("a page of " + origin)
			}
		}
	}
	// A browser resolves whatever is below localhost to this machine.
	rebound := "http://evil.localhost:" + u.Port()
	p := browsertest.Open(t, rebound+u.Path+"/top", browsertest.View{})
	p.Errors()
	if text := browsertest.Eval[string](p, "document.body.innerText"); !strings.Contains(text, "does not answer to this host name") {
		t.Errorf("a foreign name shows %s", text)
	}
	n := 0
	for _, s := range attack(p, rebound+u.Path) {
		if strings.Contains(s, " 403 ") {
			n++
		} else if !strings.HasPrefix(s, "opaque 0 ") {
			t.Errorf("a page of a foreign name sees %s", s)
		}
	}
	if n == 0 {
		t.Error("a page of a foreign name had no answer: it was not refused by us")
	}
	if after, err := os.ReadFile(settings); err != nil || string(after) != someSettings {
		t.Errorf("the settings became %s, %v", after, err)
	}
	v.end(unix.SIGINT)
}
