package perfdata

import "io"

// Chunks that are read ahead. The room before each takes what is left of the one
// before, so that a record lies in one piece: at most 64 KiB.
const (
	aheadChunk  = 256 << 10
	aheadRoom   = 1 << 16
	aheadChunks = 3
)

// readAhead reads a file while what was read before is looked at: a goroutine of
// its own fills chunks, in order, until the end of the file or stop.
type readAhead struct {
	full chan aheadPiece
	free chan []byte
	quit chan struct{}
}

// aheadPiece is a chunk with n bytes from aheadRoom on.
type aheadPiece struct {
	buf []byte
	n   int
	err error // why there is no more, io.EOF at the end
}

// newReadAhead starts to read the bytes of r from off up to end.
func newReadAhead(r io.ReaderAt, off, end int64) *readAhead {
	a := &readAhead{
		full: make(chan aheadPiece, aheadChunks),
		free: make(chan []byte, aheadChunks),
		quit: make(chan struct{}),
	}
	for range aheadChunks {
		a.free <- make([]byte, aheadRoom+aheadChunk)
	}
	go a.read(r, off, end)
	return a
}

func (a *readAhead) read(r io.ReaderAt, off, end int64) {
	for {
		var p aheadPiece
		select {
		case p.buf = <-a.free:
		case <-a.quit:
			return
		}
		want := min(int64(aheadChunk), end-off)
		if want > 0 {
			p.n, p.err = r.ReadAt(p.buf[aheadRoom:aheadRoom+want], off)
			off += int64(p.n)
		}
		if p.err == nil && off >= end {
			p.err = io.EOF
		}
		a.full <- p // never waits: there are no more chunks than fit
		if p.err != nil {
			return
		}
	}
}

// next returns the next chunk. There is none after one with an error.
func (a *readAhead) next() aheadPiece { return <-a.full }

// done gives back a chunk, or nil.
func (a *readAhead) done(buf []byte) {
	if buf != nil {
		a.free <- buf
	}
}

// stop ends the reading. It does not wait for it: the chunks are no longer
// anybody's.
func (a *readAhead) stop() { close(a.quit) }
