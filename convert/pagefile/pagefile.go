// Package pagefile reads the profile that is in a page which convert/page wrote.
package pagefile

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"kprof/convert/stacks"
)

// ErrNoProfile reports a page that is none of kprof's, or has no profile in it.
var ErrNoProfile = errors.New("it is a page without a profile")

// maxSize is how large a page may be. It is kept while it is read.
const maxSize = 1 << 30

// element is what stands before the data of a page; they end with the next "<".
const element = `<script type="application/octet-stream" id="data">`

// format is the number of the layout that is read, dataFormat in convert/page.
const format = 2

// generator is in the head of a page.
const generator = `<meta name="generator" content="kprof">`

// Is tells of a page by how it begins whether kprof wrote it.
func Is(head []byte) bool { return bytes.Contains(head, []byte(generator)) }

// Options say what is kept of a page.
type Options struct {
	// Times keeps the times of samples (stacks.Set.TimedSamples), where the page has them; else
	// there are sums over blocks of time.
	Times bool
}

// Read reads a page as convert/page writes it, whose layout is described there at pageHead: at
// most 1 GiB as it is stored. No more is kept than [stacks.MaxKept] allows, which a
// [stacks.TooLargeError] tells, however far it expands. A page without a profile is
// ErrNoProfile.
//
// A page has frames, not addresses: each is a location at address 0 of its mapping, which is
// called by the base name of its file. Labels are text, but for those that have numbers alone.
// The value that the page shows first is the Set's default.
func Read(r io.Reader, o Options) (*stacks.Set, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("read page: it is larger than %d MiB", maxSize>>20)
	}
	_, text, found := bytes.Cut(data, []byte(element))
	text, _, ended := bytes.Cut(text, []byte("<"))
	if !found || len(text) == 0 {
		return nil, ErrNoProfile
	}
	d := decoder{size: int64(len(text)), times: o.Times}
	err = d.read(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(text)))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("its data ends early")
		if !ended {
			err = errors.New("it is cut off")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	return d.set, nil
}

// decoder makes a Set of the data of a page.
type decoder struct {
	in    *bufio.Reader
	size  int64 // of the data as they are stored
	kept  int64 // about what is kept beside the Set
	since int64 // how much was kept since the Set was last looked at
	times bool

	head   head
	set    *stacks.Set
	parent []uint32 // of each node; of the root, itself
	depth  []uint32
	frame  []uint32 // of each node but the root, index into frames
	frames []frame
	// callees[from[f]:from[f+1]] are the frames right below frame f, or, where f is their number,
	// below the root.
	callees []uint32
	from    []int
	places  places
	labels  []stacks.LabelsID
	rows    []pageRow
}

// pageRow is a row of the page.
type pageRow struct {
	number  uint32 // of the Set's
	labels  uint32
	count   int64 // of moments
	value   int64 // that of the column that has the values of moments
	unknown bool  // there is no such column
}

// head is what is read of the JSON at the beginning: see pageHead in convert/page.
type head struct {
	Comments []string
	Start    int64
	Duration int64
	Events   []struct {
		Name     string
		Columns  []column
		Rows     int
		Counted  bool
		Instants bool
	}
	Event, Column                    int // what is shown first
	Names, Mappings, BuildIDs, Files []string
	Frames                           []int64
	Keys                             []string
	Values                           [][]string
	Labels                           [][]uint32
	Nodes                            int
	Cut                              bool
	Moments                          int
	Clock                            uint64 `json:",string"`
	Bin                              uint64
	Format                           int
	Weighed                          bool
}

type column struct {
	Type, Unit string
	Factor     int64
	Weighed    bool
}

// headPart is the part of what may be kept that the text of the head may be, as what it is
// decoded into is larger by up to that.
const headPart = 12

func (d *decoder) read(r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	d.in = bufio.NewReaderSize(z, 1<<16)
	n, err := binary.ReadUvarint(d.in)
	if err != nil {
		return err
	}
	if n > uint64(stacks.MaxKept(d.size)/headPart) {
		return &stacks.TooLargeError{Size: d.size}
	}
	text, err := io.ReadAll(io.LimitReader(d.in, int64(n)))
	if err == nil && uint64(len(text)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &d.head); err != nil {
		return fmt.Errorf("its head: %w", err)
	}
	if d.head.Format != format {
		return fmt.Errorf("it is of another version of kprof: its data have format %d, which is not %d", d.head.Format, format)
	}
	d.kept = int64(n) * headPart
	for _, step := range []func() error{d.addEvents, d.addFrames, d.addLabels, d.readTree, d.readRows, d.skipFunctions, d.readMoments} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// addEvents begins the Set.
func (d *decoder) addEvents() error {
	d.set = stacks.New()
	for _, e := range d.head.Events {
		if len(e.Columns) == 0 || len(e.Columns) > stacks.MaxColumns {
			return fmt.Errorf("event %q has %d columns", e.Name, len(e.Columns))
		}
		event := stacks.Event{Name: e.Name, Instants: e.Instants}
		for _, c := range e.Columns {
			event.Values = append(event.Values, stacks.ValueType{Type: c.Type, Unit: c.Unit})
		}
		d.set.AddEvent(event)
	}
	if len(d.head.Events) == 0 {
		return errors.New("it has no events")
	}
	if e := d.head.Event; e >= 0 && e < len(d.set.Events) {
		// The last one is shown of a Set that does not say which.
		if v := d.set.Events[e].Values; d.head.Column >= 0 && d.head.Column < len(v)-1 {
			d.set.DefaultType = v[d.head.Column].Type
		}
	}
	d.set.Comments, d.set.DurationNanos = d.head.Comments, d.head.Duration
	d.set.TimeNanos = d.head.Start * 1e6
	return nil
}

// lookEvery is how much more is kept before it is looked whether it is too much.
const lookEvery = 64 << 10

// keep counts what is kept beside the Set, and what was put into that, and tells when both are
// too much.
func (d *decoder) keep(beside, inside int64) error {
	d.kept += beside
	if d.since += beside + inside; d.since < lookEvery {
		return nil
	}
	d.since = 0
	if d.kept+d.set.Size() > stacks.MaxKept(d.size) {
		return &stacks.TooLargeError{Size: d.size}
	}
	return nil
}

// number reads a varint that is less than limit.
func (d *decoder) number(limit int, what string) (uint32, error) {
	v, err := binary.ReadUvarint(d.in)
	if err == nil && v >= uint64(limit) {
		err = fmt.Errorf("%s %d of %d", what, v, limit)
	}
	return uint32(v), err
}
