package bootlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kprof/convert/kernellog"
	"kprof/perfevent/textlimit"
)

// Bounds of what is kept of a log. That of a real boot has a few thousand calls; a
// suspend of a large machine some ten thousand.
const (
	maxCalls = 1 << 20
	maxOpen  = 1 << 10 // calls that have not ended, at once
	maxOuter = 64      // calls around a call that are looked at
	maxGaps  = 1 << 16
	maxLine  = 1 << 12 // bytes; the kernel's lines have a thousand
	maxShown = 120     // of a line beside a Gap
)

// parser reads a log.
type parser struct {
	log   *Log
	opts  Options
	level string
	open  []int // calls that have not ended, as they began
	loose []int // probes and PM calls that ended, and may be within one that ends later
	phase int   // calls from here on belong to the next phase that ends

	timed  bool // a line had a time
	before kernellog.Line
	text   string // of the line before
	n      uint64
}

// ErrNoCalls is the error of a log in which nothing is called.
var ErrNoCalls = errors.New("the log has no calls in it: boot with initcall_debug among the kernel's parameters, and log_buf_len=4M to keep all of its lines")

// Read reads a log. It fails with ErrNoCalls, beside what else there is, if it tells
// of no call.
func Read(r io.Reader, o Options) (*Log, error) {
	if o.MinGap <= 0 {
		o.MinGap = 10 * time.Millisecond
	}
	p := parser{log: &Log{}, opts: o}
	b := bufio.NewReaderSize(textlimit.NewReader(r), maxLine)
	var zero time.Time
	for {
		s, err := b.ReadSlice('\n')
		if len(s) > 0 {
			p.n++
			l := kernellog.Cut(s, &zero)
			p.clock(&l)
			idle := len(p.open) == 0
			p.take(&l)
			p.note(&l, idle)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is too long
			_, err = b.ReadSlice('\n')
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", p.n, err)
		}
	}
	p.finish()
	if len(p.log.Calls) == 0 {
		return p.log, ErrNoCalls
	}
	return p.log, nil
}

// clock notes the time of a line, or takes that of the line before.
func (p *parser) clock(l *kernellog.Line) {
	if !l.Timed {
		l.At = p.before.At
		return
	}
	if !p.timed {
		p.log.First = l.At
	}
	p.timed = true
	p.log.Last = max(p.log.Last, l.At)
}

// note ends a line, and finds the gap before it, in which nothing was called if idle.
func (p *parser) note(l *kernellog.Line, idle bool) {
	p.log.Lines = p.n
	if l.Timed && p.before.Timed && idle && l.At-p.before.At >= p.opts.MinGap && len(p.log.Gaps) < maxGaps {
		covered := false
		if n := len(p.log.Calls); n > 0 {
			c := &p.log.Calls[n-1]
			covered = c.Ended && c.End == l.At && c.Start <= p.before.At+p.opts.MinGap
		}
		if !covered {
			p.log.Gaps = append(p.log.Gaps, Gap{Start: p.before.At, End: l.At, After: p.text, Before: shown(l.Text)})
		}
	}
	if l.Timed {
		p.before = kernellog.Line{At: l.At, Timed: true}
		p.text = shown(l.Text)
	}
}

func shown(text []byte) string {
	return strings.ToValidUTF8(string(text[:min(len(text), maxShown)]), "")
}

// begin opens a call.
func (p *parser) begin(c Call, l *kernellog.Line) {
	if len(p.log.Calls) >= maxCalls || len(p.open) >= maxOpen {
		p.log.Overflow++
		return
	}
	c.Start, c.Line, c.Parent, c.Level = l.At, p.n, -1, p.levelOf(&c)
	for i := len(p.open) - 1; i >= 0; i-- {
		if o := &p.log.Calls[p.open[i]]; o.PID == c.PID && o.Kind != Probe {
			c.Parent = p.open[i]
			break
		}
	}
	p.open = append(p.open, len(p.log.Calls))
	p.log.Calls = append(p.log.Calls, c)
}

// levelOf is the level of a call that begins: one of initcalls, where the log has told levels.
// Modules' are made when these are loaded, at no level (kernel/module/main.c, do_init_module), most
// of them behind the last.
func (p *parser) levelOf(c *Call) string {
	switch {
	case c.Kind != Initcall || p.level == "":
		return ""
	case c.Module != "":
		return moduleLevel
	}
	return p.level
}

// end closes the call that e is the end of, or adds one of which the beginning is not
// told: a probe, or what the log has lost.
func (p *parser) end(e Call, l *kernellog.Line, d time.Duration) {
	p.log.Ends++
	at := -1
	if e.Kind != Probe {
		if i := p.opened(&e); i >= 0 {
			at = p.open[i]
			p.open = slices.Delete(p.open, i, i+1)
		} else {
			p.log.Orphans++
		}
	}
	if at < 0 {
		if len(p.log.Calls) >= maxCalls {
			p.log.Overflow++
			return
		}
		e.Start, e.Line, e.Parent, e.PID = max(0, l.At-d), p.n, -1, l.TID
		e.Level = p.levelOf(&e)
		at = len(p.log.Calls)
		p.log.Calls = append(p.log.Calls, e)
		p.adopt(at, l)
	}
	c := &p.log.Calls[at]
	c.End, c.Duration, c.Return, c.Ended = l.At, d, e.Return, true
}

// opened is the index in open of the call that e is the end of, -1 for none: the latest of its
// name and module. Modules may have functions of one name, as init_module. Of a module that
// only one of both lines has, the name alone decides.
func (p *parser) opened(e *Call) int {
	nameless := -1
	for i, at := range slices.Backward(p.open) {
		c := &p.log.Calls[at]
		switch {
		case c.Kind != e.Kind || c.Name != e.Name || c.Device != e.Device:
		case c.Module == e.Module:
			return i
		case nameless < 0 && (c.Module == "" || e.Module == ""):
			nameless = i
		}
	}
	return nameless
}

// adopt finds the call that one whose beginning was not told is in: the innermost open
// one that began before, of its thread if that is known. Probes that ended within it
// become its own.
func (p *parser) adopt(at int, l *kernellog.Line) {
	c := &p.log.Calls[at]
	for i := len(p.open) - 1; i >= 0; i-- {
		if o := &p.log.Calls[p.open[i]]; (l.TID == 0 || o.PID == l.TID) && o.Start <= c.Start+time.Millisecond {
			c.Parent, c.PID = p.open[i], o.PID
			break
		}
	}
	if c.Kind != Probe {
		return
	}
	for n := len(p.loose); n > 0; n-- {
		inner := &p.log.Calls[p.loose[n-1]]
		if !p.timed || inner.Parent != c.Parent || inner.PID != c.PID || inner.Start < c.Start {
			break
		}
		inner.Parent = at
		p.loose = p.loose[:n-1]
	}
	if len(p.loose) >= maxOpen {
		p.loose = p.loose[:0]
	}
	p.loose = append(p.loose, at)
}

// endPhase gives the callbacks of a phase its name.
func (p *parser) endPhase(name string, l *kernellog.Line, d time.Duration) {
	for i := p.phase; i < len(p.log.Calls); i++ {
		if c := &p.log.Calls[i]; c.Kind == PM && c.Level == "" {
			c.Level = name
		}
	}
	p.phase = len(p.log.Calls)
	if len(p.log.Phases) < maxCalls {
		p.log.Phases = append(p.log.Phases, Phase{Name: name, End: l.At, Duration: d})
	}
}

// finish reckons what was in the calls themselves.
func (p *parser) finish() {
	calls := p.log.Calls
	for i := range calls {
		if c := &calls[i]; c.Parent >= 0 {
			calls[c.Parent].children += c.Duration
		}
	}
	for i := range calls {
		calls[i].Self = max(0, calls[i].Duration-calls[i].children)
	}
}
