package ringpage

import (
	"fmt"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
)

// Layout is how the pages of one kernel are laid out.
type Layout struct {
	Order      abi.Order
	LongSize   int // bytes of the kernel's long: 4 or 8
	DataOffset int // where events begin, in bytes
	Size       int // of a page, or of a sub-buffer of several, in bytes
}

// maxSize is more than the largest sub-buffer, of 2^order pages of up to 64 KiB; their
// times and lengths would allow 128 MiB.
const maxSize = 64 << 20

// Default is the Layout of kernels since 2.6.31 with a long of 4 or 8 bytes.
func Default(o abi.Order, longSize, pageSize int) Layout {
	return Layout{Order: o, LongSize: longSize, DataOffset: 8 + longSize, Size: pageSize}
}

// ParseHeaderPage reads the text of events/header_page, in which Linux 6.8 and later have the
// sub-buffers that buffer_subbuf_size_kb asks for.
func ParseHeaderPage(text string, o abi.Order) (Layout, error) {
	l := Layout{Order: o}
	f, err := format.Parse(text, format.Machine{Order: o, MaxSize: maxSize})
	if err != nil {
		return l, fmt.Errorf("header_page: %w", err)
	}
	commit, data := f.Field("commit"), f.Field("data")
	if commit == nil || data == nil {
		return l, fmt.Errorf("header_page: no field commit or data in %.100q", strings.TrimSpace(text))
	}
	l.LongSize, l.DataOffset = commit.Size, data.Offset
	l.Size = l.DataOffset + data.Size
	if commit.Offset != 8 || data.Size == 0 { // it does not tell
		l.Size = 0
	}
	return l, l.check()
}

func (l *Layout) check() error {
	if l.LongSize != 4 && l.LongSize != 8 || l.DataOffset < 8+l.LongSize || l.DataOffset > 64 || l.Size < 0 || l.Size > maxSize {
		return fmt.Errorf("header_page: a page of %d bytes with a long of %d and events from %d on", l.Size, l.LongSize, l.DataOffset)
	}
	return nil
}
