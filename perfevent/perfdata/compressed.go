package perfdata

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/abi"
)

// inflater undoes the compression of COMPRESSED and COMPRESSED2 records. Their
// payloads are one zstd stream, flushed at the end of each record, so each
// record yields whole blocks; but a record of the recording may begin in one
// and end in the next.
//
// The decoder wants to pull its input while we want to push it: it runs as a
// coroutine that hands out every block it has decoded and, when it needs input
// that is not there yet, a nil block.
type inflater struct {
	in    []byte // compressed bytes not read yet
	next  func() ([]byte, bool)
	stop  func()
	yield func([]byte) bool
	err   error

	out []byte // decompressed bytes that are not a whole record yet
	off int64  // of the compressed record read last

	budget int64 // bytes that may still come out, as chargeOf counts them
}

// maxZstdWindow bounds what a frame's header may ask the decoder to keep: the window of level 22, the
// highest that perf record -z takes (zstd's clevels.h). Those up to 19 have 8 MiB at the most.
const maxZstdWindow = 128 << 20

// What comes out is bounded by what goes in, or a small file could keep a reader busy for hours. Most
// recordings shrink to a tenth or a fiftieth. But zstd's level 1 leaves six to nine bytes of a sample
// that differs from others in its time and address alone, and its callchain of 127 frames, as deep
// recursions have it, makes that 1.1 KiB; of a copy of a stack of 64 KiB, which may be nearly the same in
// all samples, no more is left. Where samples have no time either, as those of perf record --no-timestamp, they may
// all be equal: for these is the slack. The most that a file of 1 MiB comes to is some seconds of work.
const (
	inflateRatio = 1000
	inflateSlack = 256 << 20
)

// chargeOf is how many bytes of the budget a record takes: its size, but no less than what reading the
// least one costs, and no more than a callchain has.
func chargeOf(size int) int {
	const least, most = 64, 1 << 10
	return min(max(size, least), most)
}

func newInflater() *inflater {
	z := &inflater{budget: inflateSlack}
	z.next, z.stop = iter.Pull(z.run)
	return z
}

func (z *inflater) close() { z.stop() }

func (z *inflater) run(yield func([]byte) bool) {
	z.yield = yield
	dec, err := zstd.NewReader((*inflaterInput)(z), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	if err == nil {
		_, err = dec.WriteTo((*inflaterOutput)(z))
		dec.Close()
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	z.err = err
}

type inflaterInput inflater

func (z *inflaterInput) Read(p []byte) (int, error) {
	for len(z.in) == 0 {
		if !z.yield(nil) {
			return 0, io.EOF
		}
	}
	n := copy(p, z.in)
	z.in = z.in[n:]
	return n, nil
}

type inflaterOutput inflater

func (z *inflaterOutput) Write(p []byte) (int, error) {
	if len(p) > 0 && !z.yield(p) {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// records decompresses the payload of one record and passes each whole record
// found in it to emit, until that returns an error.
func (z *inflater) records(payload []byte, off int64, o abi.Order, emit func(*Record) error) error {
	z.in, z.off = payload, off
	z.budget += inflateRatio * int64(len(payload))
	var rec Record
	for {
		block, ok := z.next()
		if !ok {
			return &TruncatedError{Offset: off, Reason: z.reason()}
		}
		if block == nil {
			return nil // wants input that only the next record has
		}
		z.out = append(z.out, block...)
		b := z.out
		for len(b) >= abi.HeaderSize {
			h := abi.DecodeHeader(b, o)
			size := int(h.Size)
			if size < abi.HeaderSize {
				return &TruncatedError{Offset: off, Reason: fmt.Sprintf("record of type %d in a compressed one says its size is %d", uint32(h.Type), size)}
			}
			if len(b) < size {
				break
			}
			if z.budget -= int64(chargeOf(size)); z.budget < 0 {
				return &TruncatedError{Offset: off, Reason: "compressed records decompress to far more than those of a recording do"}
			}
			rec = Record{Header: h, Offset: off, Payload: b[abi.HeaderSize:size:size]}
			if err := emit(&rec); err != nil {
				return err
			}
			b = b[size:]
		}
		z.out = append(z.out[:0], b...)
	}
}

// reason says why there is nothing more to decompress. perf record -z --switch-output (6.1 at least)
// begins no new stream with a new file: all but the first go on from the one before.
func (z *inflater) reason() string {
	if errors.Is(z.err, zstd.ErrMagicMismatch) {
		return "compressed records do not begin as zstd does; those of perf record -z --switch-output go on from the file before, and cannot be decompressed without it"
	}
	return fmt.Sprintf("compressed records do not decompress: %v", z.err)
}

// end returns io.EOF, or a *TruncatedError if the recording ends inside a record.
func (z *inflater) end() error {
	if len(z.out) == 0 {
		return io.EOF
	}
	return &TruncatedError{Offset: z.off, Reason: fmt.Sprintf("%d bytes are left of a record in compressed ones", len(z.out))}
}

// compressedPayload returns the zstd bytes of a COMPRESSED or COMPRESSED2
// record. The latter says how many of its bytes are data and pads the rest;
// perf 6.16 wrote a data_size that was larger than the record, which then is
// taken to the end.
func compressedPayload(rec *Record, o abi.Order) []byte {
	p := rec.Payload
	if rec.Type != abi.RecordCompressed2 || len(p) < 8 {
		return p
	}
	n := o.Uint64(p)
	p = p[8:]
	if n < uint64(len(p)) {
		p = p[:n]
	}
	return p
}
