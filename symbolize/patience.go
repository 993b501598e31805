package symbolize

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// How long slow servers may make everybody wait, in all: so long, and as long as it
// takes to send what they did send at a fair rate.
const (
	defaultPatience = 8 * time.Second
	fairRate        = 256 << 10 // bytes a second
)

// errSlow: debuginfod servers have used up the patience.
type errSlow struct{ limit time.Duration }

func (e errSlow) Error() string {
	return fmt.Sprintf("slower than %d KB a second for %v in all", fairRate>>10, e.limit)
}

// patience is how much longer servers are waited for.
type patience struct {
	limit time.Duration // 0 is defaultPatience

	mu    sync.Mutex
	spent time.Duration
}

// wait begins to wait for a server, and has give called when patience runs out. The
// function that it returns ends that, when n bytes have come.
func (p *patience) wait(give func(error)) (came func(n int)) {
	limit := p.limit
	if limit == 0 {
		limit = defaultPatience
	}
	p.mu.Lock()
	left := limit - p.spent
	p.mu.Unlock()
	begun := time.Now()
	timer := time.AfterFunc(max(left, 0), func() { give(errSlow{limit}) })
	return func(n int) {
		timer.Stop()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.spent = max(p.spent+time.Since(begun)-time.Duration(n)*time.Second/fairRate, 0)
	}
}

// slowness returns the errSlow for which ctx was given up, nil for any other reason.
func slowness(ctx context.Context) error {
	if slow, ok := context.Cause(ctx).(errSlow); ok {
		return slow
	}
	return nil
}

// patientReader reads from a server.
type patientReader struct {
	r        io.Reader
	patience *patience
	cancel   context.CancelCauseFunc
}

func (r *patientReader) Read(b []byte) (int, error) {
	came := r.patience.wait(r.cancel)
	n, err := r.r.Read(b)
	came(n)
	return n, err
}

// ServerErr says why debuginfod servers could not be asked, or not any more; nil if
// all were.
func (s *Symbolizer) ServerErr() error { return s.servers.refused() }
