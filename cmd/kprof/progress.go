package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"kprof/record"
)

// progress shows on a terminal's standard error how a recording goes.
type progress struct {
	on    bool
	shown time.Time
	wide  int
}

func newProgress(quiet bool) *progress {
	return &progress{on: !quiet && isTerminal(os.Stderr)}
}

// progressInterval is how often the line is written anew.
const progressInterval = 200 * time.Millisecond

func (p *progress) update(now record.Progress) {
	if !p.on || time.Since(p.shown) < progressInterval {
		return
	}
	p.shown = time.Now()
	line := fmt.Sprintf("%5.1fs  %d samples  %d lost  %s", now.Elapsed.Seconds(), now.Samples, now.Lost, bytesText(int64(now.Bytes)))
	fmt.Fprintf(os.Stderr, "\r%-*s", p.wide, line)
	p.wide = len(line)
}

// clear removes the line.
func (p *progress) clear() {
	if p.wide > 0 {
		fmt.Fprintf(os.Stderr, "\r%-*s\r", p.wide, "")
	}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// bytesText writes a number of bytes for people.
func bytesText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/(unit*unit))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(unit*unit*unit))
}

// version is what the program calls itself in the files it writes.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "kprof"
	}
	return "kprof " + info.Main.Version
}
