package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sys/unix"

	"kprof/convert"
	"kprof/convert/pprof"
	"kprof/convert/render"
	"kprof/convert/stacks"
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
var exports = map[format]func(io.Writer, *stacks.Set, render.ExportOptions) error{
	formatSpeedscope: render.Speedscope,
	formatFirefox:    render.Firefox,
	formatChrome:     render.Chrome,
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
	svg    render.SVGOptions
}

// needs adds to the options of a conversion what the format shows besides stacks:
// threads, and what they did when; or less than all of their frames.
func (o output) needs(c *convert.Options, sym *symbolOptions) {
	sym.namesOnly = o.format == formatFolded || o.format == formatSVG || o.format == formatText
	if exports[o.format] != nil || o.format == formatHTML || o.format == formatSVG && o.svg.ByTime {
		c.Times = true
		c.Labels |= convert.LabelTID | convert.LabelCPU
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
		return render.Folded(w, p.set, render.FoldedOptions{Event: event, Column: p.weightColumn(event)})
	case formatHTML:
		return renderHTML(w, p, o.svg.Title)
	case formatSVG:
		return renderSVG(w, p, o)
	case formatText:
		return renderTop(w, p, topOptions{})
	case formatSpeedscope, formatFirefox, formatChrome:
		event := p.oneEvent()
		return exports[o.format](w, p.set, render.ExportOptions{
			Event: event, Column: p.weightColumn(event), Name: filepath.Base(p.source),
		})
	default:
		return pprof.Write(w, p.set, pprof.WriteOptions{})
	}
}

// create calls write with the output. A regular file is written without a name
// and gets one when it is whole, so that nothing half-written is ever seen and
// what was there before is not lost.
func (o output) create(write func(io.Writer) error) (err error) {
	if o.name == "-" {
		return write(os.Stdout)
	}
	if st, err := os.Stat(o.name); err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return fmt.Errorf("%s is a directory", o.name)
		}
		f, err := os.OpenFile(o.name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, publish, err := createUnnamed(o.name)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = publish()
	}
	return errors.Join(err, f.Close())
}

// createUnnamed opens a new file that takes the place of name when publish is
// called, and vanishes when it is closed before.
func createUnnamed(name string) (f *os.File, publish func() error, err error) {
	dir := filepath.Dir(name)
	// Appending to the name keeps it unique among those that write at once.
	beside := fmt.Sprintf("%s.%d.tmp", name, os.Getpid())
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
	if err == nil {
		f = os.NewFile(uintptr(fd), name)
		return f, func() error {
			if err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, beside, unix.AT_SYMLINK_FOLLOW); err != nil {
				return fmt.Errorf("create %s: %w", name, err)
			}
			return os.Rename(beside, name)
		}, nil
	}
	// File systems without O_TMPFILE.
	f, ferr := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if ferr != nil {
		if errors.Is(ferr, os.ErrNotExist) || errors.Is(ferr, os.ErrPermission) {
			ferr = fmt.Errorf("create %s: %w", name, errors.Unwrap(ferr))
		}
		return nil, nil, ferr
	}
	return f, func() error { return os.Rename(beside, name) }, nil
}
