package main

import (
	"embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kprof/perfevent/spelling"
)

// topics are texts on what several commands have in common, in a Markdown of
// headings, paragraphs and indented blocks. Such a block with a command of kprof's
// is an example, which tests run.
//
//go:embed help/*.md
var topics embed.FS

// topicOrder lists the topics as the help shows them, with a line on each.
var topicOrder = []struct{ name, short string }{
	{"events", "What may follow -e"},
	{"probes", "Events at functions of the kernel and of programs"},
	{"spans", "How long things take: times between two events"},
	{"counting", "How often events happen, and what it would cost to record them"},
	{"fields", "What events carry: to see, to select by, and to add up"},
	{"formats", "What is read and what is written"},
	{"symbols", "Where names come from"},
	{"comparing", "What changed between two builds"},
	{"stores", "Profiles of many machines: sending them to a store, and asking it"},
	{"permissions", "What needs which privilege"},
	{"recipes", "Commands to paste"},
	{"licenses", "The licenses of what is linked into kprof"},
}

// topicText is the text of a topic as a terminal shows it.
func topicText(name string) (string, error) {
	b, err := topics.ReadFile("help/" + name + ".md")
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(b), "# "), "`", ""), nil
}

// newHelp is the command for all help: of commands, and of topics.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Explain a command or a topic",
		Long: `Help explains a command, or one of these topics:
` + topicList(),
		Example: `  kprof help record
  kprof help events`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return helpNames(root, true), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				if text, err := topicText(args[0]); err == nil {
					_, err := io.WriteString(os.Stdout, text)
					return err
				}
			}
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				names := helpNames(root, false)
				word := strings.Join(args, " ")
				if near := spelling.Closest(word, names); len(near) > 0 {
					return usagef("there is no help on %q%s", word, spelling.Question(near))
				}
				return usagef("there is no help on %q; there is on %s", word, strings.Join(names, ", "))
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

func topicList() string {
	var b strings.Builder
	for _, t := range topicOrder {
		fmt.Fprintf(&b, "\n    %-12s %s", t.name, t.short)
	}
	return b.String()
}

// helpNames are the commands and topics, for a shell with what each is about.
func helpNames(root *cobra.Command, about bool) []string {
	var names []string
	add := func(name, short string) {
		if about {
			name += "\t" + short
		}
		names = append(names, name)
	}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			add(c.Name(), c.Short)
		}
	}
	for _, t := range topicOrder {
		add(t.name, t.short)
	}
	return names
}
