package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kprof/perfevent/spelling"
)

// elsewhere are commands of other tools, and what people call a thing, with what
// does it here.
var elsewhere = map[string]string{
	"flamegraph":   "convert INPUT -o flame.svg",
	"flame":        "convert INPUT -o flame.svg",
	"svg":          "convert INPUT -o flame.svg",
	"folded":       "convert INPUT -f folded",
	"collapse":     "convert INPUT -f folded",
	"pprof":        "convert INPUT -o profile.pb.gz",
	"web":          "view INPUT",
	"http":         "view INPUT",
	"open":         "view INPUT",
	"show":         "report INPUT",
	"compare":      "diff BASE NEW",
	"events":       "list",
	"capture":      "record",
	"rec":          "record",
	"check":        "doctor",
	"version":      "--version",
	"buildid-list": "report --header INPUT",
	"archive":      "record -o FILE, which keeps all names in FILE",
}

// unknownFlag adds to an error about a flag which one was meant, or what it wants.
func unknownFlag(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var wants wrongValue
	if errors.As(err, &value) && errors.As(err, &wants) {
		name := "--" + value.GetFlag().Name
		if short := value.GetFlag().Shorthand; short != "" {
			name = "-" + short
		}
		return usagef("%s %q: %w", name, value.GetValue(), wants)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return usageError{err}
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near := spelling.Closest(unknown.GetSpecifiedName(), names)
	for i := range near {
		near[i] = "--" + near[i]
	}
	return usagef("unknown flag --%s%s", unknown.GetSpecifiedName(), spelling.Question(near))
}

// noSuchCommand is for what stands where a command should.
func noSuchCommand(root *cobra.Command, word string) error {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if use, ok := elsewhere[word]; ok {
		return usagef("there is no command %q; try kprof %s", word, use)
	}
	if near := spelling.Closest(word, names); len(near) > 0 {
		return usagef("there is no command %q%s", word, spelling.Question(near))
	}
	if st, err := os.Stat(word); err == nil && st.Mode().IsRegular() {
		return usagef("%q is a file, and a command comes first: kprof report %[1]s, kprof view %[1]s", word)
	}
	return usagef("there is no command %q; there are %s", word, strings.Join(names, ", "))
}
