package ringpage

import (
	"errors"
	"fmt"

	"kprof/perfevent/abi"
)

// Page walks the events of one page. The zero value has none; it can be loaded again and
// again.
type Page struct {
	// Lost is how many events were lost before this page, 0 for none, LostUnknown where
	// the page only says that there were some.
	Lost int64
	// Time is that of the event that Next returned last, in units of the buffer's clock.
	Time uint64

	order    abi.Order
	events   []byte // not yet walked
	err      error
	longSize int
}

// LostUnknown is the Lost of a page before which events were lost, nobody knows how many.
const LostUnknown = -1

// Bits of the commit word.
const (
	lostBit   = 1 << 31
	storedBit = 1 << 30
	sizeMask  = 1<<27 - 1
)

// ErrDamaged is the error of a page whose events do not fit into it.
var ErrDamaged = errors.New("damaged page of a ring buffer")

// Load takes a page, which must stay as it is while its events are in use. Where the page
// is shorter than it says, the error is ErrDamaged, and the events that are there follow.
func (p *Page) Load(l *Layout, page []byte) error {
	*p = Page{order: l.Order, longSize: l.LongSize}
	if len(page) < l.DataOffset {
		p.err = fmt.Errorf("%w: %d bytes", ErrDamaged, len(page))
		return p.err
	}
	p.Time = l.Order.Uint64(page)
	commit := uint64(l.Order.Uint32(page[8:]))
	if l.LongSize == 8 {
		commit = l.Order.Uint64(page[8:])
	}
	n := int(commit & sizeMask)
	page = page[l.DataOffset:]
	if n > len(page) {
		p.err = fmt.Errorf("%w: it says that it has %d bytes of events, in %d", ErrDamaged, n, len(page))
		n = len(page)
	}
	p.events = page[:n:n]
	if commit&lostBit != 0 {
		p.Lost = LostUnknown
		if rest := page[n:]; commit&storedBit != 0 && len(rest) >= l.LongSize {
			lost := uint64(l.Order.Uint32(rest))
			if l.LongSize == 8 {
				lost = l.Order.Uint64(rest)
			}
			if lost > 0 && lost < 1<<62 {
				p.Lost = int64(lost)
			}
		}
	}
	return p.err
}

// Types of entries, where it is not a length (enum ring_buffer_type).
const (
	typePadding    = 29
	typeTimeExtend = 30
	typeTimeStamp  = 31
	deltaBits      = 27
	highBits       = 0x1f << 59 // of a time that absolute ones lack
)

// Next returns the data of the next event, from its common fields on and with padding to 4
// bytes, and sets Time; false at the end of the page, see Err.
func (p *Page) Next() ([]byte, bool) {
	for len(p.events) >= 4 {
		word := p.order.Uint32(p.events)
		kind, delta := word&31, uint64(word>>5)
		if p.order == abi.BigEndian {
			kind, delta = word>>deltaBits, uint64(word&(1<<deltaBits-1))
		}
		if kind > 0 && kind < typePadding {
			n := 4 + 4*int(kind)
			if n > len(p.events) {
				return p.damaged(n)
			}
			data := p.events[4:n:n]
			p.events = p.events[n:]
			p.Time += delta
			return data, true
		}
		if kind == typePadding && delta == 0 {
			break // the rest of the page
		}
		if len(p.events) < 8 {
			return p.damaged(8)
		}
		value := p.order.Uint32(p.events[4:])
		switch kind {
		case typeTimeExtend:
			p.Time += delta + uint64(value)<<deltaBits
			p.events = p.events[8:]
		case typeTimeStamp:
			p.stamp(delta + uint64(value)<<deltaBits)
			p.events = p.events[8:]
		case typePadding: // an event that was discarded; its time counts
			p.Time += delta
			n := 4 + uint64(value)
			if n > uint64(len(p.events)) || n < 8 {
				return p.damaged(int(n))
			}
			p.events = p.events[n:]
		default: // 0
			n := (4 + uint64(value) + 3) &^ 3
			if n > uint64(len(p.events)) || n < 8 {
				return p.damaged(int(n))
			}
			data := p.events[8:n:n]
			p.events = p.events[n:]
			p.Time += delta
			return data, true
		}
	}
	p.events = nil
	return nil, false
}

// stamp sets the time to an absolute one, whose highest bits are those of the time before,
// or one more where it would run backwards (rb_fix_abs_ts).
func (p *Page) stamp(t uint64) {
	high := p.Time & highBits
	t |= high
	if high != 0 && t < p.Time {
		t += 1 << 59
	}
	p.Time = t
}

func (p *Page) damaged(n int) ([]byte, bool) {
	p.err = fmt.Errorf("%w: an event of %d bytes, %d are left", ErrDamaged, n, len(p.events))
	p.events = nil
	return nil, false
}

// Left is how many bytes of the page are not yet walked, by which its events can be told apart.
func (p *Page) Left() int { return len(p.events) }

// Err is why the walk ended before the end of the page: nil, or ErrDamaged.
func (p *Page) Err() error { return p.err }
