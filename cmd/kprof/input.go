package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"kprof/convert"
	"kprof/convert/infile"
	"kprof/convert/printable"
)

// defaultInput is what perf record and kprof record write without -o.
const defaultInput = "perf.data"

// load reads any input that kprof knows and names its frames.
func load(ctx context.Context, name string, opts convert.Options, sym symbolOptions) (*profile, error) {
	p, err := loadAny(ctx, name, opts, sym)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// loadAny is load, which returns what has no samples too, with the EmptyError: it has
// statistics, for one.
func loadAny(ctx context.Context, name string, opts convert.Options, sym symbolOptions) (*profile, error) {
	p, err := loadQuiet(ctx, name, opts, sym)
	if p == nil {
		return nil, err
	}
	say(p.Warnings)
	return &profile{p}, err
}

// loadQuiet is loadAny without saying what the profile lacks.
func loadQuiet(ctx context.Context, name string, opts convert.Options, sym symbolOptions) (*convert.Profile, error) {
	if isStore(name) {
		return loadStore(ctx, name, opts)
	}
	f, name, err := openInput(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sym.addTo(&opts)
	opts.Name = name
	p, err := convert.Read(ctx, f, opts)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, worded(err))
	}
	return p, err
}

// openInput opens an input, or standard input for "-", and says what it is called.
func openInput(name string) (f *os.File, called string, err error) {
	if name == "-" {
		return os.Stdin, "standard input", nil
	}
	if isStore(name) {
		return nil, name, fmt.Errorf("%s: a store has sums of profiles, and no single events", name)
	}
	f, err = infile.Open(name)
	if errors.Is(err, os.ErrNotExist) && name == defaultInput {
		err = fmt.Errorf("there is no %s here: name a recording, or make one with 'kprof record'", defaultInput)
	}
	return f, name, err
}

// stdinOnce refuses inputs of which two are standard input.
func stdinOnce(inputs []string) error {
	if i := slices.Index(inputs, "-"); i >= 0 && slices.Contains(inputs[i+1:], "-") {
		return usagef("standard input can be read once only")
	}
	return nil
}

// eachInput calls list with the name of each input, perf.data by default, by which it is called
// where there are several, and whether it is not the first.
func eachInput(names []string, list func(name, input string, more bool) error) error {
	if len(names) == 0 {
		names = []string{defaultInput}
	}
	if err := stdinOnce(names); err != nil {
		return err
	}
	for i, name := range names {
		input := ""
		if len(names) > 1 {
			input = name
		}
		if err := list(name, input, i > 0); err != nil {
			return err
		}
	}
	return nil
}

// eachHeaded is eachInput of what writes text: a line with its name is before each of several.
func eachHeaded(w io.Writer, names []string, write func(name string) error) error {
	return eachInput(names, func(name, input string, _ bool) error {
		if input != "" {
			if _, err := fmt.Fprintf(w, "# %s\n", printable.Text(input)); err != nil {
				return err
			}
		}
		return write(name)
	})
}
