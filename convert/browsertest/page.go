package browsertest

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long a tab may take for all that a test does in it, of which each thing takes it
// milliseconds on an idle machine.
const patience = 10 * time.Minute

// Keys beside characters, for Keys of both browsers.
const (
	Enter  = kb.Enter
	Escape = kb.Escape
	Tab    = kb.Tab
	Left   = kb.ArrowLeft
	Right  = kb.ArrowRight
	Up     = kb.ArrowUp
	Down   = kb.ArrowDown
	Home   = kb.Home
	End    = kb.End
)

// View is how a page is looked at. Default: 1280 by 800 CSS pixels, light.
type View struct {
	Width, Height int64
	Dark          bool
	Mobile        bool // a phone: touch, and <meta name=viewport> counts
}

// Page is a tab. Its methods fail the test when the page does not do what they
// ask; the test fails too if the page has an exception that nothing caught, or
// an error in its console, that Errors did not take.
type Page struct {
	t      testing.TB
	ctx    context.Context
	mobile bool // it was a phone's

	mu     sync.Mutex
	errors []string
	seen   chan struct{} // gets one for each mark in the console
}

// Hands is what is done with either browser by mouse and keys.
type Hands interface {
	// Keys presses keys, one after the other; Shift with the key for capitals held.
	Keys(keys string)
	Shift(keys string)
	// Drag presses a button of the mouse, 0 for the first and 2 for the second, at a point of the
	// viewport, in CSS pixels, and lets it go at another.
	Drag(button int, fromX, fromY, toX, toY float64)
	// Eval stores the value of a JavaScript expression; Wait waits until one is true.
	Eval(js string, value any)
	Wait(js string)
}

// mark is what Page writes to the console to know that it has read all before.
const mark = "browsertest: mark"

// Open opens an address in a tab and waits until it is loaded. The page is
// left when t ends.
func Open(t testing.TB, url string, v View) *Page {
	t.Helper()
	tb := takeTab(t)
	ctx, stop := context.WithTimeout(tb.ctx, patience)
	p := &Page{t: t, ctx: ctx, seen: make(chan struct{}, 1)}
	tb.show(p)
	t.Cleanup(func() {
		for _, e := range p.Errors() {
			t.Errorf("%s: %s", url, e)
		}
		stop()
		// Who knows what a page is in that failed.
		again := !t.Failed() && !p.mobile
		if again {
			if err := tb.leave(); err != nil {
				t.Errorf("%s: %v", url, err)
				again = false
			}
		}
		tb.show(nil)
		if again {
			tb.free()
		} else {
			tb.close()
		}
	})
	// As a new window would: it has the focus, and it is seen.
	if _, err := chromedp.Call(ctx, page.BringToFront, cdp.Empty{}); err != nil {
		t.Fatalf("bring a tab to the front: %v", err)
	}
	p.View(v)
	p.Go(url)
	return p
}

// OpenFile is Open of a file.
func OpenFile(t testing.TB, name string, v View) *Page {
	t.Helper()
	return Open(t, FileURL(t, name), v)
}

// FileURL is the address of a file, to which "#" and more may be appended.
func FileURL(t testing.TB, name string) string {
	t.Helper()
	abs, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: abs}).String()
}

// do runs steps.
func (p *Page) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// View changes how the page is looked at.
func (p *Page) View(v View) {
	p.t.Helper()
	if v.Width == 0 {
		v.Width = 1280
	}
	if v.Height == 0 {
		v.Height = 800
	}
	var o []chromedp.EmulateViewportOption
	if v.Mobile {
		p.mobile = true
		o = append(o, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.do("view", chromedp.EmulateViewport(v.Width, v.Height, o...))
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"},
		},
	})
	if err != nil {
		p.t.Fatalf("view: %v", err)
	}
}

// Go goes to an address and waits until it is loaded.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.do("open "+url, chromedp.Navigate(url))
}

// Reload loads the page anew.
func (p *Page) Reload() {
	p.t.Helper()
	p.do("reload", chromedp.Reload())
}

// Do runs JavaScript, which may await.
func (p *Page) Do(js string) {
	p.t.Helper()
	Eval[bool](p, "(async()=>{"+js+"\nreturn true})()")
}

// Eval returns the value of a JavaScript expression, or what it is a promise of.
func Eval[T any](p *Page, js string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", shorten(js), err)
	}
	return v
}

// Wait waits until a JavaScript expression is true, on this page or on one that it is
// being left for.
func (p *Page) Wait(js string) {
	p.t.Helper()
	var err error
	for range 20 {
		_, err = chromedp.Run(p.ctx, chromedp.Poll[bool]("!!("+js+")",
			chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience/2)))
		left := err != nil && (strings.Contains(err.Error(), "context") || strings.Contains(err.Error(), "navigated"))
		if !left || p.ctx.Err() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond) // the page was left meanwhile
	}
	if err != nil {
		p.t.Fatalf("wait for %s: %v", shorten(js), err)
	}
}

// Click clicks at a point of the viewport, in CSS pixels.
func (p *Page) Click(x, y float64) {
	p.t.Helper()
	p.do("click", chromedp.MouseClickXY(x, y))
}

// RightClick clicks with the second button.
func (p *Page) RightClick(x, y float64) {
	p.t.Helper()
	p.do("right click", chromedp.MouseClickXY(x, y, chromedp.ButtonRight))
}

// ClickOn clicks in the middle of the first element that the CSS selector
// chooses.
func (p *Page) ClickOn(selector string) {
	p.t.Helper()
	at := p.Box(selector)
	p.Click(at.X+at.Width/2, at.Y+at.Height/2)
}

// Press presses the first button at a point of the viewport, in CSS pixels, and Release lets it
// go.
func (p *Page) Press(x, y float64) {
	p.t.Helper()
	p.do("press", chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// Release lets go what Press has pressed.
func (p *Page) Release(x, y float64) {
	p.t.Helper()
	p.do("release", chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// Hover moves the mouse to a point of the viewport.
func (p *Page) Hover(x, y float64) {
	p.t.Helper()
	p.do("hover", chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
}

// Box is where something is seen in the viewport, in CSS pixels.
type Box struct{ X, Y, Width, Height float64 }

// Box returns where the first element is that the CSS selector chooses, after
// scrolling it into view.
func (p *Page) Box(selector string) Box {
	p.t.Helper()
	return Eval[Box](p, `(() => {
		const e = document.querySelector(`+quote(selector)+`)
		if (!e) throw new Error('nothing is ' + `+quote(selector)+`)
		e.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'})
		const r = e.getBoundingClientRect()
		return {X: r.x, Y: r.y, Width: r.width, Height: r.height}
	})()`)
}

// Keys presses keys, one after the other.
func (p *Page) Keys(keys string) {
	p.t.Helper()
	for _, r := range keys {
		p.press(r, 0)
	}
}

// Ctrl presses a key with the control key held.
func (p *Page) Ctrl(key string) {
	p.t.Helper()
	for _, r := range key {
		p.press(r, chromedp.ModifierCtrl)
	}
}

// Shift presses keys with the key for capitals held.
func (p *Page) Shift(keys string) {
	p.t.Helper()
	for _, r := range keys {
		p.press(r, chromedp.ModifierShift)
	}
}

// Drag presses a button of the mouse, 0 for the first and 2 for the second, at a point of the
// viewport, and lets it go at another.
func (p *Page) Drag(button int, fromX, fromY, toX, toY float64) {
	p.t.Helper()
	with := []chromedp.MouseOption{chromedp.ButtonLeft, chromedp.ClickCount(1)}
	if button == 2 {
		with[0] = chromedp.ButtonRight
	}
	p.do("drag", chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, fromX, fromY),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, fromX, fromY, with...),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, toX, toY, with[0]),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, toX, toY, with...))
}

// Eval stores the value of a JavaScript expression.
func (p *Page) Eval(js string, value any) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(Eval[string](p, "JSON.stringify("+js+")")), value); err != nil {
		p.t.Fatalf("evaluate %s: %v", shorten(js), err)
	}
}

// press presses a key. What it types goes along with it, so that a page which
// prevents the default of a key prevents that, as it does with people's keys;
// chromedp.KeyEvent types by itself.
func (p *Page) press(key rune, modifier chromedp.Modifier) {
	p.t.Helper()
	events := kb.Encode(key)
	down, up := events[0], events[len(events)-1]
	if len(events) == 3 && modifier == 0 {
		down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, events[1].Text, events[1].UnmodifiedText
	}
	for _, e := range []*input.DispatchKeyEventParams{down, up} {
		e.Modifiers |= int64(modifier)
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, *e); err != nil {
			p.t.Fatalf("press %q: %v", key, err)
		}
	}
}

// Busy is how long the page's thread has been busy so far, with scripts and all else. It is no
// more on a machine that does other things too.
func (p *Page) Busy() time.Duration {
	p.t.Helper()
	got, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		p.t.Fatalf("performance: %v", err)
	}
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	p.t.Fatal("the browser does not tell how long it was busy")
	return 0
}

// Back goes back in the tab's history, on the same page, which has heard of it then.
func (p *Page) Back() {
	p.t.Helper()
	p.Do(`await new Promise((done) => {
		addEventListener('popstate', () => setTimeout(done, 0), {once: true});
		history.back();
	})`)
}

// Errors returns the page's errors so far, those of what it has put off for the
// moment included, and forgets them.
func (p *Page) Errors() []string {
	_, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](
		"new Promise(done => setTimeout(() => { console.debug('"+mark+"'); done(true) }, 0))", chromedp.EvalAwaitPromise))
	if err == nil {
		select {
		case <-p.seen:
		case <-p.ctx.Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.errors
	p.errors = nil
	return e
}

// Screenshot keeps a picture of the viewport as .build/screenshots/NAME.png, at
// the top of the repository.
func (p *Page) Screenshot(name string) {
	p.t.Helper()
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatalf("screenshot %s: %v", name, err)
	}
	keepPicture(p.t, name, png)
}

func keepPicture(t testing.TB, name string, png []byte) {
	t.Helper()
	dir := filepath.Join(top(t), ".build", "screenshots")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666); err != nil {
		t.Fatal(err)
	}
}

// top is the directory of go.mod.
func top(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(s) + "'"
}

func shorten(js string) string {
	if len(js) > 200 {
		return js[:200] + " …"
	}
	return js
}
