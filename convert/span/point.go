package span

import "encoding/binary"

// Kind says what a Point is.
type Kind uint8

const (
	Switch   Kind = iota // Task leaves the CPU and Next comes
	Wake                 // Task may run from now on
	Come                 // Task has come to the CPU: what only that task's own records tell
	LostFrom             // behind this, records of the CPU are missing
	LostTo               // up to this
)

// Point is an event that may begin or end a span.
type Point struct {
	Time  uint64 // ns
	Kind  Kind
	State State // of a Switch: that of Task
	CPU   int32
	Task  int32  // thread id, as the kernel numbers it in its own namespace; 0 is idle
	Next  int32  // of a Switch
	Row   uint32 // the caller's, of a Switch: what belongs to Task
	Owner uint32 // the caller's, likewise
}

// pointSize is how many bytes a Point takes while it is sorted, without its time.
const pointSize = 22

// AppendBinary appends all of a Point but its time, which who sorts has beside it.
func (p *Point) AppendBinary(b []byte) ([]byte, error) {
	o := binary.LittleEndian
	b = append(b, byte(p.Kind), byte(p.State))
	for _, v := range [...]uint32{uint32(p.CPU), uint32(p.Task), uint32(p.Next), p.Row, p.Owner} {
		b = o.AppendUint32(b, v)
	}
	return b, nil
}

// Decode takes back what AppendBinary has written.
func (p *Point) Decode(b []byte) {
	_ = b[pointSize-1]
	o := binary.LittleEndian
	p.Kind, p.State = Kind(b[0]), State(b[1])
	p.CPU, p.Task, p.Next = int32(o.Uint32(b[2:])), int32(o.Uint32(b[6:])), int32(o.Uint32(b[10:]))
	p.Row, p.Owner = o.Uint32(b[14:]), o.Uint32(b[18:])
}
