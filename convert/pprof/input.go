package pprof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

	"kprof/convert/packed"
	"kprof/convert/stacks"
)

// input is a file, which is read more than once.
type input struct {
	data  []byte
	plain []byte // decompressed, if that is small enough; else nil
	opts  ReadOptions
}

// A file is decompressed only once if that is small, or not much larger than the file itself.
const (
	maxPlain    = 4 << 20
	maxPlainFew = 64 << 20
	few         = 8 // times the file
)

// unpackers are there again for the next file of many.
var unpackers = sync.Pool{New: func() any { return new(gzip.Reader) }}

// unpack fills plain, if it is small enough. What is wrong with a file is found as it is read.
func (in *input) unpack() {
	if !isGzip(in.data) || len(in.data) < 18 {
		return
	}
	// The size stands at the end (RFC 1952), if the file is one member; deflate has at
	// most 1032 bytes for each.
	size := int64(binary.LittleEndian.Uint32(in.data[len(in.data)-4:]))
	if size == 0 || size > min(maxPlainFew, max(maxPlain, few*int64(len(in.data)))) || size > 1032*int64(len(in.data)) {
		return
	}
	z := unpackers.Get().(*gzip.Reader)
	defer unpackers.Put(z)
	if err := z.Reset(bytes.NewReader(in.data)); err != nil {
		return
	}
	plain := make([]byte, size)
	if _, err := io.ReadFull(z, plain); err != nil {
		return
	}
	if n, err := z.Read(make([]byte, 1)); n == 0 && err == io.EOF { // and the checksum is right
		in.plain = plain
	}
}

func isGzip(b []byte) bool { return len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b }

// open returns the file, decompressed.
func (in input) open() (io.Reader, error) {
	switch {
	case in.plain != nil:
		return bytes.NewReader(in.plain), nil
	case !isGzip(in.data):
		return bytes.NewReader(in.data), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(in.data))
	if err != nil {
		return nil, &packed.Error{Err: err}
	}
	return packed.Reader(z), nil
}

// scan calls f for the file, decompressed.
func (in input) scan(f func(*scanner) error) error {
	var s *scanner
	switch {
	case in.plain != nil:
		s = scannerOf(in.plain)
	case !isGzip(in.data):
		s = scannerOf(in.data)
	default:
		r, err := in.open()
		if err != nil {
			return err
		}
		s = newScanner(r)
	}
	s.fill(2)
	switch {
	case s.err != nil && s.err != io.EOF:
		return s.err
	case len(s.buf) == 0:
		return errors.New("empty input file")
	case isGzip(s.buf) && isGzip(in.data):
		return &packed.Error{Err: errors.New("compressed twice")}
	}
	return f(s)
}

// google/pprof takes some fifty bytes of memory for each of a file. So it reads whole
// files up to a few megabytes, unless the file itself is that large.
const (
	maxExplained = 1 << 20 // of a profile.proto, only to tell what is wrong
	maxLegacy    = 3 << 20
)

// readWhole has google/pprof read all of the file, which is not a good profile.proto
// because of err.
func (in input) readWhole(err error) (*stacks.Set, error) {
	r, oerr := in.open()
	if oerr != nil {
		return nil, oerr
	}
	limit := int64(maxExplained)
	var start [32]byte
	n, _ := io.ReadFull(r, start[:]) // what is wrong is seen below
	legacy := isLegacy(start[:n])
	if legacy {
		limit = max(maxLegacy, int64(len(in.data)))
	}
	rest, rerr := io.ReadAll(io.LimitReader(r, limit+1))
	data := append(start[:n:n], rest...)
	if rerr != nil {
		return nil, rerr
	}
	if legacy && int64(len(data)) > limit {
		return nil, errors.New("no profile.proto, and if of a legacy format too large to read compressed: decompress it first")
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("malformed profile: %w", err)
	}
	p, perr := parseData(data)
	if perr != nil {
		return nil, perr
	}
	if legacy {
		addNames(p, data)
	}
	var proto bytes.Buffer
	if err := p.WriteUncompressed(&proto); err != nil {
		return nil, err
	}
	return input{data: proto.Bytes(), opts: in.opts}.read()
}

// parseData is profile.ParseData, which on 32 bit panics of lengths above 31.
func parseData(data []byte) (_ *profile.Profile, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("malformed profile: %v", r)
		}
	}()
	return profile.ParseData(data)
}

// isLegacy reports whether a file that is no profile.proto may be in a legacy
// format: text, or words of which the first is 0 and the second 3.
func isLegacy(start []byte) bool {
	for _, header := range []string{
		"\x00\x00\x00\x00\x03\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x03",
		"\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03",
	} {
		if bytes.HasPrefix(start, []byte(header)) {
			return true
		}
	}
	return !bytes.ContainsFunc(start, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return b, err
}
