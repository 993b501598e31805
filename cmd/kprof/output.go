package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"

	"kprof/convert"
	"kprof/convert/flamegraph"
	"kprof/convert/folded"
	"kprof/convert/outfile"
	"kprof/convert/pprof"
	"kprof/convert/printable"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/convert/viewer"
)

// format is what an output is written as.
type format string

const (
	formatData   format = "data"
	formatPprof  format = "pprof"
	formatFolded format = "folded"
	formatHTML   format = "html"
	formatSVG    format = "svg"
	formatText   format = "text"

	// What other viewers open. A name may have .gz behind it.
	formatSpeedscope format = "speedscope"
	formatFirefox    format = "firefox"
	formatChrome     format = "chrome"
)

// exports are the formats of other viewers.
var exports = map[format]func(io.Writer, *stacks.Set, viewer.Options) error{
	formatSpeedscope: viewer.Speedscope,
	formatFirefox:    viewer.Firefox,
	formatChrome:     viewer.Chrome,
}

// endings of file names and what they stand for.
var endings = []struct {
	suffix string
	format format
}{
	{".pb.gz", formatPprof},
	{".pprof", formatPprof},
	{".folded", formatFolded},
	{".html", formatHTML},
	{".svg", formatSVG},
	{".data", formatData},
	{".speedscope.json", formatSpeedscope},
	{".firefox.json", formatFirefox},
	{".trace.json", formatChrome},
}

// output is where to write, and as what.
type output struct {
	name   string // "-" for standard output
	format format
	gzip   bool // of a format that is not compressed itself
	svg    flamegraph.Options
	offCPU bool // a recording of times off the CPU
	lines  bool // of functions are told apart, in text

	keep func(*profile) error // takes what is written, nil for nobody

	place      *outfile.Place           // nil until it is found
	withRights func(func() error) error // runs what needs them, nil for where all runs
}

// inMemory reports whether nothing is written, only kept.
func (o output) inMemory() bool { return o.name == "" }

// needs adds to the options of a conversion what the format shows besides stacks:
// threads, and what they did when; or less than all of their frames.
func (o *output) needs(c *convert.Options, sym *symbolOptions) {
	o.lines = sym.Lines
	sym.NamesOnly = o.keep == nil && (o.format == formatFolded || o.format == formatSVG || o.format == formatText && !sym.Lines)
	if exports[o.format] != nil || o.format == formatHTML || o.format == formatSVG && o.svg.ByTime {
		c.Times = true
		c.Labels |= replay.LabelTID | replay.LabelCPU
	}
}

// chooseOutput applies the rules of -o and -f: the ending of the name picks the
// format, -f overrides it, and without a name results go to standard output.
func chooseOutput(name, f string) (output, error) {
	o := output{name: name, format: format(f)}
	switch o.format {
	case "", formatPprof, formatFolded, formatHTML, formatSVG, formatText, formatData, formatSpeedscope, formatFirefox, formatChrome:
	default:
		return o, usagef("unknown format %q: use pprof, folded, svg, html, text, speedscope, firefox, chrome or data", f)
	}
	if o.name == "" {
		o.name = "-"
	}
	plain, compressed := strings.CutSuffix(o.name, ".gz")
	if o.format != "" {
		o.gzip = compressed && exports[o.format] != nil
		return o, nil
	}
	for _, e := range endings {
		if o.gzip = compressed && exports[e.format] != nil && strings.HasSuffix(plain, e.suffix); o.gzip || strings.HasSuffix(o.name, e.suffix) {
			o.format = e.format
			return o, nil
		}
	}
	if o.name == "-" {
		return o, nil
	}
	return o, usagef("%s: the ending does not tell the format: use .pb.gz, .folded, .svg, .html, .speedscope.json, .firefox.json, .trace.json or .data, or give -f", name)
}

// write writes a profile. A file that exists is replaced only by a whole one.
func (o output) write(p *profile) error {
	if o.keep != nil {
		if err := o.keep(p); err != nil || o.inMemory() {
			return err
		}
	}
	return o.create(func(w io.Writer) error {
		bw := bufio.NewWriterSize(w, 1<<20)
		if o.gzip {
			return errors.Join(o.compress(bw, p), bw.Flush())
		}
		if err := o.render(bw, p); err != nil {
			return err
		}
		return bw.Flush()
	})
}

func (o output) compress(w io.Writer, p *profile) error {
	zw := gzip.NewWriter(w)
	return errors.Join(o.render(zw, p), zw.Close())
}

func (o output) render(w io.Writer, p *profile) error {
	switch o.format {
	case formatFolded:
		event := p.oneEvent()
		return folded.Write(w, p.Set, folded.Options{Event: event, Column: p.shownColumn(event)})
	case formatHTML:
		return renderHTML(w, p, o.svg.Title)
	case formatSVG:
		return renderSVG(w, p, o)
	case formatText:
		return renderTop(w, p, topOptions{lines: o.lines})
	case formatSpeedscope, formatFirefox, formatChrome:
		event := p.oneEvent()
		return exports[o.format](w, p.Set, viewer.Options{
			Event: event, Column: p.shownColumn(event), Name: filepath.Base(p.Source),
		})
	default:
		return pprof.Write(w, p.Set, pprof.WriteOptions{})
	}
}

// prepare finds the place of the output, which from then on is what it was, and
// refuses one that cannot be written. Without it, create does so.
func (o *output) prepare() (err error) {
	if o.name != "-" && !o.inMemory() {
		if o.place, err = outfile.Find(o.name); err != nil {
			return err
		}
		o.place.Waiting = func() { messagef("%s is a pipe that nobody reads; waiting for somebody who does", o.name) }
	}
	return nil
}

// create calls write with the output, see outfile.Place.Write.
func (o output) create(write func(io.Writer) error) (err error) {
	if o.name == "-" {
		return o.stream(os.Stdout, write)
	}
	if o.place == nil {
		if err := o.prepare(); err != nil {
			return err
		}
	}
	return o.place.Write(o.withRights, func(f *os.File, stream bool) error {
		if stream {
			return o.stream(f, write)
		}
		return write(f)
	})
}

// stream calls write with a file that is not ours alone. Tables are made for a
// terminal; of all other text, what a terminal would obey is taken out there.
func (o output) stream(f *os.File, write func(io.Writer) error) error {
	switch {
	case o.format == formatText || !isTerminal(f):
		return write(f)
	case o.format == formatPprof || o.gzip:
		return usagef("a compressed profile is not for a terminal: use -o FILE, or a pipe")
	}
	return write(printable.NewWriter(f))
}
