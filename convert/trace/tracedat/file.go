package tracedat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/ringpage"
)

// File is a trace.dat file, but for its pages. Close it.
type File struct {
	Version     int // 6 or 7
	Order       abi.Order
	UserLong    int    // bytes of a long of the programs that were traced: 4 or 8
	PageSize    int    // bytes
	Compression string // "none", "zstd", "zlib"

	HeaderPage, HeaderEvent string                // texts of tracefs
	Formats                 []perfdata.Tracepoint // of all events of the kernel
	Kallsyms                []byte                // /proc/kallsyms
	Printk                  string                // printk_formats
	Cmdlines                string                // saved_cmdlines: a line "pid comm" each
	Modules                 []byte                // /proc/modules, of trace-cmd 3.3 and later

	Options Options
	Buffers []Buffer
	// Text is what the kernel printed, of tracers that give no pages (latency tracers).
	Text []Text

	// Truncated says why what is missing at the end of the file is; nil for nothing.
	Truncated error

	in   *input
	unzs *unzipper
	cpus int   // in Buffers
	zips int   // of cpus, those with compressed pages
	maps int   // in Options.Processes
	room int64 // bytes that sections may still be decompressed to
}

// Buffer is a buffer of the tracer: the top one, or that of an instance.
type Buffer struct {
	Name   string // empty for the top one
	Clock  string // "local"; empty where the file does not say. See Ticks
	Layout ringpage.Layout
	CPUs   []CPU // those that have pages
}

// CPU is where the pages of a CPU are.
type CPU struct {
	ID         int
	off, size  int64
	end        int64 // of what may be read: compressed, it is more than size tells
	compressed bool
}

// Size is how many bytes of the file its pages take.
func (c *CPU) Size() int64 { return c.size }

// Text is where the text of a buffer is.
type Text struct {
	Name      string
	Off, Size int64
}

// ErrFormat says that a file is no trace.dat, or damaged where nothing can be read
// without it.
var ErrFormat = errors.New("not a trace.dat file that can be read")

const magic = "\x17\x08\x44tracing"

// Bounds of what is no page.
const (
	maxText     = 256 << 20 // bytes of a section
	maxFormats  = 1 << 16
	maxCPUs     = 1 << 14 // of all buffers
	maxBuffers  = 1 << 10
	maxSections = 1 << 10
	maxTasks    = 1 << 16 // whose maps are told
	maxMaps     = 1 << 18 // of all of them; a process has 65530 at most (vm.max_map_count)

	// Sections of text are decompressed to so many bytes in all, and for each byte of the file to so many
	// more; formats of events are a twentieth compressed.
	minUnpacked   = 16 << 20
	unpackedRatio = 64
)

// Open reads what is in the first size bytes of r but the pages. r must stay open as long
// as the File. A file that ends early is read as far as it goes, see Truncated.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{in: &input{at: r, size: size}, room: minUnpacked + unpackedRatio*min(size, 1<<40)}
	err := f.open()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.separate()
	for i := range f.Buffers {
		f.growPages(&f.Buffers[i])
	}
	return f, nil
}

func (f *File) open() error {
	c := f.in.from(0)
	if s := c.bytes(len(magic)); string(s) != magic {
		return fmt.Errorf("%w: it begins with %.20q", ErrFormat, s)
	}
	version := c.cstring(16)
	order, long := c.u8(), c.u8()
	if order == 1 {
		f.Order = abi.BigEndian
	}
	f.in.order, c.order = f.Order, f.Order
	f.UserLong = int(long)
	f.PageSize = int(c.u32())
	switch {
	case c.err != nil:
		return fmt.Errorf("%w: its head: %w", ErrFormat, c.err)
	case version == "6":
		f.Version, f.Compression = 6, "none"
	case version == "7":
		f.Version = 7
	default:
		return fmt.Errorf("%w: version %.16q, 6 and 7 are read", ErrFormat, version)
	}
	if f.PageSize < 256 || f.PageSize > 64<<20 {
		return fmt.Errorf("%w: pages of %d bytes", ErrFormat, f.PageSize)
	}
	if f.Version == 6 {
		return f.openSequence(c)
	}
	return f.openSections(c)
}

// Close releases what reading took. It does not close what the file was opened from.
func (f *File) Close() error {
	if f.unzs != nil {
		f.unzs.close()
		f.unzs = nil
	}
	return nil
}

// truncated notes the first reason why not all could be read.
func (f *File) truncated(err error) {
	if f.Truncated == nil {
		f.Truncated = err
	}
}

// layout is that of pages of the given size, by what the kernel says.
func (f *File) layout(pageSize int) ringpage.Layout {
	l, err := ringpage.ParseHeaderPage(f.HeaderPage, f.Order)
	if err != nil {
		l = ringpage.Default(f.Order, 8, pageSize)
	}
	if pageSize >= l.DataOffset+8 {
		l.Size = pageSize
	}
	return l
}

// addCPU adds the pages of a CPU to a buffer, as far as they are in the file; false where there are
// too many CPUs.
func (f *File) addCPU(b *Buffer, id int, off, size uint64, compressed bool) bool {
	if size == 0 {
		return true
	}
	if f.cpus >= maxCPUs {
		f.truncated(fmt.Errorf("the pages of more than %d CPUs", maxCPUs))
		return false
	}
	c := CPU{ID: id, off: int64(off), size: int64(size), compressed: compressed}
	if off > uint64(f.in.size) || size > uint64(f.in.size)-off {
		f.truncated(fmt.Errorf("of CPU %d, the bytes from %d to %d are missing: the file has %d", id, off, off+size, f.in.size))
		if off >= uint64(f.in.size) {
			return true
		}
		c.size = f.in.size - c.off
	}
	f.cpus++
	b.CPUs = append(b.CPUs, c)
	return true
}

// separate sees to it that no byte of the file is read as pages of two CPUs: what lies in the pages
// of another is left out.
func (f *File) separate() {
	all := make([]*CPU, 0, f.cpus)
	for i := range f.Buffers {
		for j := range f.Buffers[i].CPUs {
			all = append(all, &f.Buffers[i].CPUs[j])
		}
	}
	slices.SortStableFunc(all, func(a, b *CPU) int { return cmp.Compare(a.off, b.off) })
	var last *CPU
	for _, c := range all {
		switch {
		case last != nil && (c.off < last.off+last.size && !last.compressed || c.off == last.off):
			f.truncated(fmt.Errorf("the pages of CPU %d, at offset %d, lie in those of CPU %d", c.ID, c.off, last.ID))
			c.size = 0
			continue
		case last != nil && last.compressed:
			last.end = c.off
		}
		if c.end = c.off + c.size; c.compressed {
			c.end = f.in.size // the size that is told leaves out the number of chunks, which ends them
			f.zips++
		}
		last = c
	}
	for i := range f.Buffers {
		b := &f.Buffers[i]
		b.CPUs = slices.DeleteFunc(b.CPUs, func(c CPU) bool { return c.size == 0 })
	}
}

// TracingData are the formats of the events whose numbers used says, in the form of
// perf.data, with what prints them.
func (f *File) TracingData(used func(id uint64) bool) *perfdata.TracingData {
	t := &perfdata.TracingData{
		Version: "0.6", Order: f.Order, LongSize: 8, PageSize: uint32(f.PageSize),
		HeaderPage: f.HeaderPage, HeaderEvent: f.HeaderEvent, Printk: f.Printk,
	}
	if len(f.Buffers) > 0 {
		t.LongSize = uint8(f.Buffers[0].Layout.LongSize)
	}
	for _, tp := range f.Formats {
		if used(tp.ID) {
			t.Tracepoints = append(t.Tracepoints, tp)
		}
	}
	return t
}
