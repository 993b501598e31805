package perfdata

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
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
				n += chargeOf(abi.HeaderSize + len(rec.Payload))
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

// TestZstdContinued: the second file of perf record -z --switch-output has no beginning of a zstd stream.
func TestZstdContinued(t *testing.T) {
	rec := abi.Header{Type: abi.RecordSample, Size: 24}.AppendTo(nil, abi.LittleEndian)
	rec = append(rec, make([]byte, 16)...)
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	first := 0 // bytes of the first file
	for range 2 {
		first = b.Len()
		if _, err := enc.Write(rec); err != nil {
			t.Fatal(err)
		}
		if err := enc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	z := newInflater()
	defer z.close()
	err = z.records(b.Bytes()[first:], 7, abi.LittleEndian, func(*Record) error { return nil })
	var te *TruncatedError
	if !errors.As(err, &te) || te.Offset != 7 || !strings.Contains(te.Reason, "--switch-output") {
		t.Errorf("error %v", err)
	}
}

// TestZstdBomb decompresses what is far larger than any recording packs: that is
// refused before it takes long.
func TestZstdBomb(t *testing.T) {
	// A record of 0x0404 bytes and of type 0x04040404 is nothing but 4.
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte{4}, 0x0404*1024)
	for range 500 {
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
	err = z.records(b.Bytes(), 7, abi.LittleEndian, func(rec *Record) error { n += chargeOf(int(rec.Size)); return nil })
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
	if n != samples || packed*inflateRatio > samples*size {
		t.Errorf("%d samples in %d bytes", n, packed)
	}
}

// TestZstdDeep decompresses samples of a program that is always as deep in a recursion: their
// callchains are equal, of each sample no more is left than what is new in its time and address.
func TestZstdDeep(t *testing.T) {
	const samples, frames, perFlush = 110000, 127, 450 // of a ring of 512 KiB
	const size = abi.HeaderSize + 8*(5+frames)
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	z := newInflater()
	defer z.close()
	rnd := rand.New(rand.NewPCG(1, 2))
	n, packed, now := 0, 0, uint64(1e13)
	for i := range samples {
		now += 1e6 + rnd.Uint64N(3000)
		ip := 0x7f0000000000 + rnd.Uint64N(8)*24
		rec := abi.Header{Type: abi.RecordSample, Size: size}.AppendTo(nil, abi.LittleEndian)
		for _, v := range []uint64{ip, 4242<<32 | 4242, now, 250000, frames, ip} {
			rec = abi.LittleEndian.AppendUint64(rec, v)
		}
		for v := range uint64(frames - 1) {
			rec = abi.LittleEndian.AppendUint64(rec, 0x7f0000000000+v*v*64)
		}
		if _, err := enc.Write(rec); err != nil {
			t.Fatal(err)
		}
		if i%perFlush != perFlush-1 && i != samples-1 {
			continue
		}
		if err := enc.Flush(); err != nil {
			t.Fatal(err)
		}
		packed += b.Len()
		if err := z.records(b.Bytes(), 7, abi.LittleEndian, func(*Record) error { n++; return nil }); err != nil {
			t.Fatalf("after %d samples, %d bytes: %v", n, packed, err)
		}
		b.Reset()
	}
	if n != samples || packed > 10*samples {
		t.Errorf("%d samples in %d bytes", n, packed)
	}
}
