package main

import (
	"os"

	"github.com/gdamore/tcell/v2"

	"kprof/convert/browse"
	"kprof/convert/table"
)

// onScreen reports whether a table can be looked around in: on a terminal that is no file,
// and has a keyboard.
func onScreen() bool {
	return isTerminal(os.Stdout) && isTerminal(os.Stdin) && os.Getenv("TERM") != "dumb"
}

// browseOptions are what a screen shows first.
func (o *topOptions) browse(p *profile) browse.Options {
	b := browse.Options{Title: p.Source, Notes: p.losses(), By: o.by}
	if len(p.Set.Events) > 0 {
		b.Event, b.Column = p.MainEvent()
	}
	if o.sort == "cum" {
		b.Sort = table.ByCum
	}
	switch {
	case o.tree && o.reverse:
		b.Mode = browse.Reverse
	case o.tree:
		b.Mode = browse.Tree
	}
	return b
}

// openScreen takes the terminal; end gives it back, and a signal has the reader leave.
func openScreen() (screen tcell.Screen, end func(), err error) {
	if screen, err = tcell.NewScreen(); err != nil {
		return nil, nil, err
	}
	if err := screen.Init(); err != nil {
		return nil, nil, err
	}
	return screen, screen.Fini, nil
}

// look has a profile looked around in on the terminal. Where there is no such terminal, it
// returns false.
func (o *topOptions) look(p *profile) (looked bool, err error) {
	b, err := browse.New(p.Set, o.browse(p))
	if err != nil {
		return false, err
	}
	screen, end, err := openScreen()
	if err != nil {
		return false, nil // what TERM says is not known
	}
	defer end()
	signals := watchSignals()
	left := make(chan struct{})
	defer close(left)
	go func() {
		select {
		case <-signals.first:
			_ = screen.PostEvent(tcell.NewEventInterrupt(nil))
		case <-left:
		}
	}()
	b.Run(screen, nil)
	return true, nil
}
