package browsertest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"kprof/perfevent/livetest"
)

// firefoxKeys writes keys beside characters: https://w3c.github.io/webdriver/#keyboard-actions.
var firefoxKeys = strings.NewReplacer(Enter, "\ue006", Escape, "\ue00c", Tab, "\ue004",
	Left, "\ue012", Up, "\ue013", Right, "\ue014", Down, "\ue015", End, "\ue010", Home, "\ue011")

const firefoxShift = "\ue008"

// Firefox is a headless Firefox with one tab, that speaks WebDriver BiDi
// (https://w3c.github.io/webdriver-bidi/). Its methods fail the test when the page does not do
// what they ask; the test fails too if the page has an error in its console.
type Firefox struct {
	t    testing.TB
	ctx  context.Context
	conn *websocket.Conn
	tab  string
	id   int
}

// firefoxSettings keep it from asking and from looking for news.
const firefoxSettings = `user_pref("app.update.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("extensions.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("remote.active-protocols", 1);
user_pref("services.settings.server", "data:,");
user_pref("toolkit.telemetry.server", "");
user_pref("ui.prefersReducedMotion", 1);
`

// OpenFirefox starts a Firefox with a profile of its own, opens an address in it, and waits
// until that is loaded. The browser is ended when t ends; the test is skipped where there is none.
func OpenFirefox(t testing.TB, url string, v View) *Firefox {
	t.Helper()
	const program = "firefox" // Debian's firefox-esr has that name too
	livetest.RequirePrograms(t, program)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "user.js"), []byte(firefoxSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	f := &Firefox{t: t, ctx: ctx}
	// Of a blank page the field for addresses would have the focus, and keys would press no buttons.
	cmd := exec.Command(program, "--headless", "--no-remote", "--profile", dir, "--remote-debugging-port=0", "data:text/plain,")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+dir, "MOZ_CRASHREPORTER_DISABLE=1")
	var said strings.Builder
	cmd.Stderr = &said
	end := ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		if f.conn != nil {
			f.noErrors(url)
			if _, err := f.command("browser.close", map[string]any{}); err == nil {
				select {
				case <-ended:
				case <-time.After(10 * time.Second):
				}
			}
			f.conn.CloseNow()
		}
		end()
		<-ended
	})
	address, err := f.address(filepath.Join(dir, "WebDriverBiDiServer.json"), ended)
	if err != nil {
		t.Fatalf("start %s: %v\n%s", program, err, said.String())
	}
	if f.conn, _, err = websocket.Dial(ctx, address, nil); err != nil {
		t.Fatal(err)
	}
	f.conn.SetReadLimit(-1)
	f.must("session.new", map[string]any{"capabilities": map[string]any{}}, nil)
	var tree struct{ Contexts []struct{ Context string } }
	f.must("browsingContext.getTree", map[string]any{}, &tree)
	if len(tree.Contexts) == 0 {
		t.Fatal("Firefox has no tab")
	}
	f.tab = tree.Contexts[0].Context
	if v.Width == 0 {
		v.Width, v.Height = 1280, 800
	}
	f.must("browsingContext.setViewport", map[string]any{"context": f.tab, "viewport": map[string]any{"width": v.Width, "height": v.Height}}, nil)
	f.must("script.addPreloadScript", map[string]any{"functionDeclaration": errorsSeen}, nil)
	f.Go(url)
	f.Wait("document.hasFocus()")
	return f
}

// address waits until Firefox says where it listens.
func (f *Firefox) address(file string, ended <-chan struct{}) (string, error) {
	for {
		var where struct {
			Host string `json:"ws_host"`
			Port int    `json:"ws_port"`
		}
		b, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(b, &where) == nil && where.Port != 0 {
			return fmt.Sprintf("ws://%s:%d/session", where.Host, where.Port), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		select {
		case <-ended:
			return "", errors.New("it has ended")
		case <-f.ctx.Done():
			return "", f.ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// command asks for something and returns the answer.
func (f *Firefox) command(method string, params map[string]any) (json.RawMessage, error) {
	f.id++
	b, err := json.Marshal(map[string]any{"id": f.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if err := f.conn.Write(f.ctx, websocket.MessageText, b); err != nil {
		return nil, err
	}
	for {
		_, b, err := f.conn.Read(f.ctx)
		if err != nil {
			return nil, err
		}
		var answer struct {
			ID             int
			Type           string
			Error, Message string
			Result         json.RawMessage
		}
		if err := json.Unmarshal(b, &answer); err != nil {
			return nil, err
		}
		switch {
		case answer.ID != f.id: // an event
		case answer.Type == "error":
			return nil, fmt.Errorf("%s: %s", answer.Error, answer.Message)
		default:
			return answer.Result, nil
		}
	}
}

func (f *Firefox) must(method string, params map[string]any, result any) {
	f.t.Helper()
	b, err := f.command(method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(b, result)
	}
	if err != nil {
		f.t.Fatalf("%s: %v", method, err)
	}
}

// errorsSeen has the page keep its errors, from before its own scripts run.
const errorsSeen = `() => {
	window.errorsSeen = [];
	addEventListener('error', (e) => window.errorsSeen.push(String(e.message)));
	addEventListener('unhandledrejection', (e) => window.errorsSeen.push(String(e.reason)));
	addEventListener('securitypolicyviolation', (e) => window.errorsSeen.push('policy: ' + e.violatedDirective));
}`

// Go goes to an address and waits until it is loaded.
func (f *Firefox) Go(url string) {
	f.t.Helper()
	f.must("browsingContext.navigate", map[string]any{"context": f.tab, "url": url, "wait": "complete"}, nil)
}

// noErrors fails the test for each error of the page.
func (f *Firefox) noErrors(url string) {
	var seen []string
	if err := f.eval("window.errorsSeen ?? []", &seen); err != nil {
		f.t.Errorf("errors of %s: %v", url, err)
	}
	for _, e := range seen {
		f.t.Errorf("%s: %s", url, e)
	}
}

// Eval stores the value of a JavaScript expression, or of what it is a promise of.
func (f *Firefox) Eval(js string, value any) {
	f.t.Helper()
	if err := f.eval(js, value); err != nil {
		f.t.Fatalf("evaluate %s: %v", shorten(js), err)
	}
}

func (f *Firefox) eval(js string, value any) error {
	b, err := f.command("script.evaluate", map[string]any{
		"expression": "(async () => JSON.stringify(await (" + js + ")) ?? 'null')()", "awaitPromise": true, "target": map[string]any{"context": f.tab},
	})
	if err != nil {
		return err
	}
	var answer struct {
		Result           struct{ Value string }
		ExceptionDetails *struct{ Text string }
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return err
	}
	if answer.ExceptionDetails != nil {
		return errors.New(answer.ExceptionDetails.Text)
	}
	return json.Unmarshal([]byte(answer.Result.Value), value)
}

// Wait waits until a JavaScript expression is true.
func (f *Firefox) Wait(js string) {
	f.t.Helper()
	for holds := false; ; time.Sleep(20 * time.Millisecond) {
		if f.Eval("!!("+js+")", &holds); holds {
			return
		}
	}
}

// act has an input device do things.
func (f *Firefox) act(device string, parameters map[string]any, actions ...map[string]any) {
	f.t.Helper()
	source := map[string]any{"type": device, "id": device, "actions": actions}
	if parameters != nil {
		source["parameters"] = parameters
	}
	f.must("input.performActions", map[string]any{"context": f.tab, "actions": []any{source}}, nil)
}

func moveTo(x, y float64) map[string]any {
	return map[string]any{"type": "pointerMove", "x": int(x), "y": int(y)}
}

// Drag presses a button of the mouse, 0 for the first and 2 for the second, at a point of the
// viewport, and lets it go at another.
func (f *Firefox) Drag(button int, fromX, fromY, toX, toY float64) {
	f.t.Helper()
	f.act("pointer", map[string]any{"pointerType": "mouse"}, moveTo(fromX, fromY),
		map[string]any{"type": "pointerDown", "button": button}, moveTo(toX, toY), map[string]any{"type": "pointerUp", "button": button})
}

// Click clicks at a point of the viewport, in CSS pixels.
func (f *Firefox) Click(button int, x, y float64) {
	f.t.Helper()
	f.Drag(button, x, y, x, y)
}

// ClickOn clicks in the middle of the first element that the CSS selector chooses.
func (f *Firefox) ClickOn(selector string) {
	f.t.Helper()
	var at struct{ X, Y float64 }
	f.Eval(`(() => {
		const e = document.querySelector(`+quote(selector)+`);
		e.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
		const r = e.getBoundingClientRect();
		return {X: r.x + r.width / 2, Y: r.y + r.height / 2};
	})()`, &at)
	f.Click(0, at.X, at.Y)
}

// Keys presses keys, one after the other.
func (f *Firefox) Keys(keys string) {
	f.t.Helper()
	f.act("key", nil, presses(keys)...)
}

// Shift presses keys with the key for capitals held.
func (f *Firefox) Shift(keys string) {
	f.t.Helper()
	held := append([]map[string]any{{"type": "keyDown", "value": firefoxShift}}, presses(keys)...)
	f.act("key", nil, append(held, map[string]any{"type": "keyUp", "value": firefoxShift})...)
}

func presses(keys string) (actions []map[string]any) {
	for _, r := range firefoxKeys.Replace(keys) {
		actions = append(actions, map[string]any{"type": "keyDown", "value": string(r)}, map[string]any{"type": "keyUp", "value": string(r)})
	}
	return actions
}

// Screenshot keeps a picture of the viewport as Page.Screenshot does.
func (f *Firefox) Screenshot(name string) {
	f.t.Helper()
	var shot struct{ Data string }
	f.must("browsingContext.captureScreenshot", map[string]any{"context": f.tab}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		f.t.Fatal(err)
	}
	keepPicture(f.t, name, png)
}
