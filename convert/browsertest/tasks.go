package browsertest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// Longest runs what has the page do things, and returns how much CPU time the longest task of its
// thread took, during which it answers nothing.
func (p *Page) Longest(run func()) time.Duration {
	p.t.Helper()
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	var values []json.RawMessage
	complete := make(chan struct{}, 1)
	err := chromedp.Listen(ctx, func(e any) {
		switch e := e.(type) {
		case *tracing.EventDataCollected:
			for _, v := range e.Value {
				values = append(values, json.RawMessage(v))
			}
		case *tracing.EventTracingComplete:
			complete <- struct{}{}
		}
	})
	if err != nil {
		p.t.Fatalf("trace: %v", err)
	}
	if _, err := chromedp.Call(ctx, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"toplevel"}}}); err != nil {
		p.t.Fatalf("trace: %v", err)
	}
	run()
	if _, err := chromedp.Call(ctx, tracing.End, cdp.Empty{}); err != nil {
		p.t.Fatalf("trace: %v", err)
	}
	select {
	case <-complete:
	case <-ctx.Done():
		p.t.Fatalf("trace: %v", ctx.Err())
	}
	// The page's thread is the busiest first one of a process.
	var most, longest time.Duration
	busy := map[int]time.Duration{}
	tasks := map[int]time.Duration{}
	for _, v := range values {
		var e struct {
			Pid, Tid int
			Name     string
			Tdur     float64 // µs
		}
		if json.Unmarshal(v, &e) != nil || e.Pid != e.Tid || e.Name != "ThreadControllerImpl::RunTask" {
			continue
		}
		d := time.Duration(e.Tdur * float64(time.Microsecond))
		busy[e.Pid] += d
		tasks[e.Pid] = max(tasks[e.Pid], d)
		if busy[e.Pid] > most {
			most, longest = busy[e.Pid], tasks[e.Pid]
		}
	}
	return longest
}
