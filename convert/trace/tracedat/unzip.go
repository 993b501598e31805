package tracedat

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// unzipper decompresses.
type unzipper struct{ zstd *zstd.Decoder }

func (u *unzipper) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// unzip decompresses b into dst, to whole bytes, which may be at most most and a multiple of
// what is compressed.
func (f *File) unzip(dst, b []byte, whole, most int) ([]byte, error) {
	if whole < 0 || whole > most || whole/maxRatio > len(b) {
		return nil, fmt.Errorf("%d compressed bytes say that they are %d, at most %d are read", len(b), whole, most)
	}
	var err error
	switch f.Compression {
	case "zstd":
		if f.unzs == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
			if err != nil {
				return nil, err
			}
			f.unzs = &unzipper{zstd: d}
		}
		if cap(dst) < whole {
			dst = make([]byte, 0, whole)
		}
		dst, err = f.unzs.zstd.DecodeAll(b, dst[:0:whole])
	case "zlib":
		z, zerr := zlib.NewReader(bytes.NewReader(b))
		if zerr != nil {
			return nil, fmt.Errorf("decompress: %w", zerr)
		}
		var out bytes.Buffer
		_, err = io.Copy(&out, io.LimitReader(z, int64(whole)+1))
		dst = append(dst[:0], out.Bytes()...)
	default:
		return nil, fmt.Errorf("compressed by %.20q, which is not read", f.Compression)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	if len(dst) != whole {
		return nil, fmt.Errorf("decompress: %d bytes in place of %d", len(dst), whole)
	}
	return dst, nil
}
