package browse

import (
	"slices"

	"github.com/gdamore/tcell/v2"

	"kprof/convert/table"
	"kprof/convert/transform"
)

// prompt is a line that is being typed.
type prompt struct {
	label, text string
	done        func(string)
}

// helpLines say what keys do.
var helpLines = [][2]string{
	{"↑ ↓ PgUp PgDn Home End, j k", "go"},
	{"t, i", "functions or tree of calls; the tree inverted"},
	{"→ Enter, ←, *", "open, close, open all below"},
	{"c, e", "callers of the function; what it calls"},
	{"/, n N", "search, next, previous; case counts with capitals"},
	{"&", "only stacks with a function that matches"},
	{"f, x, h", "only with it, without it, without showing it"},
	{"K", "collapse the kernel"},
	{"u, Esc", "take back; Esc ends a search first"},
	{"s", "sort by self or cum"},
	{"Tab, v", "another event; another of its values"},
	{"b", "group by comm, pid, other labels, mapping"},
	{"Space", "of what is live: stop and go on"},
	{"q", "leave"},
}

func (b *Browser) helpLines() [][2]string {
	if !b.o.Page {
		return helpLines
	}
	return slices.Insert(slices.Clone(helpLines), len(helpLines)-1, [2]string{"w", "look at the same in the browser"})
}

// Handle does what a key means, and reports whether the reader has enough: at an interrupt
// too.
func (b *Browser) Handle(e tcell.Event) (quit bool) {
	if _, ended := e.(*tcell.EventInterrupt); ended {
		return true
	}
	key, ok := e.(*tcell.EventKey)
	if !ok {
		return false
	}
	b.message = ""
	if key.Key() == tcell.KeyCtrlC {
		return true
	}
	if b.prompt != nil {
		b.typed(key)
		return false
	}
	if b.help {
		b.help = false
		return false
	}
	switch key.Key() {
	case tcell.KeyUp:
		b.move(b.at - 1)
	case tcell.KeyDown:
		b.move(b.at + 1)
	case tcell.KeyPgUp:
		b.move(b.at - b.room)
	case tcell.KeyPgDn:
		b.move(b.at + b.room)
	case tcell.KeyHome:
		b.move(0)
	case tcell.KeyEnd:
		b.move(len(b.rows) - 1)
	case tcell.KeyRight, tcell.KeyEnter:
		b.enter()
	case tcell.KeyLeft:
		b.toParent()
	case tcell.KeyTab:
		b.nextEvent(1)
	case tcell.KeyBacktab:
		b.nextEvent(-1)
	case tcell.KeyEscape:
		if b.search != nil {
			b.search, b.text = nil, ""
		} else {
			b.undo()
		}
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		b.undo()
	case tcell.KeyRune:
		return b.letter(key.Rune())
	}
	return false
}

// enter opens a node, or shows what a function calls.
func (b *Browser) enter() {
	switch {
	case b.o.Mode == Functions:
		b.follow(transform.ShowFrom, Tree)
	case b.at < len(b.rows) && b.rows[b.at].open:
		b.move(b.at + 1)
	default:
		b.toggle(true)
	}
}

func (b *Browser) letter(r rune) (quit bool) {
	switch r {
	case 'q':
		return true
	case 'w':
		b.page = b.o.Page
		return b.page
	case 'j':
		b.move(b.at + 1)
	case 'k':
		b.move(b.at - 1)
	case 'K':
		b.addStep(transform.Collapse, transform.Kernel)
	case 't':
		if b.o.Mode != Functions {
			b.setMode(Functions)
		} else {
			b.setMode(Tree)
		}
	case 'i':
		if b.o.Mode != Reverse {
			b.setMode(Reverse)
		} else {
			b.setMode(Tree)
		}
	case '*':
		b.openAll()
	case 'c':
		b.follow(transform.ShowTo, Reverse)
	case 'e':
		b.follow(transform.ShowFrom, Tree)
	case '/':
		b.prompt = &prompt{label: "/", done: b.find}
	case '&':
		b.prompt = &prompt{label: "only stacks with: ", done: func(text string) {
			if text != "" {
				b.addStep(transform.Focus, blind(text))
			}
		}}
	case 'n':
		b.next(1)
	case 'N':
		b.next(-1)
	case 'f':
		b.step(transform.Focus)
	case 'x':
		b.step(transform.Ignore)
	case 'h':
		b.step(transform.Hide)
	case 'u':
		b.undo()
	case 's':
		b.o.Sort = table.ByCum - b.o.Sort
		_ = b.fill()
		b.move(0)
	case 'v':
		b.nextColumn()
	case 'b':
		b.nextGroup()
	case ' ':
		b.paused = !b.paused
	case '?':
		b.help = true
	}
	return false
}

func (b *Browser) setMode(m Mode) {
	b.o.Mode, b.o.By = m, ""
	_ = b.fill()
}

// typed takes a key for the line that is being typed.
func (b *Browser) typed(key *tcell.EventKey) {
	p := b.prompt
	switch key.Key() {
	case tcell.KeyEnter:
		b.prompt = nil
		p.done(p.text)
	case tcell.KeyEscape:
		b.prompt = nil
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		if r := []rune(p.text); len(r) > 0 {
			p.text = string(r[:len(r)-1])
		} else {
			b.prompt = nil
		}
	case tcell.KeyCtrlU:
		p.text = ""
	case tcell.KeyRune:
		p.text += string(key.Rune())
	}
}
