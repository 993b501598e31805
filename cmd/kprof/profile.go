package main

import (
	"context"
	"net/http"
	"os"
	"strings"

	"kprof/convert"
	"kprof/convert/printable"
	"kprof/symbolize"
)

// profile is what commands show.
type profile struct{ *convert.Profile }

// choose returns the event to show where only one can be, of those that have some of
// the labels if there are any, and its column. It tells about the others.
func (p *profile) choose(labels []string) (event, column int) {
	c := p.Choose(labels)
	if len(c.Others) > 0 {
		notef("showing event %s (%s) only; choose another with --event: %s",
			p.Set.Events[c.Event].Name, printable.Count(c.Samples, "sample"), convert.CountedList(c.Others, c.Counts))
	}
	p.noteWeightless(c.Event, c.Column, c.Weightless)
	return c.Event, c.Column
}

// shownColumn is the column that weights are taken from, or another one where all values
// in that are 0, which it tells.
func (p *profile) shownColumn(event int) int {
	column, weightless := p.ShownColumn(event)
	p.noteWeightless(event, column, weightless)
	return column
}

func (p *profile) noteWeightless(event, column int, weightless bool) {
	if !weightless {
		return
	}
	e := &p.Set.Events[event]
	shown := e.Values[column]
	if shown.Type == "samples" || shown.Type == e.Name+".samples" {
		notef("the values of event %s are all 0: its samples are counted instead", e.Name)
		return
	}
	notef("the values of %s are all 0: showing %s (%s) instead; --value chooses another",
		e.ColumnName(p.WeightColumn(event)), shown.Type, shown.Unit)
}

// losses are sentences about what the recording does not hold.
func (p *profile) losses() []string {
	var words []string
	for _, w := range p.Losses() {
		words = append(words, wording(&w))
	}
	return words
}

// symbolOptions are the flags that say where names come from.
type symbolOptions struct {
	symbolize.Options
	debuginfod string       // servers, separated by blanks
	none       bool         // nothing is to be named
	signals    *signals     // nil where none are watched for
	modules    guestModules // of a virtual machine
}

// addTo adds the flags to the options of a conversion, and how naming ends.
func (s *symbolOptions) addTo(o *convert.Options) {
	o.Symbols, o.Unnamed, o.Wording = s.Options, s.none, wording
	o.GuestModules = s.modules
	o.Symbols.BuildIDCache = buildIDCache()
	o.Symbols.DebuginfodURLs, o.Symbols.DebuginfodProxy = strings.Fields(s.debuginfod), http.ProxyFromEnvironment
	o.Naming = func(ctx context.Context) (context.Context, func()) { return s.signals.whileNaming(ctx) }
}

// buildIDCache is where perf keeps files by build id.
func buildIDCache() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home + "/.debug"
}
