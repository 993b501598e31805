package perfdata

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

// FuzzInflater gives arbitrary bytes to the inflater in two pieces.
func FuzzInflater(f *testing.F) {
	fuzztest.Add(f)
	rec := abi.Header{Type: abi.RecordSample, Size: 24}.AppendTo(nil, abi.LittleEndian)
	rec = append(rec, make([]byte, 16)...)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(enc.EncodeAll(bytes.Repeat(rec, 50), nil), 20)
	f.Add(enc.EncodeAll(bytes.Repeat([]byte{64}, 1<<20), nil), 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		defer memtest.Within(t, maxZstdWindow+96<<20+1000*len(b))()
		if len(b) > 1<<16 {
			return
		}
		z := newInflater()
		defer z.close()
		cut = min(max(cut, 0), len(b))
		var n int
		for _, piece := range [][]byte{b[:cut], b[cut:]} {
			err := z.records(piece, 0, abi.LittleEndian, func(rec *Record) error {
				n += min(abi.HeaderSize+len(rec.Payload), inflateCharge)
				return nil
			})
			if err != nil {
				break
			}
		}
		if n > inflateSlack+inflateRatio*len(b)+1<<16 {
			t.Errorf("%d bytes from %d", n, len(b))
		}
	})
}

// TestZstdBomb decompresses what is far larger than any recording packs: that is
// refused before it takes long.
func TestZstdBomb(t *testing.T) {
	// A record of 0x4040 bytes and of type 0x40404040 is nothing but 0x40.
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte{0x40}, 0x4040*64)
	for range 5000 {
		if _, err := enc.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	z := newInflater()
	defer z.close()
	n := 0
	err = z.records(b.Bytes(), 7, abi.LittleEndian, func(rec *Record) error { n += min(int(rec.Size), inflateCharge); return nil })
	var te *TruncatedError
	if !errors.As(err, &te) || te.Offset != 7 {
		t.Errorf("error %v", err)
	}
	if limit := inflateSlack + inflateRatio*b.Len() + 1<<20; n > limit || n == 0 {
		t.Errorf("%d bytes from %d, limit %d", n, b.Len(), limit)
	}
}

// TestZstdStacks decompresses samples with copies of stacks that are nearly the same in all, as those of
// a program in one place are, with the window of perf's highest level.
func TestZstdStacks(t *testing.T) {
	const samples, size = 4000, 65000
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxZstdWindow))
	if err != nil {
		t.Fatal(err)
	}
	z := newInflater()
	defer z.close()
	stack := make([]byte, size-abi.HeaderSize-8)
	for i := range stack {
		stack[i] = byte(i * i >> 7)
	}
	n, packed := 0, 0
	for i := range samples {
		rec := abi.Header{Type: abi.RecordSample, Size: size}.AppendTo(nil, abi.LittleEndian)
		rec = abi.LittleEndian.AppendUint64(rec, uint64(i))
		if _, err := enc.Write(append(rec, stack...)); err != nil {
			t.Fatal(err)
		}
		if err := enc.Flush(); err != nil { // as perf does
			t.Fatal(err)
		}
		packed += b.Len()
		if err := z.records(b.Bytes(), 7, abi.LittleEndian, func(rec *Record) error {
			if got := abi.LittleEndian.Uint64(rec.Payload); got != uint64(n) {
				t.Errorf("sample %d is %d", n, got)
			}
			n++
			return nil
		}); err != nil {
			t.Fatalf("after %d samples, %d bytes: %v", n, packed, err)
		}
		b.Reset()
	}
	if n != samples || packed*2*inflateRatio > samples*size {
		t.Errorf("%d samples in %d bytes", n, packed)
	}
}
