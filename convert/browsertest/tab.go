package browsertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// tab is a tab of the browser. To open one, with a process and a window of its own, takes the
// browser longer than to load a page: those that tests have left are used again.
type tab struct {
	ctx       context.Context
	stop      func()
	listening sync.WaitGroup

	mu   sync.Mutex
	page *Page // whose messages the console has; nil between two
}

// takeTab returns a tab without a page.
func takeTab(t testing.TB) *tab {
	t.Helper()
	b := browser(t)
	running.Lock()
	if n := len(running.free) - 1; n >= 0 {
		tb := running.free[n]
		running.free = running.free[:n]
		running.Unlock()
		return tb
	}
	running.Unlock()
	tb := &tab{}
	tb.ctx, tb.stop = chromedp.NewContext(b)
	// It lives as long as what it is opened with.
	late := time.AfterFunc(patience, tb.stop)
	defer late.Stop()
	messages := chromedp.Console(tb.ctx)
	tb.listening.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			tb.heard(m)
		}
	})
	_, err := chromedp.Call(tb.ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	if err != nil {
		tb.close()
		t.Fatalf("open a tab, and have the browser count its time: %v", err)
	}
	return tb
}

func (tb *tab) heard(m chromedp.ConsoleMessage) {
	tb.mu.Lock()
	p := tb.page
	tb.mu.Unlock()
	switch {
	case p == nil:
	case m.Text == mark:
		p.seen <- struct{}{}
	case m.IsException(), m.Type == chromedp.ConsoleError:
		p.mu.Lock()
		p.errors = append(p.errors, m.Text)
		p.mu.Unlock()
	}
}

func (tb *tab) show(p *Page) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.page = p
}

// leave leaves the page so that the next one finds nothing of it: no name, no cookies, no history.
func (tb *tab) leave() error {
	ctx, stop := context.WithTimeout(tb.ctx, patience)
	defer stop()
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		return fmt.Errorf("leave a page: %w", err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[string]("window.name = ''")); err != nil {
		return fmt.Errorf("name a tab: %w", err)
	}
	for _, forget := range []cdp.Command[cdp.Empty, cdp.Empty]{network.ClearBrowserCookies, page.ResetNavigationHistory} {
		if _, err := chromedp.Call(ctx, forget, cdp.Empty{}); err != nil {
			return fmt.Errorf("forget a page: %w", err)
		}
	}
	return nil
}

// free lets other tests use the tab.
func (tb *tab) free() {
	running.Lock()
	defer running.Unlock()
	running.free = append(running.free, tb)
}

func (tb *tab) close() {
	tb.stop()
	tb.listening.Wait()
}
