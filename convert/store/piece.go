package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"kprof/convert/pprof"
	"kprof/convert/stacks"
)

// Piece is a profile, or a part of one, that is pushed by one request.
type Piece struct {
	Labels  []Label   // of its series, sorted by name
	Profile []byte    // profile.proto, or a request of OTLP, compressed
	ID      string    // a UUID made of all else: a piece that is sent twice has one
	Time    time.Time // when the profile begins
	Size    int       // of the profile when it is not compressed, in bytes
	Rows    int       // different stacks
	Samples int64     // the sum of the first column
}

// PieceOptions say how a profile becomes pieces.
type PieceOptions struct {
	Protocol Protocol
	Limits   Limits
	// Labels are those of all series, beside those that Describe finds: a later one instead
	// of an earlier one of the same name. There must be a service_name.
	Labels []Label
	// Series are keys of sample labels whose values become series; all other labels of
	// samples are left out, since a store makes a series of each.
	Series []string
	// MaxSeries bounds the different values of each key of Series; samples of further ones
	// are in a series with the value "[others]". Default: 100.
	MaxSeries int
	// Root is the key of a label that becomes a frame at the root of each stack, such as
	// comm, since labels of samples are left out; "" for none.
	Root string
	// Time is when the profile began, if its Set does not tell. Default: now.
	Time time.Time
}

// otherSeries is the value of a label that has too many.
const otherSeries = "[others]"

// TooLargeError says that a single stack is larger than a store takes.
type TooLargeError struct {
	Samples int64 // that are left out
	Limit   int   // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%d samples have stacks of more than %d bytes, which no store takes", e.Samples, e.Limit)
}

// Pieces calls take with the pieces of a Set: each is of one event and of one series, and
// within the limits. After an error of take it returns that. What is too large is left
// out, which a *TooLargeError tells at the end.
func Pieces(s *stacks.Set, o PieceOptions, take func(Piece) error) error {
	o.Limits = o.Limits.withDefaults()
	if o.MaxSeries == 0 {
		o.MaxSeries = 100
	}
	at := o.Time
	if s.TimeNanos != 0 {
		at = time.Unix(0, s.TimeNanos)
	} else if at.IsZero() {
		at = time.Now()
	}
	m := maker{o: o, at: at, take: take, size: o.Limits.Bytes}
	for e := range s.Events {
		if len(s.Events[e].Values) == 0 {
			continue
		}
		groups := groupRows(s, e, o.Series, o.MaxSeries)
		for _, g := range groups {
			first := []Label{{nameLabel, profileName(&s.Events[e])}, {"event", s.Events[e].Name}}
			if o.Protocol == OTLP {
				first = append(first, Label{"os.type", "linux"})
			}
			labels, err := series(slices.Concat(first, Describe(s), o.Labels, g.labels), o.Limits.LabelNames, o.Protocol)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(labels, func(l Label) bool { return l.Name == "service_name" || l.Name == otlpNames["service_name"] }) {
				return fmt.Errorf("there is no label service_name, which a store wants")
			}
			if err := m.split(reduced(s, e, g.rows, o.Root), labels); err != nil {
				return err
			}
		}
	}
	if m.left > 0 {
		return &TooLargeError{m.left, o.Limits.Bytes}
	}
	return nil
}

// Describe returns what a profile says of where it was recorded, as labels: host,
// kernel_release, arch and kernel_build_id.
func Describe(s *stacks.Set) []Label {
	var labels []Label
	add := func(name, value string) {
		if value != "" && !slices.ContainsFunc(labels, func(l Label) bool { return l.Name == name }) {
			labels = append(labels, Label{name, value})
		}
	}
	once := map[string]string{} // of a sum of several machines, nothing is said of one
	for _, c := range s.Comments {
		what, value, ok := strings.Cut(c, ": ")
		if ok && (what == "host" || what == "kernel") {
			if had, known := once[what]; known && had != value {
				value = ""
			}
			once[what] = value
		}
	}
	add("host", once["host"])
	release, arch, _ := strings.Cut(once["kernel"], " ")
	add("kernel_release", release)
	add("arch", arch)
	id, one := "", true
	for i := range s.Mappings {
		if m := &s.Mappings[i]; m.Kind == stacks.KindKernel && m.BuildID != "" {
			one = one && (id == "" || id == m.BuildID)
			id = m.BuildID
		}
	}
	if one {
		add("kernel_build_id", id)
	}
	return labels
}

// profileName is the first part of a profile's type, as those that stores know are called:
// process_cpu for the time on the CPU.
func profileName(e *stacks.Event) string {
	if c := columns(e); c[len(c)-1] == (stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}) {
		return "process_cpu"
	}
	return Name(e.Name)
}

// columns are those of an event alone, in an alphabet that a store takes: a type of a
// profile is parts with colons between them, and none may have a "-".
func columns(e *stacks.Event) []stacks.ValueType {
	var all []stacks.ValueType
	for _, v := range e.Values {
		t := strings.TrimPrefix(v.Type, e.Name+".")
		if t == e.Name && v.Unit == "nanoseconds" && (strings.HasPrefix(t, "cpu-clock") || strings.HasPrefix(t, "task-clock")) {
			t = "cpu"
		}
		if v.Type = Name(t); v.Unit != "" {
			v.Unit = Name(v.Unit)
		}
		all = append(all, v)
	}
	return all
}

// group is the rows of one series.
type group struct {
	labels []Label
	rows   []int
}

// groupRows divides the rows of an event by the values of some labels.
func groupRows(s *stacks.Set, event int, keys []string, most int) []*group {
	var groups []*group
	of := map[string]*group{}
	seen := make([]map[string]bool, len(keys))
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != event {
			continue
		}
		var labels []Label
		var id strings.Builder
		for k, key := range keys {
			l, ok := s.Label(x.Labels, key)
			v := l.Str
			if ok && v == "" {
				v = fmt.Sprint(l.Num)
			}
			if seen[k] == nil {
				seen[k] = map[string]bool{}
			}
			if !seen[k][v] && len(seen[k]) >= most {
				v = otherSeries
			}
			seen[k][v] = true
			labels = append(labels, Label{key, v})
			fmt.Fprintf(&id, "%q", v)
		}
		g := of[id.String()]
		if g == nil {
			g = &group{labels: labels}
			of[id.String()] = g
			groups = append(groups, g)
		}
		g.rows = append(g.rows, i)
	}
	return groups
}

// reduced is a Set of some rows of an event, without labels and with nothing that the
// rows do not need.
func reduced(s *stacks.Set, event int, rows []int, root string) *stacks.Set {
	e := &s.Events[event]
	r := stacks.New(stacks.Event{Name: e.Name, Values: columns(e)})
	last := r.Events[0].Values[len(e.Values)-1]
	r.DurationNanos = s.DurationNanos
	r.PeriodType = stacks.ValueType{Type: last.Type, Unit: last.Unit}
	if s.PeriodType == e.Values[len(e.Values)-1] {
		r.Period = s.Period
	}
	c := copier{from: s, to: r, location: map[uint32]uint32{}, mapping: map[int32]int32{}, named: true}
	for _, i := range rows {
		x := s.Sample(i)
		stack := c.stack(x.Stack)
		if l, ok := s.Label(x.Labels, root); ok && root != "" && l.Str != "" {
			stack = c.rooted(stack, stacks.Function{Name: l.Str, SystemName: l.Str, File: root})
		}
		r.Add(0, stack, 0, x.Values...)
	}
	return r
}

// copier copies stacks from one Set to another.
type copier struct {
	from, to *stacks.Set
	named    bool // locations without a name are called by their mapping
	location map[uint32]uint32
	mapping  map[int32]int32
	roots    map[stacks.Function]uint32
	chain    []uint32
	lines    []stacks.Line
}

// rooted returns a stack with one more frame at its root, as far as there is room.
func (c *copier) rooted(id stacks.StackID, f stacks.Function) stacks.StackID {
	loc, known := c.roots[f]
	if !known {
		if c.roots == nil {
			c.roots = map[stacks.Function]uint32{}
		}
		of := f
		f.Name, f.SystemName = strings.ToValidUTF8(f.Name, "?"), strings.ToValidUTF8(f.SystemName, "?")
		loc = c.to.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
		c.to.SetLines(loc, stacks.Line{Function: c.to.AddFunction(f)})
		c.roots[of] = loc
	}
	stack := c.to.Stack(id)
	c.chain = append(append(c.chain[:0], stack[:min(len(stack), stacks.MaxDepth-1)]...), loc)
	return c.to.Intern(c.chain)
}

func (c *copier) stack(id stacks.StackID) stacks.StackID {
	c.chain = c.chain[:0]
	for _, l := range c.from.Stack(id) {
		to, known := c.location[l]
		if !known {
			to = c.copy(l)
			c.location[l] = to
		}
		c.chain = append(c.chain, to)
	}
	return c.to.Intern(c.chain)
}

// copy copies a location. A store refuses a profile for one name that is not UTF-8.
func (c *copier) copy(loc uint32) uint32 {
	utf8 := func(s string) string { return strings.ToValidUTF8(s, "?") }
	l := c.from.Locations[loc]
	in := int32(stacks.NoMapping)
	if l.Mapping >= 0 {
		var known bool
		if in, known = c.mapping[l.Mapping]; !known {
			m := c.from.Mappings[l.Mapping]
			m.File, m.BuildID = utf8(m.File), utf8(m.BuildID)
			in = c.to.AddMapping(m)
			c.mapping[l.Mapping] = in
		}
	}
	c.lines = c.lines[:0]
	for _, x := range c.from.Lines(loc) {
		f := c.from.Functions[x.Function]
		f.Name, f.SystemName, f.File = utf8(f.Name), utf8(f.SystemName), utf8(f.File)
		x.Function = c.to.AddFunction(f)
		c.lines = append(c.lines, x)
	}
	if c.named && len(c.lines) == 0 { // a store shows names, not addresses
		name := "[unknown]"
		if in >= 0 {
			name = c.to.Mappings[in].Unnamed()
		}
		c.lines = append(c.lines, stacks.Line{Function: c.to.AddFunction(stacks.Function{Name: name, SystemName: name})})
	}
	to := c.to.AddLocation(in, l.Addr, l.Kind)
	c.to.SetLines(to, c.lines...)
	return to
}

// maker makes pieces.
type maker struct {
	o    PieceOptions
	at   time.Time
	n    int
	size int
	left int64 // samples
	take func(Piece) error
}

// split takes a Set whole if it is within the limits, or else in parts.
func (m *maker) split(s *stacks.Set, labels []Label) error {
	n := s.NumSamples()
	if n == 0 {
		return nil
	}
	if most := m.o.Limits.Samples; n > most {
		parts := (n + most - 1) / most
		for i := range parts {
			if err := m.split(part(s, i*n/parts, (i+1)*n/parts), labels); err != nil {
				return err
			}
		}
		return nil
	}
	s.TimeNanos = m.at.UnixNano() + int64(m.n) // a store may take profiles of one time for one
	b, err := m.encode(s, labels)
	if err != nil {
		return err
	}
	size := int(binary.LittleEndian.Uint32(b[len(b)-4:])) // RFC 1952
	if size > m.size {
		if n == 1 {
			m.left += s.Totals(0)[0]
			return nil
		}
		for _, half := range []*stacks.Set{part(s, 0, n/2), part(s, n/2, n)} {
			if err := m.split(half, labels); err != nil {
				return err
			}
		}
		return nil
	}
	m.n++
	p := Piece{Labels: labels, Profile: b, Time: m.at, Size: size, Rows: n, Samples: s.Totals(0)[0]}
	p.ID = idOf(&p)
	return m.take(p)
}

// encode is what a piece of a Set is sent as, compressed.
func (m *maker) encode(s *stacks.Set, labels []Label) ([]byte, error) {
	var b bytes.Buffer
	if m.o.Protocol != OTLP {
		err := pprof.Write(&b, s, pprof.WriteOptions{})
		return b.Bytes(), err
	}
	request, err := otlpRequest(s, labels)
	if err != nil {
		return nil, err
	}
	z := gzip.NewWriter(&b)
	_, err = z.Write(request)
	err = errors.Join(err, z.Close())
	return b.Bytes(), err
}

// part is the rows of a reduced Set from one number to another.
func part(s *stacks.Set, from, to int) *stacks.Set {
	p := stacks.New(s.Events...)
	p.DurationNanos, p.PeriodType, p.Period = s.DurationNanos, s.PeriodType, s.Period
	c := copier{from: s, to: p, location: map[uint32]uint32{}, mapping: map[int32]int32{}}
	for i := from; i < to; i++ {
		x := s.Sample(i)
		p.Add(0, c.stack(x.Stack), 0, x.Values...)
	}
	return p
}

// idOf makes a UUID (RFC 9562, version 8) of what a piece says.
func idOf(p *Piece) string {
	h := sha256.New()
	for _, l := range p.Labels {
		fmt.Fprintf(h, "%q=%q,", l.Name, l.Value)
	}
	h.Write(p.Profile)
	u := h.Sum(nil)[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
