package browse

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"

	"kprof/convert/printable"
	"kprof/convert/table"
)

var (
	plain    = tcell.StyleDefault
	bold     = plain.Bold(true)
	dim      = plain.Dim(true)
	matching = plain.Foreground(tcell.ColorFuchsia)
	heavy    = plain.Foreground(tcell.ColorRed)
	middling = plain.Foreground(tcell.ColorGreen)
)

// Draw draws all of a screen.
func (b *Browser) Draw(s tcell.Screen) {
	width, height := s.Size()
	s.Clear()
	if width < 1 || height < 1 {
		return
	}
	y := 0
	line := func(style tcell.Style, text string) {
		if y < height-1 {
			b.put(s, 0, y, width, style, text)
			y++
		}
	}
	e := b.set.Events[b.o.Event]
	v := e.Values[b.o.Column]
	title := fmt.Sprintf("%s  %s, %s", b.o.Title, e.Name, v.Words())
	if n := len(b.set.Events); n > 1 {
		title += fmt.Sprintf("  (event %d of %d)", b.o.Event+1, n)
	}
	line(bold, strings.TrimSpace(title))
	line(plain, fmt.Sprintf("Total: %s in %s%s", printable.Value(b.total, v.Unit), b.what(), b.selected()))
	for _, note := range b.o.Notes {
		line(dim, note)
	}
	if b.help {
		for _, h := range b.helpLines() {
			line(plain, fmt.Sprintf("  %-28s %s", h[0], h[1]))
		}
	} else {
		line(bold, b.heading())
		b.room = max(height-1-y, 1)
		b.top = max(min(b.top, b.at), b.at-b.room+1)
		for i := b.top; i < min(b.top+b.room, len(b.rows)); i++ {
			b.row(s, y, width, i, v.Unit)
			y++
		}
	}
	b.foot(s, width, height-1)
}

// what says what is listed.
func (b *Browser) what() string {
	switch {
	case b.o.Mode == Functions && b.o.By != "":
		return fmt.Sprintf("%s by %s", printable.Count(len(b.rows), "group"), b.o.By)
	case b.o.Mode == Functions:
		return printable.Count(len(b.rows), "function")
	case b.o.Mode == Reverse && len(b.back) > 0:
		return "callers of " + b.back[len(b.back)-1].name
	case b.o.Mode == Reverse:
		return "calls from the innermost on"
	case len(b.back) > 0:
		return "what is called by " + b.back[len(b.back)-1].name
	}
	return "calls"
}

// selected tells the steps.
func (b *Browser) selected() string {
	var texts []string
	for _, t := range b.steps {
		texts = append(texts, fmt.Sprintf("%v %s", t.Op, t.Text))
	}
	if texts == nil {
		return ""
	}
	return "; " + strings.Join(texts, ", ")
}

func (b *Browser) heading() string {
	self, cum := "self", "cum"
	if b.o.Mode == Functions && b.o.Sort == table.ByCum {
		cum = "↓cum"
	} else if b.o.Mode == Functions {
		self = "↓self"
	}
	last := "function"
	if b.o.Mode == Functions && b.o.By != "" {
		last = b.o.By
	}
	w := b.valueWidth()
	return fmt.Sprintf("%*s %7s %*s %7s  %s", w, self, "self%", w, cum, "cum%", last)
}

// valueWidth is how wide a column of values is: the total has more digits than what it is made of.
func (b *Browser) valueWidth() int {
	const least = 10
	return max(least, len(printable.Value(b.total, b.set.Events[b.o.Event].Values[b.o.Column].Unit)))
}

func (b *Browser) row(s tcell.Screen, y, width, i int, unit string) {
	r := b.rows[i]
	style := plain
	share := 0.0
	if b.total != 0 {
		share = float64(r.cum) / float64(b.total)
		if b.o.Mode == Functions {
			share = float64(r.self) / float64(b.total)
		}
	}
	switch {
	case share >= 0.05:
		style = heavy
	case share >= 0.005:
		style = middling
	}
	w := b.valueWidth()
	numbers := fmt.Sprintf("%*s %7s %*s %7s  ", w, printable.Value(r.self, unit), b.share(r.self), w, printable.Value(r.cum, unit), b.share(r.cum))
	name := r.name
	if b.o.Mode == Functions && r.mapping != "" {
		name += "  [" + strings.Trim(r.mapping, "[]") + "]"
	} else if b.o.Mode != Functions {
		mark := "+ "
		switch {
		case r.leaf:
			mark = "  "
		case r.open:
			mark = "- "
		}
		name = strings.Repeat("  ", min(r.depth, 40)) + mark + name
	}
	nameStyle := plain
	if b.search != nil && b.search.MatchString(r.name) {
		nameStyle = matching
	}
	if i == b.at {
		style, nameStyle = plain.Reverse(true), nameStyle.Reverse(true)
	}
	x := b.put(s, 0, y, width, style, numbers)
	x = b.put(s, x, y, width, nameStyle, name)
	if i == b.at {
		for ; x < width; x++ {
			s.SetContent(x, y, ' ', nil, style)
		}
	}
}

func (b *Browser) share(v int64) string {
	if b.total == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(v)/float64(b.total))
}

// foot is the last line: what is typed, what went wrong, or which keys there are.
func (b *Browser) foot(s tcell.Screen, width, y int) {
	switch {
	case b.prompt != nil:
		x := b.put(s, 0, y, width, bold, b.prompt.label+b.prompt.text)
		s.ShowCursor(x, y)
		return
	case b.message != "":
		b.put(s, 0, y, width, matching, b.message)
	case b.search != nil:
		b.put(s, 0, y, width, matching, "search: "+b.text+"  (n next, N previous, Esc ends)")
	case b.paused:
		b.put(s, 0, y, width, bold, "stopped: Space goes on")
	default:
		b.put(s, 0, y, width, dim, "? keys  / search  t tree  c callers  f only  u undo  Tab event  q leave")
	}
	s.HideCursor()
}

// put writes text as a terminal can show it, and returns the column behind it.
func (b *Browser) put(s tcell.Screen, x, y, width int, style tcell.Style, text string) int {
	text = printable.Text(text)
	for state := -1; text != "" && x < width; {
		var cluster string
		var cells int
		cluster, text, cells, state = uniseg.FirstGraphemeClusterInString(text, state)
		if cells == 0 || x+cells > width {
			continue
		}
		runes := []rune(cluster)
		s.SetContent(x, y, runes[0], runes[1:], style)
		x += cells
	}
	return x
}
