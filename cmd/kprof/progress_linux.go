//go:build !portable

package main

import (
	"fmt"
	"os"
	"time"

	"kprof/convert/printable"
	"kprof/record"
)

// progress shows on a terminal's standard error how a recording goes.
type progress struct {
	on    bool
	limit time.Duration // when it ends by itself, 0 for not
	then  string        // what Ctrl-C does
	shown time.Time
	wide  int
}

func newProgress(quiet bool, limit time.Duration, out output) *progress {
	p := &progress{on: !quiet && isTerminal(os.Stderr), limit: limit, then: "Ctrl-C ends and keeps"}
	if out.keep != nil {
		p.then = "Ctrl-C ends and shows"
	}
	return p
}

// progressInterval is how often the line is written anew.
const progressInterval = 200 * time.Millisecond

func (p *progress) update(now record.Progress) {
	if !p.on || time.Since(p.shown) < progressInterval {
		return
	}
	p.shown = time.Now()
	line := progressLine(now, p.limit) + "; " + p.then
	if wide, _ := terminalSize(os.Stderr); wide > 0 {
		line = line[:min(len(line), wide-1)] // a line that wraps would not be written over
	}
	fmt.Fprintf(os.Stderr, "\r%-*s", p.wide, line)
	p.wide = len(line)
}

// progressLine says how much there is, of how much where that is known.
func progressLine(now record.Progress, limit time.Duration) string {
	elapsed := fmt.Sprintf("%.0fs", now.Elapsed.Truncate(time.Second).Seconds())
	switch {
	case limit >= 10*time.Second:
		elapsed += fmt.Sprintf(" of %v", limit)
	case limit > 0:
		elapsed = fmt.Sprintf("%.1fs of %v", min(now.Elapsed, limit).Seconds(), limit)
	}
	return fmt.Sprintf("%s, %s samples, %s lost, %s",
		elapsed, printable.Thousands(now.Samples), printable.Thousands(now.Lost), printable.Bytes(int64(now.Bytes)))
}

// clear removes the line.
func (p *progress) clear() {
	if p.wide > 0 {
		fmt.Fprintf(os.Stderr, "\r%-*s\r", p.wide, "")
	}
}
