// Package tracetest writes pages of the kernel's ring buffers and trace.dat files, for
// tests of what reads them.
package tracetest

import "kprof/perfevent/abi"

// Machine is the kernel whose pages are written.
type Machine struct {
	Order abi.Order
	Long  int // bytes: 4 or 8
	Page  int // bytes
}

// HeaderPage is its events/header_page.
func (m Machine) HeaderPage() string {
	long := string(rune('0' + m.Long))
	data := map[int]string{4: "12", 8: "16"}[m.Long]
	return "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
		"\tfield: local_t commit;\toffset:8;\tsize:" + long + ";\tsigned:1;\n" +
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n" +
		"\tfield: char data;\toffset:" + data + ";\tsize:" + itoa(m.Page-8-m.Long) + ";\tsigned:1;\n"
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func (m Machine) appendLong(b []byte, v uint64) []byte {
	if m.Long == 4 {
		return m.Order.AppendUint32(b, uint32(v))
	}
	return m.Order.AppendUint64(b, v)
}

// entry is a word of type and time, in the order of bits that the byte order has.
func (m Machine) entry(kind, delta uint32) []byte {
	word := delta<<5 | kind
	if m.Order == abi.BigEndian {
		word = kind<<27 | delta
	}
	return m.Order.AppendUint32(nil, word)
}

// Event is an event delta after what is before it.
func (m Machine) Event(delta uint32, data []byte) []byte {
	n := (len(data) + 3) / 4
	if n > 28 || n == 0 {
		return m.LongEvent(delta, data)
	}
	return append(append(m.entry(uint32(n), delta), data...), make([]byte, 4*n-len(data))...)
}

// LongEvent is an event whose length is in a word of its own.
func (m Machine) LongEvent(delta uint32, data []byte) []byte {
	b := m.Order.AppendUint32(m.entry(0, delta), uint32(4+len(data)))
	return append(append(b, data...), make([]byte, (4-len(data)%4)%4)...)
}

// Extend is a time that is longer than events can tell.
func (m Machine) Extend(delta uint64) []byte {
	return m.Order.AppendUint32(m.entry(30, uint32(delta&(1<<27-1))), uint32(delta>>27))
}

// Stamp is an absolute time.
func (m Machine) Stamp(t uint64) []byte {
	return m.Order.AppendUint32(m.entry(31, uint32(t&(1<<27-1))), uint32(t>>27))
}

// Discarded is an event of n bytes of data that was given up.
func (m Machine) Discarded(delta uint32, n int) []byte {
	return append(m.Order.AppendUint32(m.entry(29, delta), uint32(4+n)), make([]byte, n)...)
}

// Rest says that nothing follows in the page.
func (m Machine) Rest() []byte { return m.entry(29, 0) }

// Sub is a page of these entries. lost is how many events were lost before it, -1 for an
// unknown number.
func (m Machine) Sub(t uint64, lost int64, entries ...[]byte) []byte {
	var events []byte
	for _, e := range entries {
		events = append(events, e...)
	}
	commit := uint64(len(events))
	if lost != 0 {
		commit |= 1 << 31
	}
	if lost > 0 {
		commit |= 1 << 30
	}
	b := append(m.appendLong(m.Order.AppendUint64(nil, t), commit), events...)
	if lost > 0 {
		b = m.appendLong(b, uint64(lost))
	}
	if len(b) > m.Page {
		panic("a page is too small for its events")
	}
	return append(b, make([]byte, m.Page-len(b))...)
}
