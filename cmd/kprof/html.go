package main

import (
	"cmp"
	"io"
	"path/filepath"

	"kprof/convert/render"
)

// renderHTML writes the page of a profile, with all of its events.
func renderHTML(w io.Writer, p *profile, title string) error {
	o := render.HTMLOptions{Title: title}
	if len(p.set.Events) > 0 {
		o.Column = p.weightColumn(0)
	}
	if p.source != "-" {
		o.Title = cmp.Or(title, filepath.Base(p.source))
	}
	return render.HTML(w, p.set, o)
}
