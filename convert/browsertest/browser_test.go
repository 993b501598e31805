package browsertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

// TestPage: what the other tests rely on is seen when it happens, and only then.
func TestPage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.html")
	const page = `<!doctype html><meta charset=utf-8><meta name=viewport content="width=device-width">
<body style="margin:0"><button style="position:absolute;left:100px;top:50px;width:80px;height:20px"
onclick="document.title += 'clicked,'">push</button><input><script>
addEventListener('keydown', e => { document.title += (e.ctrlKey ? 'ctrl-' : '') + e.key + ',' })
addEventListener('keydown', e => { if (e.key === '/') { e.preventDefault(); document.querySelector('input').focus() } })
addEventListener('mousemove', e => { document.body.dataset.at = e.clientX + ',' + e.clientY })
</script>`
	livetest.WriteFile(t, name, page)
	p := OpenFile(t, name, View{Width: 400, Height: 300, Dark: true})

	if got := Eval[[]int](p, "[innerWidth, innerHeight]"); got[0] != 400 || got[1] != 300 {
		t.Errorf("the viewport is %v, not 400 by 300", got)
	}
	const dark = "matchMedia('(prefers-color-scheme: dark)').matches"
	if !Eval[bool](p, dark) {
		t.Error("a dark view is not dark")
	}
	p.View(View{})
	if Eval[bool](p, dark) {
		t.Error("a light view is dark")
	}
	if b := p.Box("button"); b != (Box{100, 50, 80, 20}) {
		t.Errorf("the button is at %v", b)
	}
	p.ClickOn("button")
	p.Keys("a" + Escape)
	p.Ctrl("f")
	p.Hover(3, 4)
	p.Wait("document.body.dataset.at == '3,4'")
	if got := Eval[string](p, "document.title"); !strings.HasPrefix(got, "clicked,a,Escape,") || !strings.HasSuffix(got, "ctrl-f,") {
		t.Errorf("the page saw %q", got)
	}
	p.Keys("/typed")
	if got := Eval[string](p, "document.querySelector('input').value"); got != "typed" {
		t.Errorf("%q was typed behind a key whose default is prevented", got)
	}
	p.Screenshot("browsertest")

	if e := p.Errors(); len(e) > 0 {
		t.Errorf("errors of a page without any: %q", e)
	}
	p.Do("console.error('said'); setTimeout(() => { throw new Error('thrown') }, 0)")
	e := p.Errors()
	if len(e) != 2 || !strings.Contains(e[0], "said") || !strings.Contains(e[1], "thrown") {
		t.Errorf("errors of a page that has two: %q", e)
	}
}

// TestTabAgain: a page finds nothing of the one that had the tab before, and hears nothing of it.
func TestTabAgain(t *testing.T) {
	livetest.Require(t, Need)
	const page = `<!doctype html><style>:hover { color: red }</style><body style="margin:0;height:5000px">
<button style="width:200px;height:200px">push</button><script>
addEventListener('beforeunload', () => console.error('left'))
</script>`
	// Files have no cookies.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			_, _ = io.WriteString(w, page) // or the test sees nothing of it
		}
	}))
	defer server.Close()
	const state = `[history.length, scrollY, document.querySelectorAll(':hover').length, document.activeElement.tagName,
		document.hidden, document.hasFocus(), window.name, document.cookie, innerWidth, devicePixelRatio,
		matchMedia('(prefers-color-scheme: dark)').matches, matchMedia('(hover: none)').matches].join()`
	running.Lock()
	old := running.free
	running.free = nil
	running.Unlock()
	for _, tb := range old {
		tb.close()
	}
	var first string
	for i := range 3 {
		t.Run("page", func(t *testing.T) {
			running.Lock()
			tabs := len(running.free)
			running.Unlock()
			if tabs != min(i, 1)*2 {
				t.Fatalf("%d tabs to be used again", tabs)
			}
			Open(t, server.URL, View{}) // beside which the next one has the focus
			p := Open(t, server.URL, View{})
			time.Sleep(100 * time.Millisecond) // that a mouse would be noticed
			switch got := Eval[string](p, state); {
			case i == 0:
				first = got
			case got != first:
				t.Errorf("%s, want %s", got, first)
			}
			p.Do("history.pushState(1, ''); history.pushState(2, ''); scrollTo(0, 1000); window.name = 'mine'")
			p.Do("document.cookie = 'a=b'; getSelection().selectAllChildren(document.body)")
			p.ClickOn("button")
			p.Keys(Tab)
			p.View(View{Width: 400, Height: 300, Dark: true})
		})
	}
}
