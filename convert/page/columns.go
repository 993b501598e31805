package page

import (
	"bufio"
	"encoding/binary"
	"strings"

	"kprof/convert/intern"
)

// columnWriter writes varints; Flush of w tells the first error.
type columnWriter struct {
	w   *bufio.Writer
	buf [binary.MaxVarintLen64]byte
}

func (c *columnWriter) put(v uint64)      { c.w.Write(c.buf[:binary.PutUvarint(c.buf[:], v)]) }
func (c *columnWriter) putSigned(v int64) { c.w.Write(c.buf[:binary.PutVarint(c.buf[:], v)]) }

// stringTable gives each string a number, in order of appearance. What is not
// UTF-8 of a string is replaced.
type stringTable struct{ intern.Strings }

func newStringTable(first ...string) *stringTable {
	t := &stringTable{intern.Strings{All: []string{}}}
	for _, s := range first {
		t.id(s)
	}
	return t
}

func (t *stringTable) id(s string) uint32 {
	return t.ID(strings.ToValidUTF8(s, "\uFFFD"))
}
