package ringdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/lazyregexp"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/ringpage"
)

// Dir is what a directory has. Close it.
type Dir struct {
	Rings    []Ring // by buffer and CPU
	Layout   ringpage.Layout
	Tracing  perfdata.TracingData
	Kallsyms []byte
	Modules  []byte // /proc/modules
	// Clocks are those of the buffers, by Ring.Buffer, as far as there are files that tell them.
	Clocks map[string]string
	// LastBoot is what last_boot_info says of buffers that an earlier boot wrote, likewise.
	LastBoot map[string]string

	left int64 // bytes of text that may still be read
}

// Ring is the file with the pages of a CPU.
type Ring struct {
	Buffer string // name of the instance; empty for the top one
	CPU    int32
	Size   int64
	file   fs.File
	at     io.ReaderAt
}

// Bounds.
const (
	maxEntries  = 1 << 16 // files and directories; a kernel has 2,000 events, each with four files
	maxRings    = 1 << 13
	maxText     = 4 << 20 // of a file but for symbols
	maxClock    = 4 << 10
	maxKallsyms = 256 << 20
	maxTexts    = 512 << 20 // of all files but pages
	maxFormats  = 1 << 14
	pageSize    = 4096 // where header_page is not there
)

var cpuName = lazyregexp.New(`(?:^|[^A-Za-z0-9])cpu(\d{1,4})(?:$|[^A-Za-z0-9])`)

// ErrNoPages is the error of a directory in which there are none.
var ErrNoPages = errors.New("no pages of a ring buffer (per_cpu/cpu0/trace_pipe_raw, cpu0)")

// Open reads what is in a directory, but for the pages.
func Open(dir fs.FS) (*Dir, error) {
	d := &Dir{left: maxTexts, Clocks: map[string]string{}, LastBoot: map[string]string{}, Tracing: perfdata.TracingData{Version: "0.6", PageSize: pageSize}}
	entries := 0
	err := fs.WalkDir(dir, ".", func(name string, e fs.DirEntry, err error) error {
		switch entries++; {
		case entries > maxEntries && len(d.Rings) == 0:
			return ErrNoPages
		case entries > maxEntries:
			return fmt.Errorf("more than %d files", maxEntries)
		}
		if err != nil || !e.Type().IsRegular() {
			return nil // what cannot be read, or is no file
		}
		return d.take(dir, name, e)
	})
	if err == nil && len(d.Rings) == 0 {
		err = ErrNoPages
	}
	if err == nil {
		err = d.layout()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	slices.SortFunc(d.Rings, func(a, b Ring) int {
		if c := strings.Compare(a.Buffer, b.Buffer); c != 0 {
			return c
		}
		return int(a.CPU - b.CPU)
	})
	return d, nil
}

// Close closes the files.
func (d *Dir) Close() error {
	var errs []error
	for _, r := range d.Rings {
		errs = append(errs, r.file.Close())
	}
	d.Rings = nil
	return errors.Join(errs...)
}

// take takes a file by its name.
func (d *Dir) take(dir fs.FS, name string, e fs.DirEntry) error {
	base, parent := path.Base(name), path.Base(path.Dir(name))
	text := func(most int64) string {
		b, err := read(dir, name, min(most, d.left))
		if err != nil {
			return ""
		}
		d.left -= int64(len(b))
		return string(b)
	}
	t := &d.Tracing
	switch ext := path.Ext(base); {
	case base == "format":
		d.addFormat(path.Base(path.Dir(path.Dir(name))), text(maxText))
	case base == "header_page":
		t.HeaderPage = text(maxText)
	case base == "header_event":
		t.HeaderEvent = text(maxText)
	case base == "saved_cmdlines":
		t.Cmdlines = text(maxText)
	case base == "trace_clock":
		d.Clocks[bufferOf(name)] = ringpage.ChosenClock(text(maxClock))
	case base == "last_boot_info":
		d.LastBoot[bufferOf(name)] = text(maxText)
	case base == "printk_formats":
		t.Printk = text(maxText)
	case base == "kallsyms":
		d.Kallsyms = []byte(text(maxKallsyms))
	case base == "modules":
		d.Modules = []byte(text(maxText))
	case ext == ".txtar":
		d.addFormats(text(maxText))
	case ext == ".txt" || ext == ".dat" || ext == ".xz":
	case base == "trace_pipe_raw":
		return d.addRing(dir, name, parent, e)
	default:
		return d.addRing(dir, name, base, e)
	}
	return nil
}

// read reads a file, as far as the most that there may be.
func read(dir fs.FS, name string, most int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func (d *Dir) addFormat(system, text string) {
	if text != "" && len(d.Tracing.Tracepoints) < maxFormats {
		d.Tracing.Tracepoints = append(d.Tracing.Tracepoints, perfdata.NewTracepoint(system, text))
	}
}

// addFormats adds the sections of a txtar file, "-- SYSTEM.EVENT --".
func (d *Dir) addFormats(text string) {
	name, from := "", 0
	at := 0
	for line := range strings.Lines(text) {
		next, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "-- ")
		if next, is := strings.CutSuffix(next, " --"); ok && is {
			if system, _, ok := strings.Cut(name, "."); ok {
				d.addFormat(system, text[from:at])
			}
			name, from = next, at+len(line)
		}
		at += len(line)
	}
	if system, _, ok := strings.Cut(name, "."); ok {
		d.addFormat(system, text[from:])
	}
}

// addRing adds a file if it is called after a CPU, and not empty.
func (d *Dir) addRing(dir fs.FS, name, called string, e fs.DirEntry) error {
	m := cpuName().FindStringSubmatch(called)
	info, err := e.Info()
	if m == nil || err != nil || info.Size() == 0 || len(d.Rings) >= maxRings {
		return nil
	}
	cpu, _ := strconv.Atoi(m[1])
	r := Ring{Buffer: bufferOf(name), CPU: int32(cpu), Size: info.Size()}
	if r.file, err = dir.Open(name); err != nil {
		return err
	}
	at, ok := r.file.(io.ReaderAt)
	if !ok {
		return errors.Join(fmt.Errorf("%s: it cannot be read at different places", name), r.file.Close())
	}
	r.at = at
	d.Rings = append(d.Rings, r)
	return nil
}

// bufferOf is the buffer that a file is of: an instance's name, empty for the top one.
func bufferOf(name string) string {
	parts := strings.Split(name, "/")
	if i := slices.Index(parts, "instances"); i >= 0 && i+1 < len(parts)-1 {
		return parts[i+1]
	}
	return ""
}

// layout finds out how pages are laid out.
func (d *Dir) layout() error {
	candidates := []ringpage.Layout{
		ringpage.Default(abi.LittleEndian, 8, pageSize), ringpage.Default(abi.LittleEndian, 4, pageSize),
		ringpage.Default(abi.BigEndian, 8, pageSize), ringpage.Default(abi.BigEndian, 4, pageSize),
	}
	if d.Tracing.HeaderPage != "" {
		candidates = candidates[:0]
		for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
			l, err := ringpage.ParseHeaderPage(d.Tracing.HeaderPage, o)
			if err != nil {
				return err
			}
			if l.Size == 0 {
				l.Size = pageSize
			}
			candidates = append(candidates, l)
		}
	}
	d.Layout = candidates[0]
	most := -1
	for _, l := range candidates {
		if n := d.fits(&l); n > most {
			d.Layout, most = l, n
		}
	}
	d.Tracing.Order, d.Tracing.LongSize = d.Layout.Order, uint8(d.Layout.LongSize)
	return nil
}

// fits returns how many of the first pages make sense: what they say of their length fits,
// and events fill it.
func (d *Dir) fits(l *ringpage.Layout) (n int) {
	longest := int64(0)
	for i := range d.Rings {
		longest = max(longest, d.Rings[i].Size)
	}
	page := make([]byte, min(int64(l.Size), longest))
	for i := range d.Rings[:min(len(d.Rings), 16)] {
		got, err := d.Rings[i].at.ReadAt(page, 0)
		if err != nil && !errors.Is(err, io.EOF) || got < l.DataOffset {
			continue
		}
		if l.LongSize == 8 && l.Order.Uint64(page[8:])>>32 != 0 {
			continue
		}
		var p ringpage.Page
		if p.Load(l, page[:got]) != nil {
			continue
		}
		events := 0
		for _, ok := p.Next(); ok; _, ok = p.Next() {
			events++
		}
		if p.Err() == nil && events > 0 {
			n++
		}
	}
	return n
}

// Pages reads the pages of a ring, in their order.
type Pages struct {
	at       io.ReaderAt
	off, end int64
	page     int
	buf      []byte
	rest     []byte // of what was read ahead
}

// Pages returns what reads the pages of a ring, readahead bytes at once, a page at least.
func (d *Dir) Pages(r *Ring, readahead int) *Pages {
	size := max(d.Layout.Size, 1)
	return &Pages{at: r.at, end: r.Size, page: size, buf: make([]byte, min(int64(max(readahead/size, 1)*size), r.Size))}
}

// Next returns the next page, which is valid until the next call; the last one of a file that
// was cut may be shorter. It is io.EOF after the last page.
func (p *Pages) Next() ([]byte, error) {
	if len(p.rest) == 0 {
		n := int(min(int64(len(p.buf)), p.end-p.off))
		if n <= 0 {
			return nil, io.EOF
		}
		if got, err := p.at.ReadAt(p.buf[:n], p.off); got < n {
			return nil, fmt.Errorf("read %d bytes at offset %d: %w", n, p.off, errors.Join(err, io.ErrUnexpectedEOF))
		}
		p.rest, p.off = p.buf[:n], p.off+int64(n)
	}
	n := min(p.page, len(p.rest))
	page := p.rest[:n:n]
	p.rest = p.rest[n:]
	return page, nil
}
