package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
)

// Records that are read ahead are those that are read one buffer after the other,
// wherever they lie in chunks, and so are what is skipped and where all ends.
func TestReadAhead(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var data []byte
		skips := map[int]int64{} // by number of the record
		for n := 0; len(data) < 3*aheadChunk; n++ {
			size := abi.HeaderSize + rnd.IntN(200)
			if rnd.IntN(20) == 0 {
				size = 1<<16 - 1 - rnd.IntN(8)
			}
			h := abi.Header{Type: abi.RecordSample, Misc: abi.Misc(n), Size: uint16(size)}
			data = h.AppendTo(data, abi.LittleEndian)
			for range size - abi.HeaderSize {
				data = append(data, byte(rnd.Uint32()))
			}
			if rnd.IntN(15) == 0 {
				skips[n] = int64(rnd.IntN(50_000))
				if seed > 3 && rnd.IntN(3) == 0 {
					skips[n] = rnd.Int64N(3 * aheadChunk)
				}
				data = append(data, make([]byte, skips[n])...)
			}
		}
		if seed%2 == 1 {
			data = data[:len(data)-rnd.IntN(100)]
		}
		const off = 1000
		file := append(make([]byte, off), data...)
		ahead := newSectionStream(bytes.NewReader(append(file, "behind"...)), abi.LittleEndian, off, int64(len(data)))
		if ahead.ahead == nil {
			t.Fatal("nothing is read ahead")
		}
		defer ahead.close()
		plain := newStream(bytes.NewReader(data), abi.LittleEndian, off, streamBuffer)
		if diff := cmp.Diff(recordsOf(plain, skips), recordsOf(ahead, skips)); diff != "" {
			t.Fatalf("seed %d: records read ahead:\n%s", seed, diff)
		}
	}
}

func recordsOf(s *stream, skips map[int]int64) (all []string) {
	for n := 0; ; n++ {
		var rec Record
		err := s.next(&rec)
		if err == nil {
			all = append(all, fmt.Sprintf("%d: %d %x", rec.Offset, rec.Misc, rec.Payload))
			err = s.skip(skips[n])
		}
		if err != nil {
			return append(all, err.Error())
		}
	}
}

// What fails to be read is told where it lies, and nothing waits for it.
func TestReadAheadFails(t *testing.T) {
	broken := errors.New("broken disk")
	const good = 3*aheadChunk - 999
	record := abi.Header{Type: abi.RecordSample, Size: 64}.AppendTo(nil, abi.LittleEndian)
	record = append(record, make([]byte, 64-abi.HeaderSize)...)
	file := readerAt(func(p []byte, off int64) (int, error) {
		for i := range p {
			at := off + int64(i)
			if at >= good {
				return i, broken
			}
			p[i] = record[at%64]
		}
		return len(p), nil
	})
	s := newSectionStream(file, abi.LittleEndian, 0, 1<<40)
	defer s.close()
	var rec Record
	n, err := 0, error(nil)
	for ; err == nil; n++ {
		err = s.next(&rec)
	}
	if want := fmt.Sprintf("read at offset %d: broken disk", good); !errors.Is(err, broken) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if n-1 != good/64 {
		t.Errorf("%d records, want %d", n-1, good/64)
	}
	if err := s.next(&rec); !errors.Is(err, broken) {
		t.Errorf("after an error: %v", err)
	}
}

type readerAt func(p []byte, off int64) (int, error)

func (f readerAt) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }
