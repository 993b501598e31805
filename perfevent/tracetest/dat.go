package tracetest

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/tracecmd"
)

// Dat is a trace.dat file.
type Dat struct {
	Machine
	Version     int // 6 or 7
	Compression string

	Ftrace   []string   // formats of the tracer's own events
	Systems  []System   // of the others
	Kallsyms string     // as in /proc
	Printk   string     // as in tracefs
	Cmdlines string     // as in tracefs
	Options  []Option   // besides those that the file needs
	Buffers  []Instance // the top one first
	// Chunk is how many pages are compressed together; 0 for one.
	Chunk int
}

// System is the formats of a system.
type System struct {
	Name    string
	Formats []string
}

// Option is an option of the file.
type Option struct {
	ID   uint16
	Data []byte
}

// Instance is a buffer with the pages of each CPU, from CPU 0 on.
type Instance struct {
	Name, Clock string
	CPUs        [][][]byte
}

// Numbers of sections and options.
const (
	secOptions = 0
	optBuffer  = 3
)

func (d *Dat) u16(b []byte, v int) []byte {
	return append(b, d.swap(binary.LittleEndian.AppendUint16(nil, uint16(v)))...)
}
func (d *Dat) u32(b []byte, v int) []byte { return d.Order.AppendUint32(b, uint32(v)) }
func (d *Dat) u64(b []byte, v int) []byte { return d.Order.AppendUint64(b, uint64(v)) }

func (d *Dat) swap(b []byte) []byte {
	if d.Order == 0 {
		return b
	}
	return []byte{b[1], b[0]}
}

func (d *Dat) text64(b []byte, s string) []byte { return append(d.u64(b, len(s)), s...) }
func (d *Dat) text32(b []byte, s string) []byte { return append(d.u32(b, len(s)), s...) }

// Bytes is the file.
func (d *Dat) Bytes() []byte {
	b := append([]byte("\x17\x08\x44tracing"), fmt.Sprint(d.Version)...)
	b = append(b, 0, byte(d.Order), byte(d.Long))
	b = d.u32(b, d.Page)
	if d.Version == 6 {
		return d.sequence(b)
	}
	return d.sections(b)
}

func (d *Dat) header(b []byte) []byte {
	b = d.text64(append(b, "header_page\x00"...), d.HeaderPage())
	return d.text64(append(b, "header_event\x00"...), "# compressed entry header\n")
}

func (d *Dat) formats(b []byte, formats []string) []byte {
	b = d.u32(b, len(formats))
	for _, f := range formats {
		b = d.text64(b, f)
	}
	return b
}

func (d *Dat) systems(b []byte) []byte {
	b = d.u32(b, len(d.Systems))
	for _, s := range d.Systems {
		b = d.formats(append(append(b, s.Name...), 0), s.Formats)
	}
	return b
}

func (d *Dat) option(b []byte, o Option) []byte {
	return append(d.u32(d.u16(b, int(o.ID)), len(o.Data)), o.Data...)
}

// sequence writes version 6: what tells of pages is behind all else, and they come last.
func (d *Dat) sequence(b []byte) []byte {
	b = d.formats(d.header(b), d.Ftrace)
	b = d.text32(d.text32(d.systems(b), d.Kallsyms), d.Printk)
	b = d.text64(b, d.Cmdlines)
	cpus := len(d.Buffers[0].CPUs)
	b = append(d.u32(b, cpus), "options  \x00"...)
	for _, o := range d.Options {
		b = d.option(b, o)
	}
	// The places of the tables of instances are known when the options are.
	size := len(b) + 2 + 10 + 16*cpus
	for _, i := range d.Buffers[1:] {
		size += 6 + 8 + len(i.Name) + 1
	}
	for n, i := range d.Buffers[1:] {
		b = d.option(b, Option{optBuffer, append(append(d.u64(nil, size+n*(10+16*cpus)), i.Name...), 0)})
	}
	b = d.u16(b, 0)
	pages := size + (len(d.Buffers)-1)*(10+16*cpus)
	pages = (pages + d.Page - 1) / d.Page * d.Page
	var data []byte
	for _, i := range d.Buffers {
		b = append(b, "flyrecord\x00"...)
		for _, c := range i.CPUs {
			b = d.u64(d.u64(b, pages+len(data)), len(c)*d.Page)
			for _, p := range c {
				data = append(data, p...)
			}
		}
	}
	return append(append(b, make([]byte, pages-len(b))...), data...)
}

// sections writes version 7: two sections of options, of which one has been written last.
func (d *Dat) sections(b []byte) []byte {
	compression := d.Compression
	if compression == "" {
		compression = "none"
	}
	b = append(append(append(b, compression...), 0), "1\x00"...)
	first := len(b)
	b = d.u64(b, 0)
	var options []byte
	for _, s := range []struct {
		id   int
		body []byte
	}{
		{tracecmd.SectionHeader, d.header(nil)}, {tracecmd.SectionFtrace, d.formats(nil, d.Ftrace)}, {tracecmd.SectionEvents, d.systems(nil)},
		{tracecmd.SectionKallsyms, d.text32(nil, d.Kallsyms)}, {tracecmd.SectionPrintk, d.text32(nil, d.Printk)}, {tracecmd.SectionCmdlines, d.text64(nil, d.Cmdlines)},
	} {
		options = d.option(options, Option{uint16(s.id), d.u64(nil, len(b))})
		b = d.section(b, s.id, s.body, compression != "none")
	}
	for _, o := range d.Options {
		options = d.option(options, o)
	}
	copy(b[first:], d.u64(nil, len(b)))
	// 8 bytes of the place of what follows, which is behind this section.
	whole := len(d.section(nil, secOptions, d.option(options, Option{0, make([]byte, 8)}), false))
	b = d.section(b, secOptions, d.option(options, Option{0, d.u64(nil, len(b)+whole)}), false)
	last := len(b)
	var more []byte
	var data []byte
	size := 0
	for _, i := range d.Buffers {
		size += 6 + 8 + len(i.Name) + 1 + len(i.Clock) + 1 + 8 + 20*len(i.CPUs)
	}
	size += 16 + 6 + 8
	for _, i := range d.Buffers {
		at := last + size + len(data)
		o := append(append(d.u64(nil, at), i.Name...), 0)
		o = append(append(o, i.Clock...), 0)
		o = d.u32(d.u32(o, d.Page), len(i.CPUs))
		flags := 0
		if compression != "none" {
			flags = 1
		}
		head := len(data)
		data = d.u64(d.u32(d.u16(d.u16(data, optBuffer), flags), 0), 0)
		for cpu, pages := range i.CPUs {
			body := d.pages(pages, compression != "none")
			off := last + size + len(data)
			n := len(body)
			if flags != 0 {
				n -= 4 // trace-cmd leaves out the number of chunks
			}
			o = d.u64(d.u64(d.u32(o, cpu), off), n)
			data = append(data, body...)
		}
		copy(data[head+8:], d.u64(nil, len(data)-head-16))
		more = d.option(more, Option{optBuffer, o})
	}
	b = d.section(b, secOptions, d.option(more, Option{0, d.u64(nil, 0)}), false)
	if len(b) != last+size {
		panic(fmt.Sprintf("options end at %d in place of %d", len(b), last+size))
	}
	return append(b, data...)
}

// section appends a section.
func (d *Dat) section(b []byte, id int, body []byte, compressed bool) []byte {
	flags := 0
	if compressed {
		flags = 1
		z := compress(body)
		body = append(d.u32(d.u32(nil, len(z)), len(body)), z...)
	}
	return append(d.u64(d.u32(d.u16(d.u16(b, id), flags), 0), len(body)), body...)
}

// pages are the pages of a CPU, in compressed chunks if they are.
func (d *Dat) pages(pages [][]byte, compressed bool) (b []byte) {
	if !compressed {
		for _, p := range pages {
			b = append(b, p...)
		}
		return b
	}
	chunk := max(d.Chunk, 1)
	b = d.u32(b, (len(pages)+chunk-1)/chunk)
	for len(pages) > 0 {
		var all []byte
		for _, p := range pages[:min(chunk, len(pages))] {
			all = append(all, p...)
		}
		pages = pages[min(chunk, len(pages)):]
		z := compress(all)
		b = append(d.u32(d.u32(b, len(z)), len(all)), z...)
	}
	return b
}

func compress(b []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	defer w.Close()
	return w.EncodeAll(b, nil)
}
