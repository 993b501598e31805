package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Headings below which the help of a command shows flags, where it has many. Those without
// one come first.
const (
	headingRecorded = "What is recorded"
	headingChains   = "Callers"
	headingProbes   = "Probes and tracers"
	headingWhen     = "When"
	headingResult   = "Result"
	headingFiles    = "Many files"
	headingSend     = "Sending"
	headingStore    = "The store"
	headingSides    = "The two sides"
	headingSamples  = "Which samples"
	headingStacks   = "What stacks show"
	headingValues   = "What is added up"
	headingNames    = "Names of functions"
	headingSVG      = "Flame graphs"
)

// headings is the order in which help has them.
var headings = []string{
	"", headingSides, headingRecorded, headingChains, headingProbes, headingWhen, headingResult, headingFiles, headingSamples,
	headingValues, headingStacks, headingNames, headingSVG, headingSend, headingStore,
}

// headed is the annotation of a flag with its heading.
const headed = "heading"

// under has the flags that are defined between its call and that of what it returns shown
// below a heading, but for those that have one already.
func under(fl *pflag.FlagSet, heading string) (end func()) {
	before := map[string]bool{}
	fl.VisitAll(func(f *pflag.Flag) { before[f.Name] = true })
	return func() {
		fl.VisitAll(func(f *pflag.Flag) {
			if !before[f.Name] && f.Annotations[headed] == nil {
				_ = fl.SetAnnotation(f.Name, headed, []string{heading}) // it exists
			}
		})
	}
}

// Groups of commands in kprof's help.
var commandGroups = []cobra.Group{
	{ID: "record", Title: "Record:"},
	{ID: "look", Title: "Look and convert:"},
	{ID: "compare", Title: "Compare:"},
	{ID: "fleet", Title: "Many machines:"},
	{ID: "machine", Title: "This machine, and help:"},
}

// narrowest and widest are bounds of the lines of help, and usualWidth that of lines that no
// terminal shows.
const narrowest, usualWidth, widest = 60, 100, 120

// writeUsage writes how a command is used: its flags below their headings, in lines that are
// as wide as the terminal.
func writeUsage(w io.Writer, c *cobra.Command) error {
	width := usualWidth
	if n := terminalWidth(os.Stdout); n > 0 {
		width = min(max(n, narrowest), widest)
	}
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		b.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	if c.HasExample() {
		b.WriteString("\n\nExamples:\n" + c.Example)
	}
	writeCommands(&b, c)
	local := map[string]*pflag.FlagSet{}
	everywhere := pflag.NewFlagSet("", pflag.ContinueOnError)
	everywhere.AddFlagSet(c.InheritedFlags())
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if c.HasParent() && f.Name == "help" {
			everywhere.AddFlag(f)
			return
		}
		heading := ""
		if h := f.Annotations[headed]; len(h) > 0 {
			heading = h[0]
		}
		if local[heading] == nil {
			local[heading] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		local[heading].AddFlag(f)
	})
	if len(local) == 1 {
		for _, fl := range local {
			local = map[string]*pflag.FlagSet{"": fl} // nothing to tell apart
		}
	}
	for _, heading := range headings {
		if fl := local[heading]; fl != nil && fl.HasAvailableFlags() {
			title := heading
			if title == "" {
				title = "Flags"
			}
			fmt.Fprintf(&b, "\n\n%s:\n%s", title, strings.TrimRight(fl.FlagUsagesWrapped(width), "\n"))
		}
	}
	if everywhere.HasAvailableFlags() {
		b.WriteString("\n\nOf all commands:\n" + strings.TrimRight(everywhere.FlagUsagesWrapped(width), "\n"))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// writeCommands lists the commands below one, group by group where there are groups.
func writeCommands(b *strings.Builder, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	write := func(title, group string) {
		fmt.Fprintf(b, "\n\n%s", title)
		for _, sub := range c.Commands() {
			if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(b, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, g := range c.Groups() {
		write(g.Title, g.ID)
	}
	if slices.ContainsFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.GroupID == "" && sub.IsAvailableCommand() }) {
		write("Available Commands:", "")
	}
}
