package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"kprof/convert/packed"
	"kprof/convert/stacks"
)

// maxSize is how large a file may be. It is kept while it is read.
const maxSize = 1 << 30

// ReadOptions say what is read of a profile.
type ReadOptions struct {
	Drop []string // keys of labels that are left out
}

// Read reads a pprof file: profile.proto, compressed or not, or one of the
// legacy formats that google/pprof knows. At most 1 GiB as it is stored; of a
// compressed one, no more is kept than [stacks.MaxKept] allows, which a
// [stacks.TooLargeError] tells, however far it expands. A column whose values, without
// their signs, add up to more than 63 bits is a [stacks.TooLargeSumError].
//
// The profile's columns become one event, unless they are named as kprof names
// those of several events (see [Events]). A sample's labels come sorted by key.
// A location's is_folded is not kept.
func Read(r io.Reader) (*stacks.Set, error) { return ReadOptions{}.Read(r) }

// Read is Read with these options.
func (o ReadOptions) Read(r io.Reader) (*stacks.Set, error) {
	s, err := o.read(r, maxSize)
	if err != nil {
		return nil, fmt.Errorf("read pprof: %w", err)
	}
	return s, nil
}

// read reads a profile in two passes over the file, so that the samples, which are
// nearly all of it, are never in memory in any form but the Set's:
//
//  1. All fields but the samples are kept as they are, and then go into the Set's
//     tables: see newReader.
//  2. Each sample is decoded straight into the Set.
//
// What is wrong is explained by google/pprof, if that can be done cheaply, and so
// are the legacy formats made profile.proto.
func (o ReadOptions) read(r io.Reader, limit int64) (*stacks.Set, error) {
	data, err := readAll(r, limit)
	if err != nil {
		return nil, err
	}
	in := input{data: data, opts: o}
	in.unpack()
	set, err := in.read()
	var large *stacks.TooLargeError
	var sum *stacks.TooLargeSumError
	var broken *packed.Error
	if err == nil || errors.As(err, &large) || errors.As(err, &sum) || errors.As(err, &broken) {
		return set, err
	}
	return in.readWhole(err)
}

func (in input) read() (*stacks.Set, error) {
	k := skeleton{size: int64(len(in.data))}
	if err := in.scan(k.read); err != nil {
		return nil, err
	}
	r, err := newReader(&k)
	if err != nil {
		return nil, err
	}
	d := newDecoder(r, in.opts.Drop)
	if err := in.scan(d.read); err != nil {
		return nil, err
	}
	r.set.SumBlocks()
	return r.set, nil
}

// add gives each event its columns of a sample. A sample is one of all events
// for which it has a value, and of the first if it has none at all. blocks has its sums, if
// not nil.
func (r *reader) add(stack stacks.StackID, labels stacks.LabelsID, values []int64, blocks *blockReader) {
	all := values
	zero := true
	for i, e := range r.set.Events {
		v := values[:len(e.Values)]
		values = values[len(v):]
		if len(r.set.Events) == 1 || slices.ContainsFunc(v, func(x int64) bool { return x != 0 }) {
			row := r.set.Add(i, stack, labels, v...)
			if blocks != nil && zero {
				blocks.addTo(r.set, row, i)
			}
			zero = false
		}
	}
	if zero && len(r.set.Events) > 0 {
		r.set.Add(0, stack, labels, all[:len(r.set.Events[0].Values)]...)
	}
}

// sortLabels sorts by key. It is stable, because the values of one key are in the
// file's order.
func sortLabels(l []stacks.Label) {
	slices.SortStableFunc(l, func(a, b stacks.Label) int {
		if c := cmp.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return cmp.Compare(min(len(b.Str), 1), min(len(a.Str), 1)) // strings first
	})
}

func tooDeep(sample, locations int) error {
	return fmt.Errorf("sample %d has %d locations, at most %d can be stored", sample, locations, stacks.MaxDepth)
}

// Events divides the columns of a profile among events, where they are named as kprof names those
// of several: for each "EVENT.samples" and then any number called "EVENT", or "EVENT.VALUE" of a
// field. Of other tools' profiles that were added up to such an event is any number of
// "EVENT.VALUE" and then "EVENT", or this alone, as long as one event has the name of several
// columns. Otherwise there is one event that has all columns, called by what its last column
// counts.
func Events(columns []stacks.ValueType) []stacks.Event {
	var several []stacks.Event
	names, types := map[string]bool{}, map[string]bool{}
	grouped := false
	for i := 0; i < len(columns); {
		name, n, group := eventAt(columns[i:])
		e := stacks.Event{Name: name, Values: slices.Clone(columns[i : i+n])}
		for _, v := range e.Values {
			if types[v.Type] {
				return one(columns)
			}
			types[v.Type] = true
		}
		if names[name] {
			return one(columns)
		}
		names[name] = true
		several = append(several, e)
		grouped = grouped || group
		i += n
	}
	if len(columns) > 0 && !grouped {
		return one(columns)
	}
	return several
}

// eventAt returns the name of the event that begins with the first column, of how many columns
// it is, and whether it is known to be one by how these are called.
func eventAt(columns []stacks.ValueType) (name string, n int, group bool) {
	first := columns[0].Type
	if name, ok := strings.CutSuffix(first, ".samples"); ok && columns[0].Unit == "count" {
		for n = 1; n < len(columns) && valueOf(columns[n].Type, name); n++ {
		}
		return name, n, true
	}
	for n = 1; n < len(columns); n++ {
		switch name := columns[n].Type; {
		case valueOf(first, name):
			for _, v := range columns[:n] {
				if !valueOf(v.Type, name) {
					return first, 1, false
				}
			}
			return name, n + 1, true
		case !strings.Contains(name, "."):
			return first, 1, false
		}
	}
	return first, 1, false
}

// valueOf reports whether a column is one of an event's values.
func valueOf(column, event string) bool {
	rest, ok := strings.CutPrefix(column, event)
	return ok && (rest == "" || rest[0] == '.')
}

func one(columns []stacks.ValueType) []stacks.Event {
	return []stacks.Event{{Name: columns[len(columns)-1].Type, Values: columns}}
}

// kind guesses from a mapping's file what it holds.
func kind(file string) stacks.Kind {
	switch {
	case file == "":
		return stacks.KindUnknown
	case strings.HasPrefix(file, "[kernel"):
		return stacks.KindKernel
	case strings.HasPrefix(file, "[guest"):
		return stacks.KindGuest
	case strings.HasPrefix(file, "[vdso"), file == "[vsyscall]", strings.HasPrefix(file, "linux-vdso"):
		return stacks.KindVDSO
	case strings.HasPrefix(file, "[stack"), strings.HasPrefix(file, "[heap"),
		strings.HasPrefix(file, "[anon"), strings.HasPrefix(file, "//anon"):
		return stacks.KindAnon
	case strings.HasPrefix(file, "[bpf"), strings.HasPrefix(file, "bpf_"):
		return stacks.KindBPF
	case strings.HasPrefix(file, "["), strings.HasSuffix(file, ".ko"):
		return stacks.KindModule
	}
	return stacks.KindUser
}
