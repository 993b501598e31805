package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

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

// look has a profile looked around in on the terminal, and then page called if the reader
// wants to see it there, with what is done to stacks. Where there is no such terminal, it returns
// false.
func (o *topOptions) look(p *profile, page func(browse.Looked, *signals) error) (looked bool, err error) {
	bo := o.browse(p)
	bo.Page = true
	b, err := browse.New(p.Set, bo)
	if err != nil {
		return false, err
	}
	screen, end, err := openScreen()
	if err != nil {
		return false, nil // what TERM says is not known
	}
	signals := watchSignals()
	left := make(chan struct{})
	go func() {
		select {
		case <-signals.first:
			_ = screen.PostEvent(tcell.NewEventInterrupt(nil))
		case <-left:
		}
	}()
	b.Run(screen, nil)
	close(left)
	end()
	if at, wanted := b.Page(); wanted {
		err = page(at, signals)
	}
	return true, err
}

// servePage shows on a page what inputs are, or p where these cannot be read again, as it was looked
// at, until a signal.
func servePage(ctx context.Context, inputs []string, p *profile, sel *selection, sym symbolOptions, given [][2]string, at browse.Looked, signals *signals) error {
	shown := &shownPages{given: given}
	opts, err := sel.options()
	if err != nil {
		return err
	}
	shown.needs(&opts, &sym)
	if len(inputs) == 0 {
		inputs = []string{defaultInput}
	}
	if slices.Contains(inputs, "-") {
		err = shown.show(p, nil)
	} else {
		err = shown.inputs(ctx, inputs, opts, sym)
	}
	if err != nil {
		return err
	}
	server, err := listenView(defaultAddr)
	if err != nil {
		return err
	}
	selected := []string{fmt.Sprintf("value=%d.%d", at.Event, at.Column)}
	if at.Inverted {
		selected = append(selected, "inverted=true")
	}
	if at.Search != "" {
		selected = append(selected, "search="+url.QueryEscape(at.Search))
	}
	for _, t := range at.Steps {
		selected = append(selected, t.Op.String()+"="+url.QueryEscape(t.Text))
	}
	server.hash = "#" + strings.Join(selected, "&")
	signals.rearm()
	server.browser, server.signals = haveDisplay(), signals
	messagef("the page is there until Ctrl-C")
	return errors.Join(server.serve(shown), server.Close())
}
