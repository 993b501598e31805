package tracedat

import (
	"kprof/perfevent/perfdata"
)

// What both versions have in common, but for how the parts are found.

func (f *File) readHeaderInfo(c *cursor) {
	c.expect("header_page\x00")
	f.HeaderPage = string(c.text(c.u64()))
	c.expect("header_event\x00")
	f.HeaderEvent = string(c.text(c.u64()))
}

func (f *File) readFtraceFormats(c *cursor) { f.readFormats(c, "ftrace") }

func (f *File) readEventFormats(c *cursor) {
	for n := c.u32(); n > 0 && c.err == nil; n-- {
		f.readFormats(c, c.cstring(1<<10))
	}
}

func (f *File) readFormats(c *cursor, system string) {
	for n := c.u32(); n > 0 && c.err == nil; n-- {
		text := c.text(c.u64())
		if c.err != nil {
			return
		}
		if len(f.Formats) >= maxFormats {
			c.fail("more than %d formats of events", maxFormats)
			return
		}
		f.Formats = append(f.Formats, perfdata.NewTracepoint(system, string(text)))
	}
}

func (f *File) readKallsyms(c *cursor) { f.Kallsyms = c.text(uint64(c.u32())) }

func (f *File) readPrintk(c *cursor) { f.Printk = string(c.text(uint64(c.u32()))) }

func (f *File) readCmdlines(c *cursor) { f.Cmdlines = string(c.text(c.u64())) }

// openSequence reads version 6 from behind its head on.
func (f *File) openSequence(c *cursor) error {
	f.readHeaderInfo(c)
	f.readFtraceFormats(c)
	f.readEventFormats(c)
	f.readKallsyms(c)
	f.readPrintk(c)
	f.readCmdlines(c)
	cpus := int(c.u32())
	kind := c.bytes(kindSize)
	o := newOptionReader(f)
	if c.err == nil && string(kind) == "options  \x00" {
		for c.err == nil {
			id := c.u16()
			if id == optionDone {
				break
			}
			o.take(id, c.text(uint64(c.u32())))
		}
		if o.cpus > 0 {
			cpus = o.cpus
		}
		kind = c.bytes(kindSize)
	}
	if c.err != nil {
		f.truncated(c.err)
		return nil
	}
	f.Buffers = append(f.Buffers, Buffer{Clock: f.Options.Clock})
	f.readTable(c, kind, 0, cpus)
	for _, b := range o.buffers {
		if len(f.Buffers) >= maxBuffers {
			break
		}
		f.Buffers = append(f.Buffers, Buffer{Name: b.name})
		in := f.in.from(int64(min(b.off, uint64(f.in.size))))
		f.readTable(in, in.bytes(kindSize), len(f.Buffers)-1, cpus)
	}
	return nil
}

// kindSize is the size of the word that says what follows: "options  ", "latency  " or
// "flyrecord", with a NUL.
const kindSize = 10

// readTable reads where the pages of a buffer are.
func (f *File) readTable(c *cursor, kind []byte, buffer, cpus int) {
	b := &f.Buffers[buffer]
	b.Layout = f.layout(f.PageSize)
	if l := f.layout(0); l.Size > b.Layout.Size {
		b.Layout.Size = l.Size // a sub-buffer of several pages
	}
	switch {
	case c.err != nil:
	case string(kind) == "latency  \x00":
		f.Text = append(f.Text, Text{Name: b.Name, Off: c.off, Size: c.left})
	case string(kind) != "flyrecord\x00":
		c.fail("%.10q instead of a table of pages", kind)
	default:
		for cpu := 0; cpu < cpus && cpu < maxCPUs && c.err == nil; cpu++ {
			off, size := c.u64(), c.u64()
			if c.err == nil && !f.addCPU(b, cpu, off, size, false) {
				break
			}
		}
	}
	if c.err != nil {
		f.truncated(c.err)
	}
}
