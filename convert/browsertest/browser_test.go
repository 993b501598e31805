package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
