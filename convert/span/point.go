package span

import "encoding/binary"

// Kind says what a Point is.
type Kind uint8

const (
	Switch    Kind = iota // Task leaves the CPU and Next comes
	Wake                  // Task may run from now on
	Come                  // Task has come to the CPU: what only that task's own records tell
	LostFrom              // behind this, records of the CPU are missing; of any CPU where that is -1
	LostTo                // up to this
	Begin                 // a span of a rule begins
	End                   // it ends
	Leave                 // what began with this key before is not to end any more
	Away                  // Task leaves the CPU; who comes is told by a Come
	Sampled               // nothing to pair: Task was on a CPU, with Row and Owner
	Release               // ends the span of its key, if there is one
	Allocate              // Task calls what is to give Value bytes, and takes back Key.Values[0] unless it is 0
	Allocated             // Task comes back with Key.Values[0], 0 for nothing
	Free                  // Task calls what takes back Key.Values[0]
	Starting              // nothing to pair: Task begins, what was known of its number is another's
	Ending                // nothing to pair: Task ends, and does not come back when it leaves next
	Nothing
)

// Match says whether a span is taken, as far as one of its sides tells. One side that says
// no leaves it out; else one that says yes takes it.
type Match uint8

const (
	MatchNo Match = iota
	MatchYes
	MatchUnknown
)

// Point is an event that may begin or end a span.
type Point struct {
	Time  uint64 // ns
	Kind  Kind
	State State // of a Switch: that of Task
	CPU   int32
	Task  int32  // thread id, as the kernel numbers it in its own namespace; 0 is idle
	Next  int32  // of a Switch
	Row   uint32 // the caller's, of a Switch, Begin and End: what belongs to Task; of a Wake: to who wakes, NoRow for nothing
	Owner uint32 // the caller's, likewise

	// Of a Begin, End, Leave and Release:
	Key   Key
	Check uint64 // is to be the same at both ends; Unchecked for what does not tell
	Place uint64 // stack pointer, 0 where it is not known
	Value int64  // the caller's, of a Begin
	Match Match
}

// NoRow is the Row of what has none.
const NoRow = ^uint32(0)

// Unchecked is the Check of what does not tell.
const Unchecked = ^uint64(0)

// Key is what both ends of a span have in common.
type Key struct {
	Rule    uint32 // the caller's number of it
	Varying uint32 // the caller's number of what varies in the names of its events
	Task    int32  // 0 where it does not matter, or is told by the CPU
	CPU     int32  // -1 where it does not matter
	Values  [3]uint64
}

// pointSize is how many bytes a Point takes at least while it is sorted, without its time;
// keySize how many more one of a rule does.
const (
	pointSize = 22
	keySize   = 16 + 3*8 + 3*8 + 1
)

func (k Kind) hasKey() bool {
	return k == Begin || k == End || k == Leave || k == Release || k == Allocate || k == Allocated || k == Free
}

// AppendBinary appends all of a Point but its time, which who sorts has beside it.
func (p *Point) AppendBinary(b []byte) ([]byte, error) {
	o := binary.LittleEndian
	b = append(b, byte(p.Kind), byte(p.State))
	for _, v := range [...]uint32{uint32(p.CPU), uint32(p.Task), uint32(p.Next), p.Row, p.Owner} {
		b = o.AppendUint32(b, v)
	}
	if !p.Kind.hasKey() {
		return b, nil
	}
	k := &p.Key
	for _, v := range [...]uint32{k.Rule, k.Varying, uint32(k.Task), uint32(k.CPU)} {
		b = o.AppendUint32(b, v)
	}
	for _, v := range [...]uint64{k.Values[0], k.Values[1], k.Values[2], p.Check, p.Place, uint64(p.Value)} {
		b = o.AppendUint64(b, v)
	}
	return append(b, byte(p.Match)), nil
}

// Decode takes back what AppendBinary has written.
func (p *Point) Decode(b []byte) {
	_ = b[pointSize-1]
	o := binary.LittleEndian
	p.Kind, p.State = Kind(b[0]), State(b[1])
	p.CPU, p.Task, p.Next = int32(o.Uint32(b[2:])), int32(o.Uint32(b[6:])), int32(o.Uint32(b[10:]))
	p.Row, p.Owner = o.Uint32(b[14:]), o.Uint32(b[18:])
	if !p.Kind.hasKey() {
		return
	}
	b = b[pointSize:]
	_ = b[keySize-1]
	p.Key = Key{o.Uint32(b), o.Uint32(b[4:]), int32(o.Uint32(b[8:])), int32(o.Uint32(b[12:])), [3]uint64{o.Uint64(b[16:]), o.Uint64(b[24:]), o.Uint64(b[32:])}}
	p.Check, p.Place, p.Value = o.Uint64(b[40:]), o.Uint64(b[48:]), int64(o.Uint64(b[56:]))
	p.Match = Match(b[64])
}
