package span

// allocations makes Begin and End of the calls of a program that allocate and free memory.
// Functions that do call each other: realloc may call malloc and free. What counts is the
// call that the program has made, the outermost of its thread.
//
// What a call takes back ends where it begins: from then on another thread may get it.
type allocations struct {
	threads map[int32][]call // that are within calls, by Task
	begin   Point            // or end
}

// call is one that has not returned.
type call struct {
	place uint64
	bytes int64
}

// maxCalls are as many as may be within each other.
const maxCalls = 64

// take takes a point, and hands on what it comes to.
func (a *allocations) take(p *Point, next func(*Point)) {
	calls := a.threads[p.Task]
	if p.Kind == Allocated {
		a.returned(calls, p, next)
		return
	}
	// The stack grows down: calls at or below this one's place are over, whose return was
	// not seen.
	for n := len(calls); n > 0 && calls[n-1].place <= p.Place; n-- {
		calls = calls[:n-1]
	}
	if len(calls) == 0 && p.Key.Values[0] != 0 {
		a.begin = *p
		a.begin.Kind, a.begin.Check, a.begin.Place = End, Unchecked, 0
		next(&a.begin)
	}
	if p.Kind == Allocate && len(calls) < maxCalls {
		calls = append(calls, call{p.Place, p.Value})
	}
	a.set(p.Task, calls)
}

// returned takes the return of a call.
func (a *allocations) returned(calls []call, p *Point, next func(*Point)) {
	for n := len(calls) - 1; n >= 0; n-- {
		c := &calls[n]
		if at := (&begun{place: c.place}); !at.at(p.Place) {
			continue
		}
		bytes := c.bytes
		a.set(p.Task, calls[:n])
		if n > 0 || p.Key.Values[0] == 0 {
			return
		}
		// The stack is that of the return, which has the caller also where frame pointers do
		// not tell it of a function that was just entered.
		a.begin = *p
		a.begin.Kind, a.begin.Value, a.begin.Check, a.begin.Place = Begin, bytes, Unchecked, 0
		unknown := p.Check == UnknownAddress
		next(&a.begin)
		if unknown {
			a.begin.Kind = Leave
			next(&a.begin)
		}
		return
	}
}

// UnknownAddress is the Check of an Allocated whose address is not known: when it is taken
// back is not known either.
const UnknownAddress = 1

func (a *allocations) set(task int32, calls []call) {
	if len(calls) == 0 {
		delete(a.threads, task)
		return
	}
	if a.threads == nil {
		a.threads = map[int32][]call{}
	}
	a.threads[task] = calls
}

// lose forgets what was going on.
func (a *allocations) lose() { clear(a.threads) }
