package main

import (
	"cmp"
	"io"
	"path/filepath"

	"kprof/convert/page"
)

// renderHTML writes the page of a profile, with all of its events.
func renderHTML(w io.Writer, p *profile, title string) error {
	o := page.Options{Title: title, TimesHint: timesHint}
	if len(p.Set.Events) > 0 {
		o.Event = p.Set.Most()
		o.Column = p.shownColumn(o.Event)
	}
	if p.Source != "-" {
		o.Title = cmp.Or(title, filepath.Base(p.Source))
	}
	return page.Write(w, p.Set, o)
}
