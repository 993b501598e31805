package main

import (
	"context"
	"fmt"
	"os"

	"kprof/convert"
)

// readAgain is what pprof's pages show, read when somebody asks for them: they are asked for
// seldom, and what they show takes many times the memory of our pages. It is nil where inputs
// cannot be read again.
func readAgain(ctx context.Context, inputs []string, opts convert.Options, sym symbolOptions) func() (*profile, error) {
	files := make([]os.FileInfo, len(inputs))
	for i, in := range inputs {
		st, err := os.Stat(in)
		if in == "-" || err != nil || !st.Mode().IsRegular() {
			return nil
		}
		files[i] = st
	}
	return func() (*profile, error) {
		sum := convert.NewSum(convert.SumOptions{})
		for i, in := range inputs {
			p, err := loadQuiet(ctx, in, opts, sym)
			if err != nil {
				return nil, err
			}
			st, err := os.Stat(in)
			if err != nil {
				return nil, err
			}
			if !os.SameFile(st, files[i]) || st.Size() != files[i].Size() || !st.ModTime().Equal(files[i].ModTime()) {
				return nil, fmt.Errorf("%s is no longer what the other pages show: have kprof view read it again", in)
			}
			if len(inputs) == 1 {
				return &profile{p}, nil
			}
			if err := sum.Add(p); err != nil {
				return nil, fmt.Errorf("%s: %w", in, err)
			}
		}
		return &profile{sum.Profile()}, nil
	}
}
