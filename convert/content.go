package convert

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/therootcompany/xz"

	"kprof/convert/packed"
	"kprof/convert/sniff"
	"kprof/convert/trace"
	"kprof/convert/trace/ringdir"
	"kprof/perfevent/perfdata"
)

// content is what is in an input, decompressed if it was compressed.
type content struct {
	io.Reader // a file, if it can be read again
	kind      sniff.Kind
	form      trace.TextForm // of Ftrace
	head      []byte
	directory bool
	packed    bool
	written   time.Time
	close     func() error
}

// openContent says what is in r, and opens it. It does not close r. What is to be read at
// different places, a recording in file mode or a trace, is put into a file if it is
// compressed or not in one; other text is unpacked as it is read.
func openContent(r io.Reader) (*content, error) {
	c := &content{Reader: r, kind: sniff.Recording, written: time.Now(), close: func() error { return nil }}
	f, isFile := r.(*os.File)
	var mode os.FileMode
	if isFile {
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		c.written, mode = st.ModTime(), st.Mode()
	}
	switch {
	case mode.IsDir():
		c.directory = true
		return c, nil
	case isFile && mode.IsRegular():
		c.head = make([]byte, sniff.HeadSize)
		n, err := f.ReadAt(c.head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		c.head = c.head[:n]
		c.kind = sniff.Of(c.head, n < sniff.HeadSize)
	default:
		if err := c.peek(r); err != nil {
			return nil, err
		}
	}
	if c.kind == sniff.Gzip {
		// These readers decompress by themselves, as far as their bounds allow.
		switch k := insideGzip(c.head); k {
		case sniff.Pprof, sniff.Unknown:
			c.kind, c.packed = k, true
			return c, nil
		case sniff.Folded:
			c.kind = sniff.Folded
			return c, nil
		}
	}
	if unpacker := unpackers[c.kind]; unpacker != nil {
		if err := c.unpack(unpacker); err != nil {
			return nil, err
		}
	} else if !(isFile && mode.IsRegular()) && c.atPlaces() {
		if err := c.spool(); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	if err := c.findTrace(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if bytes.HasPrefix(c.head, sniff.ByteOrderMark) {
		_, err := io.CopyN(io.Discard, c.Reader, int64(len(sniff.ByteOrderMark)))
		return c, err
	}
	return c, nil
}

// insideGzip says what is compressed in an input that begins with head. Of most kinds the
// first bytes tell, and no more are unpacked.
func insideGzip(head []byte) sniff.Kind {
	inside := make([]byte, sniff.HeadSize)
	n, _ := gunzip(inside[:sniff.MagicSize], head[:min(len(head), 4*sniff.MagicSize)])
	if k := sniff.Magic(inside[:n]); k != sniff.Unknown {
		return k
	}
	n, err := gunzip(inside, head)
	switch {
	case n == 0 && err == io.EOF:
		return sniff.Empty
	case n == 0:
		return sniff.Pprof // to tell what is wrong
	}
	return sniff.Of(inside[:n], false)
}

// gunzip decompresses what fits into to of the beginning of a file, which may be cut, or damaged
// behind that, and returns how much this is. The error is io.EOF where nothing was compressed.
func gunzip(to, head []byte) (int, error) {
	z, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return 0, err
	}
	return io.ReadFull(z, to)
}

// peek looks at the beginning of what cannot be read twice. A recording may arrive
// slowly, and is told by its first bytes.
func (c *content) peek(r io.Reader) error {
	b := bufio.NewReaderSize(r, sniff.HeadSize)
	c.Reader = b
	head, err := b.Peek(sniff.MagicSize)
	if c.kind = sniff.Magic(head); c.kind == sniff.Unknown && err == nil {
		head, err = b.Peek(sniff.HeadSize)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	c.head = bytes.Clone(head) // which reading on would change
	if c.kind == sniff.Unknown {
		c.kind = sniff.Of(head, err != nil)
	}
	return nil
}

// unpackers decompress what kprof's inputs may be compressed with.
var unpackers = map[sniff.Kind]func(io.Reader) (io.Reader, func() error, error){
	sniff.Gzip: func(r io.Reader) (io.Reader, func() error, error) {
		z, err := gzip.NewReader(r)
		return z, func() error { return nil }, err
	},
	sniff.Zstd: func(r io.Reader) (io.Reader, func() error, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, func() error { z.Close(); return nil }, nil
	},
	sniff.Xz: func(r io.Reader) (io.Reader, func() error, error) {
		z, err := xz.NewReader(r, maxWindow)
		return z, func() error { return nil }, err
	},
	sniff.Bzip2: func(r io.Reader) (io.Reader, func() error, error) {
		return bzip2.NewReader(r), func() error { return nil }, nil
	},
	sniff.Atrace: func(r io.Reader) (io.Reader, func() error, error) {
		b := bufio.NewReaderSize(r, sniff.MagicSize)
		head, _ := b.Peek(sniff.MagicSize) // of what is shorter, all
		if _, err := b.Discard(max(sniff.AtraceData(head), 0)); err != nil {
			return nil, nil, err
		}
		z, err := zlib.NewReader(b)
		return z, func() error { return nil }, err
	},
	sniff.LZ4: func(r io.Reader) (io.Reader, func() error, error) {
		return lz4.NewReader(r), func() error { return nil }, nil
	},
}

// maxWindow bounds the memory that a compressed file may ask for: what zstd --long
// takes by default, and xz -9 twice.
const maxWindow = 128 << 20

// unpack makes c what is compressed in it.
func (c *content) unpack(unpacker func(io.Reader) (io.Reader, func() error, error)) error {
	r, done, err := unpacker(bufio.NewReaderSize(c.Reader, 1<<16))
	if err != nil {
		return &packed.Error{Err: err}
	}
	c.close, c.packed = done, true
	if err := c.peek(packed.Reader(r)); err != nil {
		return errors.Join(err, c.close())
	}
	switch {
	case unpackers[c.kind] != nil:
		return errors.Join(errors.New("it is compressed twice: decompress it first"), c.close())
	case c.kind == sniff.Recording || c.atPlaces():
		if err := c.spool(); err != nil {
			return errors.Join(err, c.close())
		}
	}
	return nil
}

// recording opens what is a recording, or is read as one: for its single events, or for a
// profile of them.
func (c *content) recording(ctx context.Context, events bool) (*perfdata.Reader, error) {
	f, ok := c.Reader.(*os.File)
	if c.directory && ok {
		return openDirectory(ctx, f, events)
	}
	if !isTrace(c.kind) {
		return perfdata.NewReader(c.Reader)
	}
	if !ok {
		return nil, errors.New("a trace is to be read at different places")
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if c.kind == sniff.Ftrace {
		return trace.OpenText(ctx, f, st.Size(), trace.TextOptions{Form: c.form, Lines: events})
	}
	return trace.OpenDat(ctx, f, st.Size(), events)
}

// openDirectory opens a recording in a directory, or the pages of the tracer's rings.
func openDirectory(ctx context.Context, f *os.File, events bool) (*perfdata.Reader, error) {
	r, err := perfdata.NewReader(f)
	if err == nil {
		return r, nil
	}
	root, rootErr := os.OpenRoot(f.Name())
	if rootErr != nil {
		return nil, err
	}
	defer root.Close()
	t, traceErr := trace.OpenDir(ctx, root.FS(), events)
	if errors.Is(traceErr, ringdir.ErrNoPages) {
		return nil, err
	}
	return t, traceErr
}

// isTrace reports whether an input is what the kernel's tracer recorded.
func isTrace(k sniff.Kind) bool { return k == sniff.TraceDat || k == sniff.Ftrace }

// embeds are the inputs that may have text of the kernel's tracer in them.
var embeds = map[sniff.Kind]trace.TextForm{sniff.KernelLog: trace.Log, sniff.HTML: trace.Page}

// atPlaces reports whether an input is to be read at different places, as a pipe cannot be.
func (c *content) atPlaces() bool {
	return c.kind == sniff.Recording && perfdata.FileMode(c.head) || isTrace(c.kind) || embeds[c.kind] != trace.Plain
}

// findTrace makes an input that has text of the tracer in it such text.
func (c *content) findTrace() error {
	f, ok := c.Reader.(*os.File)
	form := embeds[c.kind]
	if !ok || form == trace.Plain {
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	has, err := trace.HasText(f, st.Size(), form)
	if has {
		c.kind, c.form = sniff.Ftrace, form
	}
	return err
}

// spool puts an input into a file without a name, since it is read at different places.
func (c *content) spool() error {
	doing, instead := "copy into a file", "save it where there is room"
	if c.packed {
		doing, instead = "decompress", "decompress it first"
	}
	f, err := os.CreateTemp("", "kprof-*.data")
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	done := c.close
	c.close = func() error { return errors.Join(done(), f.Close()) }
	if err := os.Remove(f.Name()); err != nil { // Windows keeps what is open
		c.close = func() error { return errors.Join(done(), f.Close(), os.Remove(f.Name())) }
	}
	limit, err := spoolLimit(f)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	n, err := io.Copy(f, io.LimitReader(c.Reader, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%s: it takes more than half of what is free in %s (%d MiB): %s", doing, os.TempDir(), limit>>20, instead)
	}
	if err != nil {
		return err
	}
	c.Reader = f
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// Unpacked is what is in an input that may be compressed.
type Unpacked struct{ content *content }

// Unpack returns what is in r, decompressed if it is compressed, for those who read a
// form of their own. It does not close r.
func Unpack(r io.Reader) (*Unpacked, error) {
	c, err := openContent(r)
	if err != nil {
		return nil, err
	}
	return &Unpacked{c}, nil
}

func (u *Unpacked) Read(b []byte) (int, error) { return u.content.Read(b) }

// Kind says what it is.
func (u *Unpacked) Kind() sniff.Kind { return u.content.kind }

// Close releases what decompressing took.
func (u *Unpacked) Close() error { return u.content.close() }
