package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/abi"
)

// The names of user code that was sampled, as package symbolize has them
// (symbolize.Names), are the last of a file, compressed: they are known when all else has
// been written.
var userBlock = block{"kprofusr", "names of sampled functions", 16 << 20}

// MaxUserSymbols bounds what the names of user code take, uncompressed.
const MaxUserSymbols = 16 << 20

// AppendUserSymbols appends names of user code to a recording in f, behind everything that
// a Writer has written, in its byte order. The recording had none.
func AppendUserSymbols(f *os.File, names []byte, o abi.Order) error {
	if len(names) > MaxUserSymbols {
		return fmt.Errorf("%s: %d bytes, at most %d", userBlock.what, len(names), MaxUserSymbols)
	}
	packed, err := pack(names)
	if err != nil {
		return fmt.Errorf("%s: %w", userBlock.what, err)
	}
	b, err := userBlock.append(nil, packed, o)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(b, st.Size()); err != nil { // a full disk: what was there is found from its end
		return fmt.Errorf("write perf.data: %w", errors.Join(err, f.Truncate(st.Size())))
	}
	return nil
}

// UserSymbols returns the names of user code that the recording holds, nil if it has none,
// as one from a pipe.
func (r *Reader) UserSymbols() ([]byte, error) {
	b, err := r.blockBefore(r.size, &userBlock)
	if err != nil || b == nil {
		return nil, err
	}
	packed, err := userBlock.payload(b, r.header.order)
	if err != nil {
		return nil, err
	}
	names, err := unpack(packed, MaxUserSymbols)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", userBlock.what, err)
	}
	return names, nil
}

// pack compresses parts one behind the other. Names repeat those of their neighbours: with a
// larger window lists of symbols take as many bytes, and twice the memory.
func pack(parts ...[]byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(256<<10))
	if err != nil {
		return nil, err
	}
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	packed := bytes.NewBuffer(make([]byte, 0, size/3)) // to which symbols shrink at least
	enc.ResetContentSize(packed, int64(size))
	for _, p := range parts {
		if _, err := enc.Write(p); err != nil {
			return nil, err
		}
	}
	err = enc.Close()
	return packed.Bytes(), err
}

// unpack returns what was compressed, of at most so many bytes.
func unpack(packed []byte, most uint64) ([]byte, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return dec.DecodeAll(packed, nil)
}
