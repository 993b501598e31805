package perfdata_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// addGoldens adds the recordings of convert's tests in all forms.
func addGoldens(f *testing.F) {
	for _, text := range perftext.Goldens(f, "../../convert/replay/testdata") {
		rec := perftext.MustParse(text)
		for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
			for _, z := range []abi.RecordType{0, abi.RecordCompressed, abi.RecordCompressed2} {
				for _, pipe := range []bool{false, true} {
					b, err := rec.Assemble(perftext.Form{Order: o, Zstd: z, Pipe: pipe})
					if err != nil {
						f.Fatal(err)
					}
					f.Add(b)
				}
			}
		}
	}
}

// addRecordings adds the recordings in testdata.
func addRecordings(f *testing.F) {
	names, _ := filepath.Glob("../../testdata/recordings/*.data")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzReader walks arbitrary bytes, from a file twice and from a pipe. Both walks
// of a file see the same, and so does the one of a pipe.
func FuzzReader(f *testing.F) {
	fuzztest.Add(f)
	addGoldens(f)
	addRecordings(f)
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		f.Add(oldHeaderPipe(f, o))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		defer memtest.Within(t, 64<<20+500*len(b))()
		if len(b) > 1<<16 {
			return
		}
		r, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			if rules, err := r.Rules(); err != nil && rules != nil {
				t.Errorf("%q and %v", rules, err)
			}
			first, firstErr := countRecords(t, r)
			events := len(r.Events.Events)
			second, secondErr := countRecords(t, r)
			if first != second || (firstErr == nil) != (secondErr == nil) {
				t.Errorf("first walk: %d records, %v; second: %d, %v", first, firstErr, second, secondErr)
			}
			if n := len(r.Events.Events); n != events {
				t.Errorf("%d events, %d after another walk", events, n)
			}
			if !r.PipeMode() {
				return
			}
			p, err := perfdata.NewReader(io.MultiReader(bytes.NewReader(b)))
			if err != nil {
				t.Fatal(err)
			}
			if n, err := countRecords(t, p); n != first || (err == nil) != (firstErr == nil) {
				t.Errorf("file: %d records, %v; pipe: %d, %v", first, firstErr, n, err)
			}
		}
	})
}

func countRecords(t *testing.T, r *perfdata.Reader) (n int, err error) {
	var s abi.Sample
	for rec, err := range r.Records() {
		if err != nil {
			return n, err
		}
		n++
		e := r.Events.OfOther(rec.Payload)
		if rec.Type == abi.RecordSample {
			e = r.Events.OfSample(rec.Payload)
		}
		if e != nil {
			_ = e.Layout.DecodeSample(&s, rec.Misc, rec.Payload)
			_, _ = e.Layout.DecodeMmap(rec.Header, rec.Payload)
			_, _ = e.Layout.DecodeTrailer(rec.Payload)
		}
	}
	return n, nil
}
