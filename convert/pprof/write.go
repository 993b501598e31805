package pprof

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"

	"kprof/convert/stacks"
)

// WriteOptions say how a profile is written.
type WriteOptions struct {
	// Level is gzip's, from 1 (fastest) to 9 (smallest). Default: 1.
	Level int
}

// Write writes s as a gzip-compressed profile.proto. The columns of all events
// stand side by side; a sample has zeros in those of other events. What is
// written depends on s and the options alone.
//
// Every mapping says that it has its functions, so that pprof does not go
// looking for binaries. A location without a function gets one that is called by
// what holds it, as in "[gzip]" (Set.PlaceName): pprof's pages would leave it out.
// Read takes such functions for none. Bytes of names that are not UTF-8 become U+FFFD.
//
// One goroutine encodes while the caller's compresses; Write returns after both
// have ended. Memory beyond s is a few buffers, one encoding of each label list
// and the table of strings.
func Write(w io.Writer, s *stacks.Set, o WriteOptions) error {
	if o.Level == 0 {
		o.Level = gzip.BestSpeed
	}
	if o.Level < gzip.BestSpeed || o.Level > gzip.BestCompression {
		return fmt.Errorf("write pprof: gzip level %d is not within 1 to 9", o.Level)
	}
	if s.NumSamples() > 0 && !slices.ContainsFunc(s.Events, func(e stacks.Event) bool { return len(e.Values) > 0 }) {
		return errors.New("write pprof: samples without a value")
	}
	zw, err := gzip.NewWriterLevel(w, o.Level)
	if err != nil {
		return fmt.Errorf("write pprof: %w", err)
	}
	err = stream(s, zw)
	if cerr := zw.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write pprof: %w", err)
	}
	return nil
}

// buffers is how many circulate between encoder and compressor.
const buffers = 4

// stream encodes s in a goroutine of its own and writes to w. It returns when
// that goroutine has ended.
func stream(s *stacks.Set, w io.Writer) error {
	full := make(chan []byte, buffers)
	free := make(chan []byte, buffers)
	for range buffers {
		free <- nil
	}
	stop := make(chan struct{})
	go func() {
		defer close(full)
		e := encoder{set: s, out: <-free}
		e.str("") // is number 0
		e.flush = func(b []byte) ([]byte, bool) {
			full <- b // never blocks: no more than buffers are about
			select {
			case next := <-free:
				return next, true
			case <-stop:
				return nil, false
			}
		}
		e.run()
	}()
	var err error
	for b := range full {
		if err == nil {
			if _, err = w.Write(b); err != nil {
				close(stop)
			}
		}
		if err == nil {
			free <- b
		}
	}
	return err
}
