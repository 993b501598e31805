package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/flamegraph"
	"kprof/convert/outfile"
	"kprof/convert/page"
	"kprof/convert/printable"
)

// format is what an output is written as.
type format = export.Format

// output is where to write, and as what.
type output struct {
	name   string // "-" for standard output
	format format
	gzip   bool // of a format that is not compressed itself
	svg    flamegraph.Options
	lines  bool // of functions are told apart, in text

	inputs []string    // what is read, for who reads it again; nil of what is recorded
	given  [][2]string // with these flags
	source page.Source // where pages have source looked at

	keep func(*profile) error // takes what is written, nil for nobody

	place      *outfile.Place           // nil until it is found
	withRights func(func() error) error // runs what needs them, nil for where all runs
	sync       bool                     // what is written is on the disk before it has its name
}

// sourceFlag is --source-url, of what writes or shows pages.
type sourceFlag struct{ *page.Source }

func (f sourceFlag) Set(text string) (err error) {
	*f.Source, err = page.ParseSource(text)
	return err
}

func (sourceFlag) Type() string     { return "address" }
func (f sourceFlag) String() string { return "" }

const sourceUsage = "have pages lead to source at this `address`, in which {file} and {line} stand for where a function is; as PREFIX=address of files below PREFIX"

// inMemory reports whether nothing is written, only kept.
func (o output) inMemory() bool { return o.name == "" }

// needs adds to the options of a conversion what the format shows besides stacks:
// threads, and what they did when; or less than all of their frames.
func (o *output) needs(c *convert.Options, sym *symbolOptions) {
	o.lines = sym.Lines
	sym.NamesOnly = o.keep == nil && o.format.NamesOnly() && !(o.format == export.Text && sym.Lines)
	o.format.Needs(c, o.svg.ByTime)
}

// chooseOutput applies the rules of -o and -f: the ending of the name picks the
// format, -f overrides it, and without a name results go to standard output.
func chooseOutput(name, f string) (output, error) {
	return chooseAmong(name, f, ".trace.json or .data", "firefox, chrome or data")
}

// chooseAmong is chooseOutput; endings and formats are the last words of what is offered where none
// is known.
func chooseAmong(name, f, endings, formats string) (output, error) {
	o := output{name: cmp.Or(name, "-"), format: format(f)}
	switch {
	case o.format != "":
		o.gzip = o.format.CompressedAs(o.name)
		if !o.format.Known() {
			return o, usagef("unknown format %q: use pprof, folded, folded-header, svg, html, text, speedscope, %s", f, formats)
		}
	case o.name != "-":
		if o.format, o.gzip = export.Of(o.name); o.format == "" {
			return o, usagef("%s: the ending does not tell the format: use .pb.gz, .folded, .svg, .html, .speedscope.json, .firefox.json, %s, or give -f", name, endings)
		}
	}
	return o, nil
}

// chooseProfileOutput is chooseOutput of a command that writes a profile and nothing else.
func chooseProfileOutput(name, f, command string) (output, error) {
	o, err := chooseProfile(name, f, command)
	if err == nil && o.format == "" {
		err = usagef("say what to write: -o FILE.pb.gz, -o FILE.folded, -o FILE.svg, -o FILE.html, or -f pprof|folded|svg|html|text|speedscope|firefox|chrome")
	}
	return o, err
}

// chooseProfile is chooseProfileOutput of a command that writes something else by default.
func chooseProfile(name, f, command string) (output, error) {
	o, err := chooseAmong(name, f, ".trace.json", "firefox or chrome")
	if err == nil && o.format == export.Data {
		err = usagef("%s writes profiles, not perf.data: use -o FILE.pb.gz, FILE.folded, FILE.svg or FILE.html", command)
	}
	return o, err
}

// write writes a profile. A file that exists is replaced only by a whole one.
func (o output) write(p *profile) error {
	if o.keep != nil {
		if err := o.keep(p); err != nil || o.inMemory() {
			return err
		}
	}
	return o.create(func(w io.Writer) error {
		eo := export.Options{
			Format: o.format, Gzip: o.gzip, Title: o.svg.Title, Notes: p.losses(), Lines: o.lines, SVG: o.svg, TimesHint: timesHint, Select: selectFlags(o.inputs, o.given), Source: o.source,
		}
		switch {
		case o.format == export.HTML && len(p.Set.Events) > 0: // has them all
			eo.Event = p.Set.Most()
			eo.Column = p.shownColumn(eo.Event)
		case o.format != export.Pprof:
			eo.Event, eo.Column = p.choose(nil)
		}
		if o.format == export.SVG && p.Source == o.name { // that of a live recording
			eo.Title = cmp.Or(eo.Title, "Flame graph")
		}
		cut, err := export.Write(w, p.Profile, eo)
		if errors.Is(err, export.ErrNoTimes) {
			return fmt.Errorf("%s does not have the times of its samples, which --flamechart shows: give a recording", p.Source)
		}
		if err == nil {
			sayCut(o.name, cut, "; --max-size shows more")
			if o.format == export.FoldedHeader && len(p.Set.BlockSums) == 0 {
				messagef("the header has no sums over blocks of time, since %s does not have the times of its samples", p.Source)
			}
			o.sayBelowZero(p, eo.Event, eo.Column)
		}
		return err
	})
}

// sayBelowZero warns of values that charts cannot show; flame graphs have refused them.
func (o output) sayBelowZero(p *profile, event, column int) {
	switch o.format {
	case export.Pprof, export.Folded, export.FoldedHeader, export.Text, export.SVG:
		return
	}
	if len(p.Set.Events) == 0 {
		return
	}
	if n := p.Set.BelowZero(event, column); n > 0 {
		messagef("%s values below 0, which have no width in a chart: tables, folded stacks and pprof have them all", countDoes(n, "stack", "has", "have"))
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
		if err := write(f); err != nil || !o.sync {
			return err
		}
		return f.Sync()
	})
}

// stream calls write with a file that is not ours alone. Tables are made for a
// terminal; of all other text, what a terminal would obey is taken out there.
func (o output) stream(f *os.File, write func(io.Writer) error) error {
	switch {
	case o.format == export.Text || !isTerminal(f):
		return write(f)
	case o.format.Binary() || o.gzip:
		return usagef("a compressed profile is not for a terminal: use -o FILE, or a pipe")
	}
	return write(printable.NewWriter(f))
}
