package tracecmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/abi"
)

// File is what a trace.dat file has. Texts are as in the files of tracefs that they are
// called after.
type File struct {
	Order    abi.Order
	UserLong int // bytes of a long of programs; 0 for 8
	PageSize int // bytes of a page of the rings
	// Compress has all but the options compressed with zstd, as trace-cmd does where it can.
	Compress bool

	HeaderPage, HeaderEvent string // events/header_page, events/header_event
	Ftrace                  []string
	Systems                 []System
	Kallsyms                []byte // /proc/kallsyms
	Printk                  string // printk_formats
	Cmdlines                string // saved_cmdlines

	Clock   string   // "mono"
	Uname   string   // "Linux HOST RELEASE MACHINE"
	Version string   // of what recorded
	Stats   []string // per_cpu/cpuN/stats, behind a line "CPU: N"
	NumCPUs int      // of the machine
	CPUs    []CPU
}

// System is the formats of the events of a system.
type System struct {
	Name    string
	Formats []string
}

// CPU is the pages of a CPU.
type CPU struct {
	ID    int
	Pages io.Reader // Size bytes
	Size  int64     // a multiple of PageSize
}

// Numbers of the sections of a file (trace-cmd-private.h).
const (
	SectionHeader   = 16
	SectionFtrace   = 17
	SectionEvents   = 18
	SectionKallsyms = 19
	SectionPrintk   = 20
	SectionCmdlines = 21
)

// Numbers of options (trace-cmd-private.h).
const (
	optDone     = 0
	optCPUStat  = 2
	optBuffer   = 3
	optClock    = 4
	optUname    = 5
	optCPUCount = 8
	optVersion  = 9
)

const compressed = 1 // flag of a section

// chunkPages are compressed together: as many as make some 64 KiB.
const chunkSize = 64 << 10

// Write writes the file to w, from its start on.
func (f *File) Write(w io.WriteSeeker) (err error) {
	if f.PageSize <= 0 {
		return fmt.Errorf("trace.dat: pages of %d bytes", f.PageSize)
	}
	o := &writer{File: f, w: w}
	if f.Compress {
		if o.zip, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
			return err
		}
		defer o.zip.Close()
	}
	place := o.head()
	o.section(SectionHeader, o.header())
	o.section(SectionFtrace, o.formats(nil, f.Ftrace))
	o.section(SectionEvents, o.systems())
	o.section(SectionKallsyms, append(o.u32(nil, len(f.Kallsyms)), f.Kallsyms...))
	o.section(SectionPrintk, append(o.u32(nil, len(f.Printk)), f.Printk...))
	o.section(SectionCmdlines, append(o.u64(nil, int64(len(f.Cmdlines))), f.Cmdlines...))
	o.buffer()
	o.describe()
	at := o.off
	o.option(optDone, o.u64(nil, 0))
	o.write(o.sectionHead(optDone, 0, int64(len(o.options))))
	o.write(o.options)
	o.patch(place, o.u64(nil, at))
	return o.err
}

// writer writes; after an error it does nothing.
type writer struct {
	*File
	w       io.WriteSeeker
	off     int64
	zip     *zstd.Encoder
	options []byte
	err     error
}

func (o *writer) write(b []byte) {
	if o.err != nil {
		return
	}
	n, err := o.w.Write(b)
	o.off += int64(n)
	o.err = err
}

// patch writes what was not known at its time.
func (o *writer) patch(at int64, b []byte) {
	if o.err != nil {
		return
	}
	if _, o.err = o.w.Seek(at, io.SeekStart); o.err != nil {
		return
	}
	if _, o.err = o.w.Write(b); o.err != nil {
		return
	}
	_, o.err = o.w.Seek(o.off, io.SeekStart)
}

func (o *writer) u16(b []byte, v int) []byte   { return o.Order.AppendUint16(b, uint16(v)) }
func (o *writer) u32(b []byte, v int) []byte   { return o.Order.AppendUint32(b, uint32(v)) }
func (o *writer) u64(b []byte, v int64) []byte { return o.Order.AppendUint64(b, uint64(v)) }

func (o *writer) text(b []byte, s string) []byte {
	return append(o.u64(b, int64(len(s))), s...)
}

// head returns where the place of the options belongs.
func (o *writer) head() int64 {
	long := o.UserLong
	if long == 0 {
		long = 8
	}
	b := append([]byte("\x17\x08\x44tracing7\x00"), byte(o.Order), byte(long))
	b = o.u32(b, o.PageSize)
	if o.Compress {
		b = append(b, "zstd\x001.5.0\x00"...) // the library's version, of which nothing depends
	} else {
		b = append(b, "none\x00\x00"...)
	}
	place := int64(len(b))
	o.write(o.u64(b, 0))
	return place
}

func (o *writer) header() []byte {
	b := o.text([]byte("header_page\x00"), o.HeaderPage)
	return o.text(append(b, "header_event\x00"...), o.HeaderEvent)
}

func (o *writer) formats(b []byte, formats []string) []byte {
	b = o.u32(b, len(formats))
	for _, f := range formats {
		b = o.text(b, f)
	}
	return b
}

func (o *writer) systems() []byte {
	b := o.u32(nil, len(o.Systems))
	for _, s := range o.Systems {
		b = o.formats(append(append(b, s.Name...), 0), s.Formats)
	}
	return b
}

func (o *writer) sectionHead(id, flags int, size int64) []byte {
	return o.u64(o.u32(o.u16(o.u16(nil, id), flags), 0), size)
}

// section writes a section, and an option that says where it is.
func (o *writer) section(id int, body []byte) {
	o.option(id, o.u64(nil, o.off))
	flags := 0
	if o.zip != nil {
		flags, body = compressed, o.chunk(nil, body)
	}
	o.write(o.sectionHead(id, flags, int64(len(body))))
	o.write(body)
}

// chunk appends what is compressed with both its sizes.
func (o *writer) chunk(b, body []byte) []byte {
	at := len(b)
	b = o.zip.EncodeAll(body, o.u32(o.u32(b, 0), len(body)))
	o.Order.PutUint32(b[at:], uint32(len(b)-at-8))
	return b
}

func (o *writer) option(id int, body []byte) {
	o.options = append(o.u32(o.u16(o.options, id), len(body)), body...)
}

// describe adds the options that tell what was recorded.
func (o *writer) describe() {
	for _, s := range []struct {
		id   int
		text string
	}{{optClock, "[" + o.Clock + "]"}, {optUname, o.Uname}, {optVersion, o.Version}} {
		o.option(s.id, append([]byte(s.text), 0))
	}
	o.option(optCPUCount, o.u32(nil, o.NumCPUs))
	for _, s := range o.Stats {
		o.option(optCPUStat, append([]byte(s), 0))
	}
}

// buffer writes the pages of all CPUs, and the option that says where they are.
func (o *writer) buffer() {
	start := o.off
	flags := 0
	if o.zip != nil {
		flags = compressed
	}
	o.write(o.sectionHead(optBuffer, flags, 0))
	b := append(o.u64(nil, start), 0) // without a name: the top buffer
	b = append(append(b, o.Clock...), 0)
	b = o.u32(o.u32(b, o.PageSize), len(o.CPUs))
	for _, c := range o.CPUs {
		if o.zip == nil {
			o.pad()
		}
		at := o.off
		size := o.pages(c)
		b = o.u64(o.u64(o.u32(b, c.ID), at), size)
	}
	o.patch(start, o.sectionHead(optBuffer, flags, o.off-start-16))
	o.option(optBuffer, b)
}

// pad fills up to a multiple of the size of a page, for who maps the file.
func (o *writer) pad() {
	if n := o.off % int64(o.PageSize); n > 0 {
		o.write(make([]byte, int64(o.PageSize)-n))
	}
}

// pages writes the pages of a CPU, and returns the size that the options have: that of
// what is compressed leaves out the number of chunks before it.
func (o *writer) pages(c CPU) int64 {
	if o.err == nil && c.Size%int64(o.PageSize) != 0 {
		o.err = fmt.Errorf("trace.dat: %d bytes of CPU %d are no pages of %d", c.Size, c.ID, o.PageSize)
	}
	start := o.off
	whole := max(chunkSize/o.PageSize, 1) * o.PageSize
	if o.zip != nil {
		o.write(o.u32(nil, int((c.Size+int64(whole)-1)/int64(whole))))
		start = o.off
	}
	buf, packed := make([]byte, whole), []byte(nil)
	for left := c.Size; left > 0 && o.err == nil; {
		b := buf[:min(left, int64(whole))]
		if _, err := io.ReadFull(c.Pages, b); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			o.err = fmt.Errorf("trace.dat: pages of CPU %d, of which %d bytes are left: %w", c.ID, left, err)
			return 0
		}
		left -= int64(len(b))
		if o.zip != nil {
			packed = o.chunk(packed[:0], b)
			b = packed
		}
		o.write(b)
	}
	return o.off - start
}
