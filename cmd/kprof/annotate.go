package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert/annotate"
	"kprof/convert/export"
	"kprof/convert/printable"
	"kprof/convert/stacks"
	"kprof/symbolize"
)

func newAnnotate() *cobra.Command {
	var sel selection
	var sym symbolOptions
	var json, wide bool
	var out, source string
	c := &cobra.Command{
		Use:   "annotate FUNCTION [INPUT…]",
		Short: "Show the instructions of a function, with what each costs",
		Long: `Annotate prints the instructions of a function, each with the samples that were taken at
it (self) and with those of what it calls (cum), and their shares of the function. FUNCTION is
a name as report shows it, or as the linker knows it. INPUT is perf.data by default; several are
added up. With --inline, and of profiles that have inlined functions, it says what FUNCTION cost
where it was inlined into others, in whose listings that is.

Code is read from the files that were recorded, found by their build ids where names are found
(kprof help symbols): programs, libraries and modules on the machine, or below --symfs, and a
kernel's vmlinux, which --vmlinux may name, as in
kprof annotate vfs_read --vmlinux ~/linux/vmlinux --source ~/linux. Folded stacks have no
addresses to look up. Where debug information is at hand, source lines stand beside the
instructions that they became, with --source above them with their text. Instructions of x86-64,
i386 and arm64 are decoded. What a kernel patches into itself while it runs is as it was in the
file.

A processor may report the instruction after the one that took the time, and a timer, as of
cpu-clock, the one at which interrupts were on again. On a terminal only instructions near to
samples are shown; --wide shows all.`,
		Example: `  kprof annotate main.main
  kprof annotate --source ~/src/tool main.main perf.data
  kprof annotate --json main.main perf.data > main.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("annotate wants the name of a function")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := sel.options()
			if err != nil {
				return err
			}
			var o annotate.TextOptions
			if source != "" {
				files, err := annotate.OpenSources(source)
				if err != nil {
					return fmt.Errorf("--source: %w", err)
				}
				defer files.Close()
				o.Text = files.Text
			}
			p, err := loadSum(cmd.Context(), args[1:], opts, sym)
			if err != nil {
				return err
			}
			o.Event, o.Column = p.choose(nil)
			a, err := annotated(p, args[0], o.Options)
			if err != nil {
				return err
			}
			write := func(w io.Writer) error { return a.WriteText(w, p.Set, o) }
			if json {
				write = func(w io.Writer) error { return a.WriteJSON(w, p.Set, o.Options) }
			}
			if out != "-" {
				return output{name: out, format: export.Text}.create(write)
			}
			if isTerminal(os.Stdout) {
				o.Color = wantsColors()
				if !wide {
					o.Width, o.Context = terminalWidth(os.Stdout), asmContext
				}
			}
			return paged(write)
		},
	}
	f := c.Flags()
	f.BoolVar(&json, "json", false, "as JSON: the event, the total, and functions with their instructions")
	f.BoolVar(&wide, "wide", false, "show all instructions on a terminal too, and lines of any length")
	f.StringVar(&source, "source", "", "show lines of source files below this `directory`")
	f.StringVarP(&out, "output", "o", "-", "`file` to write to, - for standard output")
	sel.flags(c)
	sym.flags(c)
	return c
}

// annotated finds the code of a function, and tells of what is not to be had. Where that is
// all of it, it is an error.
func annotated(p *profile, function string, o annotate.Options) (*annotate.Annotation, error) {
	files := p.Symbolizer()
	defer files.Close()
	a, err := annotate.Function(p.Set, function, files, o)
	var inlined *annotate.InlinedError
	if errors.As(err, &inlined) {
		return nil, fmt.Errorf("%w: annotate that", err)
	}
	if err != nil {
		return nil, err
	}
	unit := p.Set.Events[o.Event].Values[o.Column].Unit
	var missing []error
	for i := range a.Missing {
		missing = append(missing, codeMissing(function, unit, &a.Missing[i]))
	}
	switch {
	case len(a.Listings) > 0:
		for _, err := range missing {
			messagef("%v", err)
		}
		if len(a.Inlined) > 0 {
			messagef("%s", alsoInlined(function, unit, a.Inlined))
		}
		return a, nil
	case len(missing) > 0:
		return nil, missing[0]
	}
	return nil, fmt.Errorf("no sample of %s has %s in its stack", p.Set.Events[o.Event].Name, function)
}

// maxInlined is how many functions are named that another was inlined into.
const maxInlined = 5

// alsoInlined says where a function that has code of its own was inlined.
func alsoInlined(function, unit string, all []annotate.Inlined) string {
	var into []string
	for _, x := range all[:min(len(all), maxInlined)] {
		into = append(into, fmt.Sprintf("%s (%s)", x.Into, printable.Value(x.Cum, unit)))
	}
	more := ""
	if n := len(all) - len(into); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%s was also inlined into %s%s: that is in their listings, not here", function, strings.Join(into, ", "), more)
}

// codeMissing says what there is no code of, and what would bring it.
func codeMissing(function, unit string, m *annotate.Missing) error {
	where := printable.Text(filepath.Base(m.Mapping.File))
	if m.Mapping.File == "" {
		where = "a file that the profile does not tell"
	}
	hint := ""
	switch {
	case errors.Is(m.Err, symbolize.ErrForeign) && m.Mapping.Kind == stacks.KindUser:
		hint = ": --symfs names a directory with the files of that machine"
	case m.Mapping.Kind == stacks.KindKernel && errors.Is(m.Err, fs.ErrNotExist):
		hint = ": --vmlinux names it"
	}
	return fmt.Errorf("no code of %s in %s, which has %s: %w%s", function, where, printable.Value(m.Cum, unit), m.Err, hint)
}
