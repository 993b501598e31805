package replay

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// brokenText is a recording of six samples, one a line, with what they rest on.
func brokenText() string {
	var b strings.Builder
	b.WriteString("event cycles type=hardware\ncomm t=0 pid=7 comm=x\nmmap t=0 pid=7 addr=0x1000 len=0x1000 file=/x\n")
	for i := range 6 {
		fmt.Fprintf(&b, "sample t=%d pid=7 user 0x1000 0x%x\n", i+1, 0x1001+i)
		if i == 2 {
			b.WriteString("round\n")
		}
	}
	return b.String()
}

// TestTruncated cuts a recording at every byte, in other forms at some. All whole samples before the cut
// are there, and unless the cut lies between two records the result says so.
func TestTruncated(t *testing.T) {
	rec := perftext.MustParse(brokenText())
	for i, f := range forms() {
		if f.live {
			continue
		}
		whole, err := rec.Assemble(f.Form)
		if err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		step := 1
		if i > 0 {
			step = 13 // it takes long
		}
		for n := len(whole) % step; n <= len(whole); n += step {
			set, st, err := convertBytes(whole[:n], f.stream, Options{})
			if err != nil {
				if last > 0 {
					t.Fatalf("%v cut at byte %d: %v", f, n, err)
				}
				continue // in the header
			}
			got := uint64(set.NumSamples())
			if want := samplesBefore(t, whole, n, f); got != want {
				t.Fatalf("%v cut at byte %d: %d samples, want %d", f, n, got, want)
			}
			if got < last {
				t.Fatalf("%v cut at byte %d: %d samples, %d with less", f, n, got, last)
			}
			if last = got; st.total() != got {
				t.Fatalf("%v cut at byte %d: %d samples counted, %d there", f, n, st.total(), got)
			}
			if !f.Pipe && n < dataEnd(whole, f.Order) && st.Truncated == nil {
				t.Fatalf("%v cut at byte %d: nothing said of it", f, n)
			}
		}
		if last != 6 {
			t.Fatalf("%v: %d samples at last", f, last)
		}
	}
}

// dataEnd is where the data section of a recording in file mode ends.
func dataEnd(b []byte, o abi.Order) int { return int(o.Uint64(b[40:]) + o.Uint64(b[48:])) }

// samplesBefore counts the samples that are whole before byte n, where they are
// not compressed; of others what is there is right.
func samplesBefore(t *testing.T, b []byte, n int, f form) (samples uint64) {
	t.Helper()
	at, end := int(f.Order.Uint64(b[40:])), dataEnd(b, f.Order)
	if f.Pipe {
		at, end = 16, len(b)
	}
	var inner []byte // what the whole compressed records so far hold
	z := newInflated(t, f)
	for at+abi.HeaderSize <= min(n, end) {
		h := abi.DecodeHeader(b[at:], f.Order)
		at += int(h.Size)
		if at > n {
			break
		}
		switch h.Type {
		case abi.RecordSample:
			samples++
		case abi.RecordCompressed, abi.RecordCompressed2:
			inner = append(inner, z()...)
		}
	}
	for len(inner) >= abi.HeaderSize {
		h := abi.DecodeHeader(inner, f.Order)
		if int(h.Size) > len(inner) {
			break
		}
		if h.Type == abi.RecordSample {
			samples++
		}
		inner = inner[h.Size:]
	}
	return samples
}

// newInflated returns a function that returns what the next compressed record of
// brokenText holds: perftext puts Chunk bytes into each, and begins anew at a
// round.
func newInflated(t *testing.T, f form) func() []byte {
	plain := perftext.MustParse(brokenText()).Records(f.Order)
	return func() []byte {
		if len(plain) == 0 {
			t.Fatal("more compressed records than there can be")
		}
		n := min(21, len(plain[0]))
		b := plain[0][:n]
		if plain[0] = plain[0][n:]; len(plain[0]) == 0 {
			plain = plain[1:]
		}
		return b
	}
}

// TestBadRing gives a Collector bytes that no kernel writes.
func TestBadRing(t *testing.T) {
	rec := perftext.MustParse(brokenText())
	good := rec.Records(abi.LittleEndian)[0]
	for _, bad := range [][]byte{
		make([]byte, 8),                   // no size
		{9, 0, 0, 0, 0, 0, 255, 255, 1},   // more than there is
		{9, 0, 0, 0, 0, 0, 8, 0, 1, 2, 3}, // less than a header behind it
	} {
		c := NewCollector(abi.LittleEndian, rec.Events, Options{})
		if err := c.Write(good, bad); err != nil {
			t.Fatal(err)
		}
		set, st, err := c.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if set.NumSamples() != 3 || st.BadRecords+st.BadSamples == 0 {
			t.Errorf("%x: %d samples, %d bad records, %d bad samples", bad, set.NumSamples(), st.BadRecords, st.BadSamples)
		}
	}
}

// TestBadCompression damages compressed records: each byte once. What came before
// it is there, and what comes of the rest is no more than there was.
func TestBadCompression(t *testing.T) {
	rec := perftext.MustParse(brokenText())
	for _, typ := range []abi.RecordType{abi.RecordCompressed, abi.RecordCompressed2} {
		whole, err := rec.Assemble(perftext.Form{Zstd: typ, Chunk: 100})
		if err != nil {
			t.Fatal(err)
		}
		from, to := int(abi.LittleEndian.Uint64(whole[40:])), dataEnd(whole, abi.LittleEndian)
		told := 0
		for i := from; i < to; i++ {
			b := bytes.Clone(whole)
			b[i] ^= 0xff
			set, st, err := convertBytes(b, false, Options{})
			if err != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
			if n := set.NumSamples(); n > 6 {
				t.Fatalf("byte %d: %d samples", i, n)
			}
			if st.Truncated != nil {
				told++
				var te *perfdata.TruncatedError
				if !errors.As(st.Truncated, &te) || te.Offset > int64(i) && st.Truncated != nil && te.Offset < int64(from) {
					t.Fatalf("byte %d: %v", i, st.Truncated)
				}
			}
		}
		if told < (to-from)/2 {
			t.Errorf("%v: only %d of %d damages were seen", typ, told, to-from)
		}
	}
}
