package pprof

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"kprof/convert/stacks"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

// FuzzRead: whatever is read is what google/pprof reads, can be written, is valid
// then, and says the same.
func FuzzRead(f *testing.F) {
	fuzztest.Add(f)
	f.Add([]byte{})
	for seed := range uint64(4) {
		s := randomSet(seed, threeEvents())
		if s.NumSamples() > 50 {
			s = wide(3, 3, 5)
		}
		var raw bytes.Buffer
		if err := stream(s, &raw); err != nil {
			f.Fatal(err)
		}
		f.Add(raw.Bytes())
		f.Add(encode(f, s))
	}
	f.Add(handmade())
	f.Add([]byte("goroutine profile: total 2\n1 @ 0x1 0x2\n"))
	f.Add([]byte("heap profile: 1: 2 [3: 4] @ heapprofile\n1: 2 [3: 4] @ 0x10 0x20\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		defer memtest.Within(t, 16<<20+2000*len(data))()
		if !isGzip(data) { // google/pprof knows no bounds
			sameRead(t, data, false)
		}
		s, err := (ReadOptions{}).read(bytes.NewReader(data), 1<<20)
		if err != nil {
			return
		}
		var raw bytes.Buffer
		if err := stream(s, &raw); err != nil {
			t.Fatal(err)
		}
		if raw.Len() > 0 {
			if _, err := profile.ParseData(raw.Bytes()); err != nil {
				t.Fatalf("written: %v", err)
			}
		}
		again, err := fromRaw(&raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(canon(s), canon(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func fromRaw(r io.Reader) (*stacks.Set, error) { return (ReadOptions{}).read(r, 1<<24) }
