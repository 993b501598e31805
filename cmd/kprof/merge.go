package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/infile"
	"kprof/convert/printable"
	"kprof/convert/stacks"
)

// merging is the flags that say how several inputs become one profile.
type merging struct {
	setLabels, dropLabels, keepLabels []string
	rate, functions, keepGoing        bool
	filesFrom                         string
}

// machineLabels mean something on one machine only, and there until its next boot.
var machineLabels = []string{"pid", "tid"}

func newMerge() *cobra.Command {
	var to conversion
	var m merging
	c := &cobra.Command{
		Use:   "merge INPUT… {-o FILE | -f FORMAT}",
		Short: "Add up the profiles of many machines",
		Long: `Merge adds up any number of inputs, one in memory at a time, and writes the sum in
any format of kprof convert. Functions are matched by name and their files by build
id, wherever machines and processes had them. Memory grows with the number of
different stacks with different labels, so that process numbers, which mean
something on one machine only, are left out, unless --keep-label pid keeps them.

--set-label says where samples come from: the same for all inputs, or a part of
their names, the group in parentheses of a regular expression.

Where inputs took different times, --rate makes each an hour long, so that the sum
is what all of them together cost in an hour. Times, and sizes, that are counted in
different units add up in the finest.`,
		Example: `  kprof merge web1.pb.gz web2.pb.gz -o all.pb.gz
  kprof merge --set-label 'host=(web[0-9]+)' web*.pb.gz -o all.pb.gz
  kprof report --by host all.pb.gz
  ls web[0-9]*.pb.gz | kprof merge --files-from - --rate -o hour.svg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, opts, err := to.choose("merge")
			if err != nil {
				return err
			}
			inputs, err := m.inputs(args)
			if err != nil {
				return err
			}
			if err := o.prepare(); err != nil {
				return err
			}
			p, err := m.load(cmd.Context(), inputs, opts, to.sym)
			if err != nil {
				return err
			}
			if o.format == export.Pprof && o.name != "-" {
				noteSum(p, len(inputs), o.name)
			}
			return o.write(p)
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&m.setLabels, "set-label", nil, "`KEY=VALUE`, a label for all samples; or KEY=PATTERN, whose group in parentheses is found in each input's name")
	fl.StringSliceVar(&m.dropLabels, "drop-label", nil, "leave these `labels` out")
	fl.StringSliceVar(&m.keepLabels, "keep-label", nil, "keep these `labels` although they mean something on one machine only: pid, tid")
	fl.BoolVar(&m.rate, "rate", false, "add up rates: each input as if it had taken an hour")
	fl.BoolVar(&m.functions, "functions", false, "tell code apart by function and line, not by address: a smaller sum")
	fl.BoolVar(&m.keepGoing, "keep-going", false, "leave out inputs that cannot be read, and say so")
	fl.StringVar(&m.filesFrom, "files-from", "", "`file` with the names of inputs, one a line; - is standard input")
	to.flags(c)
	return c
}

// noteSum tells what became of many inputs.
func noteSum(p *profile, inputs int, name string) {
	var samples int64
	counted := false // there are none in profiles of bytes or nanoseconds alone
	for i, n := range p.Set.SampleCounts() {
		if v := p.Set.Events[i].Values; len(v) > 0 && v[0].Unit == "count" {
			samples, counted = samples+n, true
		}
	}
	of := printable.Count(inputs, "input")
	if counted {
		of += ", " + printable.Count(samples, "sample")
	}
	notef("%s, %s in %s", of, printable.Count(p.Set.NumStacks(), "different stack"), name)
}

// inputs are those of the command line and those of a list.
func (m *merging) inputs(args []string) ([]string, error) {
	if m.filesFrom == "" {
		if len(args) == 0 {
			return nil, usagef("name the profiles to add up, or give a list of them with --files-from")
		}
		return args, nil
	}
	if m.filesFrom == "-" && slices.Contains(args, "-") {
		return nil, usagef("standard input cannot be both an input and the list of them")
	}
	in := os.Stdin
	if m.filesFrom != "-" {
		f, err := infile.Open(m.filesFrom)
		if err != nil {
			return nil, fmt.Errorf("--files-from: %w", err)
		}
		defer f.Close()
		in = f
	}
	inputs := slices.Clone(args)
	s := bufio.NewScanner(in)
	line := 1
	for ; s.Scan(); line++ {
		if name := strings.TrimSuffix(s.Text(), "\r"); name != "" {
			inputs = append(inputs, name)
		}
	}
	if err := s.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d bytes", bufio.MaxScanTokenSize)
		}
		return nil, fmt.Errorf("--files-from %s: line %d: %w", m.filesFrom, line, err)
	}
	if len(inputs) == 0 {
		return nil, fmt.Errorf("--files-from %s: it names no input", m.filesFrom)
	}
	return inputs, nil
}

// options checks the flags, and finds the labels of all inputs.
func (m *merging) options(inputs []string) (o convert.SumOptions, labels [][]stacks.Label, err error) {
	o.Rate, o.Functions = m.rate, m.functions
	o.Drop = slices.Clone(m.dropLabels)
	for _, key := range machineLabels {
		if !slices.Contains(m.keepLabels, key) {
			o.Drop = append(o.Drop, key)
		}
	}
	var origins []convert.Origin
	for _, s := range m.setLabels {
		origin, err := convert.ParseOrigin(s)
		if err != nil {
			return o, nil, usagef("--set-label: %w", err)
		}
		if slices.ContainsFunc(origins, func(had convert.Origin) bool { return had.Key == origin.Key }) {
			return o, nil, usagef("--set-label: %s is set twice", origin.Key)
		}
		origins = append(origins, origin)
	}
	labels = make([][]stacks.Label, len(inputs))
	for i, name := range inputs {
		for j := range origins {
			l, err := origins[j].Label(name)
			if err != nil {
				return o, nil, fmt.Errorf("--set-label: %w", err)
			}
			labels[i] = append(labels[i], l)
		}
	}
	return o, labels, nil
}

// load adds up inputs.
func (m *merging) load(ctx context.Context, inputs []string, opts convert.Options, sym symbolOptions) (*profile, error) {
	o, labels, err := m.options(inputs)
	if err != nil {
		return nil, err
	}
	return addUp(ctx, inputs, labels, opts, sym, o, m.keepGoing)
}

// loadSum is load of several inputs, which are added up with all of their labels.
func loadSum(ctx context.Context, inputs []string, opts convert.Options, sym symbolOptions) (*profile, error) {
	switch len(inputs) {
	case 0:
		return load(ctx, defaultInput, opts, sym)
	case 1:
		return load(ctx, inputs[0], opts, sym)
	}
	return addUp(ctx, inputs, nil, opts, sym, convert.SumOptions{}, false)
}

// manyInputs is how many are many.
const manyInputs = 50

// collectSeldom is for what reads many inputs. Each leaves garbage, and what stays is
// little: more of it saves a sixth of the time, as long as it is not memory that counts.
func collectSeldom() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := 400
	if live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() > 64<<20 {
		percent = 200
	}
	debug.SetGCPercent(percent)
}

// addUp adds up inputs, each with its labels. Those without a sample to show add nothing,
// unless that is all there are.
func addUp(ctx context.Context, inputs []string, labels [][]stacks.Label, opts convert.Options, sym symbolOptions, o convert.SumOptions, keepGoing bool) (*profile, error) {
	if err := stdinOnce(inputs); err != nil {
		return nil, err
	}
	many := len(inputs) >= manyInputs && os.Getenv("GOGC") == ""
	opts.DropLabels = o.Drop
	sum := convert.NewSum(o)
	var left, empty []error
	for i, name := range inputs {
		if many && i%manyInputs == 0 {
			collectSeldom()
		}
		p, err := loadQuiet(ctx, name, opts, sym)
		var none *convert.EmptyError
		switch {
		case errors.As(err, &none):
			empty = append(empty, err)
			continue
		case err == nil:
			var l []stacks.Label
			if labels != nil {
				l = labels[i]
			}
			if err = sum.Add(p, l...); err == nil {
				continue
			}
			err = fmt.Errorf("%s: %w", name, err)
			if errors.Is(err, convert.ErrNoDuration) {
				err = fmt.Errorf("%w; without --rate it is added up as it is", err)
			}
		}
		if !keepGoing {
			return nil, err
		}
		left = append(left, err)
	}
	for i, err := range left {
		if i == 0 || voice.verbose {
			messagef("left out: %v", err)
		} else if i == len(left)-1 {
			messagef("left out %d more inputs that cannot be read (-v lists them)", len(left)-1)
		}
	}
	if sum.Len() == 0 {
		return nil, errors.Join(append(empty, left...)[0])
	}
	if len(empty) > 0 {
		notef("%d of %d inputs have no sample to show, the first: %v", len(empty), len(inputs), empty[0])
	}
	p := sum.Profile()
	say(p.Warnings)
	return &profile{p}, nil
}
