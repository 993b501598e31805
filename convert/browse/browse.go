// Package browse shows a Set on a terminal to look around in.
package browse

import (
	"fmt"
	"regexp"
	"slices"
	"unicode"

	"github.com/gdamore/tcell/v2"

	"kprof/convert/stacks"
	"kprof/convert/table"
	"kprof/convert/transform"
)

// Mode is what is listed.
type Mode uint8

const (
	Functions Mode = iota
	Tree           // who calls whom, from the outermost
	Reverse        // from the innermost
)

// Options say what is shown first.
type Options struct {
	Event, Column int
	Mode          Mode
	Sort          table.TopSort
	// By groups samples as table.TopOptions says. Default: by function.
	By string
	// Title is what the profile is called.
	Title string
	// Notes are lines below the title, such as how many records were lost.
	Notes []string
	// Page has the key w leave, for a page to look at instead: see Browser.Page.
	Page bool
}

// Browser is what is looked at: a profile, and where in it. Its methods are for one
// goroutine.
type Browser struct {
	o     Options
	set   *stacks.Set // as it was given
	shown *stacks.Set // after the steps
	steps []transform.Transform
	back  []place // what was looked at before callers or callees

	rows  []row
	total int64
	at    int // index into rows
	top   int // the first row on the screen
	room  int // rows that there is room for
	tree  treeState

	search  *regexp.Regexp
	text    string // of search
	prompt  *prompt
	message string
	help    bool
	paused  bool
	page    bool // is wanted
}

// place is what to go back to.
type place struct {
	mode  Mode
	steps []transform.Transform
	name  string
}

// row is a line of the list.
type row struct {
	name, mapping string
	self, cum     int64
	depth         int
	node          int // of the tree
	open, leaf    bool
}

// New returns a Browser of a Set, which must not change any more.
func New(s *stacks.Set, o Options) (*Browser, error) {
	if err := s.CheckColumn(o.Event, o.Column); err != nil {
		return nil, err
	}
	b := &Browser{o: o, set: s, shown: s, room: 20}
	return b, b.fill()
}

// Update shows another Set in the place of the one before, of the same events, with what is
// looked at as it was; a paused Browser does not.
func (b *Browser) Update(s *stacks.Set, notes []string) {
	if b.paused || s.CheckColumn(b.o.Event, b.o.Column) != nil {
		return
	}
	b.set, b.o.Notes = s, notes
	if err := b.apply(b.steps); err != nil {
		b.rows, b.total = nil, 0 // for now
	}
}

// apply does steps to the Set, and fills the list anew. Where nothing is left, it leaves
// everything as it was.
func (b *Browser) apply(steps []transform.Transform) error {
	shown := b.set
	if len(steps) > 0 {
		shown = stacks.New()
		shown.Merge(b.set)
		if err := transform.Apply(shown, steps, nil); err != nil {
			return err
		}
	}
	b.shown, b.steps = shown, steps
	return b.fill()
}

// fill makes the rows anew; the one with the same name stays selected.
func (b *Browser) fill() error {
	name, node := "", path(0)
	if b.at < len(b.rows) {
		name, node = b.rows[b.at].name, b.tree.path(b.rows[b.at].node)
	}
	var err error
	if b.o.Mode == Functions {
		err = b.fillFunctions()
	} else {
		err = b.fillTree()
	}
	if err != nil {
		b.rows, b.total = nil, 0
		b.message = err.Error()
	}
	at := slices.IndexFunc(b.rows, func(r row) bool {
		return r.name == name && (b.o.Mode == Functions || b.tree.path(r.node) == node)
	})
	b.move(max(at, 0))
	return err
}

func (b *Browser) fillFunctions() error {
	costs, total, err := table.Costs(b.shown, table.TopOptions{Event: b.o.Event, Column: b.o.Column, Sort: b.o.Sort, By: b.o.By})
	if err != nil {
		return err
	}
	b.rows, b.total = b.rows[:0], total
	for _, c := range costs {
		b.rows = append(b.rows, row{name: c.Name, mapping: c.Mapping, self: c.Self, cum: c.Cum, leaf: true})
	}
	return nil
}

func (b *Browser) move(to int) { b.at = max(min(to, len(b.rows)-1), 0) }

// step adds a step about the function that is selected.
func (b *Browser) step(op transform.Op) {
	if b.at >= len(b.rows) || b.o.By != "" && b.o.Mode == Functions {
		return
	}
	b.addStep(op, "^"+regexp.QuoteMeta(b.rows[b.at].name)+"$")
}

func (b *Browser) addStep(op transform.Op, text string) {
	t, err := transform.Parse(op, text)
	if err == nil {
		err = b.apply(append(slices.Clip(b.steps), t))
	}
	if err != nil {
		b.message = err.Error()
	}
}

// follow shows the callers of the function that is selected, or what it calls.
func (b *Browser) follow(op transform.Op, mode Mode) {
	if b.at >= len(b.rows) || b.o.By != "" && b.o.Mode == Functions {
		return
	}
	was := place{b.o.Mode, b.steps, b.rows[b.at].name}
	b.o.Mode = mode
	b.tree = treeState{}
	before := len(b.steps)
	if b.step(op); len(b.steps) == before {
		b.o.Mode = was.mode
		return
	}
	b.back = append(b.back, was)
	b.tree.openHeaviest(b)
}

// undo takes back one thing that was selected.
func (b *Browser) undo() {
	switch n := len(b.back); {
	case n > 0 && len(b.steps) == len(b.back[n-1].steps)+1:
		was := b.back[n-1]
		b.back, b.o.Mode, b.tree = b.back[:n-1], was.mode, treeState{}
		_ = b.apply(was.steps) // it was there before
		b.move(slices.IndexFunc(b.rows, func(r row) bool { return r.name == was.name }))
	case len(b.steps) > 0:
		_ = b.apply(b.steps[:len(b.steps)-1])
	}
}

// nextEvent shows another event, or another value of the one shown.
func (b *Browser) nextEvent(by int) {
	b.o.Event = (b.o.Event + by + len(b.set.Events)) % len(b.set.Events)
	b.o.Column = len(b.set.Events[b.o.Event].Values) - 1
	_ = b.fill()
}

func (b *Browser) nextColumn() {
	b.o.Column = (b.o.Column + 1) % len(b.set.Events[b.o.Event].Values)
	_ = b.fill()
}

// nextGroup groups by another label.
func (b *Browser) nextGroup() {
	groups := slices.Concat([]string{""}, b.set.LabelKeys(), []string{"mapping"})
	b.o.By = groups[(slices.Index(groups, b.o.By)+1)%len(groups)]
	b.o.Mode = Functions
	_ = b.fill()
}

// find looks for a text as a page does: without regard to case, unless there are capital
// letters in it.
func (b *Browser) find(text string) {
	b.search, b.text = nil, text
	if text == "" {
		return
	}
	var err error
	if b.search, err = regexp.Compile(blind(text)); err != nil {
		b.message = "not a regular expression: " + text
		return
	}
	if b.at >= len(b.rows) || !b.search.MatchString(b.rows[b.at].name) {
		b.next(1)
	}
}

func blind(text string) string {
	for _, r := range text {
		if unicode.IsUpper(r) {
			return text
		}
	}
	return "(?i:" + text + ")"
}

// next goes to the next row that matches, in a direction.
func (b *Browser) next(by int) {
	for i := range b.rows {
		at := ((b.at+by*(i+1))%len(b.rows) + len(b.rows)) % len(b.rows)
		if b.search != nil && b.search.MatchString(b.rows[at].name) {
			b.move(at)
			return
		}
	}
	if b.search != nil {
		b.message = fmt.Sprintf("nothing here matches %s", b.text)
	}
}

// Run shows the Browser on a screen until the reader has enough, or updates is closed and
// ended is true. What comes from updates is shown at once; it may be nil.
func (b *Browser) Run(screen tcell.Screen, updates <-chan Update) {
	events := make(chan tcell.Event)
	quit := make(chan struct{})
	defer close(quit)
	go screen.ChannelEvents(events, quit)
	for {
		b.Draw(screen)
		screen.Show()
		select {
		case e, ok := <-events:
			if !ok || b.Handle(e) {
				return
			}
		case u, ok := <-updates:
			if !ok {
				updates = nil
				continue
			}
			b.Update(u.Set, u.Notes)
		}
	}
}

// Looked is what a reader looks at.
type Looked struct {
	Event, Column int
	Inverted      bool // stacks from the innermost on
	Search        string
	Steps         []transform.Transform
}

// Page reports whether the reader has left for a page, and what that is to show.
func (b *Browser) Page() (at Looked, wanted bool) {
	return Looked{b.o.Event, b.o.Column, b.o.Mode == Reverse, b.text, b.steps}, b.page
}

// Update is what a profile that goes on has become.
type Update struct {
	Set   *stacks.Set
	Notes []string
}
