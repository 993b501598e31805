package main

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/listing"
	"kprof/convert/replay"
	"kprof/perfevent/procfs"
)

// What shells complete: the words that a flag takes, each with a description behind
// a tab. Nothing is said where nothing can be found out.

type completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// plainUsages takes the quotes from what is said of flags, which mark the names of their values
// for help alone.
func plainUsages(c *cobra.Command) {
	for _, fl := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		fl.VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	}
	for _, sub := range c.Commands() {
		plainUsages(sub)
	}
}

// completeFlags registers what completes the flags that c has.
func completeFlags(c *cobra.Command) {
	reads := c.Name() != "record" && c.Name() != "stat" && c.Name() != "trace"
	for name, complete := range map[string]completion{
		"call-graph": words("auto\tby copies of stacks where programs have no frame pointers", "fp\tby frame pointers", "dwarf\tby copies of stacks", "lbr\tby the processor's branch records", "none\tno callchains"),
		"color":      words("kind\tof code: kernel, library, program", "name", "hot", "grey"),
		"sort":       words("self", "cum\tself and what it called"),
		"by":         lists(words("comm", "pid", "tid", "cpu", "mapping", "event")),
		"times-by":   lists(words("comm", "pid", "tid", "cpu")),
		"label":      lists(words("comm", "pid", "tid", "cpu")),
		"tagroot":    lists(words("comm", "pid", "tid", "cpu")),
		"tagleaf":    lists(words("comm", "pid", "tid", "cpu")),
		"value":      words(),
		"where":      words(),
		"unit":       words("bytes", "nanoseconds", "sectors", "pages", "count"),
		"per":        words(perNames(c)...),
		"protocol":   words("pyroscope", "otlp"),
		"fields":     lists(words(listing.ColumnNames()...)),
		"probe-via":  words("auto", "pmu", "tracefs"),
		"format":     words(formatNames(c)...),
		"event":      lists(completeEvents),
		"pid":        lists(completePIDs),
		"tid":        lists(completePIDs),
	} {
		if c.Flags().Lookup(name) == nil {
			continue
		}
		if reads {
			switch name {
			case "event":
				complete = lists(ofInput(func(p *profile) map[string]float64 {
					found := map[string]float64{}
					for i, e := range p.Set.Events {
						found[e.Name] = -float64(i)
					}
					return found
				}))
			case "by", "times-by", "label", "tagroot", "tagleaf":
				complete = lists(alsoFields(complete))
			case "value", "where":
				complete = alsoFields(complete)
			case "pid", "tid":
				complete = lists(ofInput(func(p *profile) map[string]float64 { return p.LabelValues(name) }))
			}
			if c.Name() == "view" && slices.Contains([]string{"event", "pid", "tid"}, name) {
				complete = ofRecording(name, complete)
			}
		}
		must(c.RegisterFlagCompletionFunc(name, complete))
	}
	if reads && c.Flags().Lookup("comm") != nil {
		must(c.RegisterFlagCompletionFunc("comm", lists(ofInput(func(p *profile) map[string]float64 { return p.LabelValues("comm") }))))
	}
	switch c.Name() {
	case "list":
		c.ValidArgsFunction = completeEvents
	case "del":
		c.ValidArgsFunction = completeProbes
	}
	for _, sub := range c.Commands() {
		completeFlags(sub)
	}
}

// must is for what can fail only when a flag is registered twice.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func words(list ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// lists completes the last word of a comma-separated list.
func lists(one completion) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		before := ""
		if i := strings.LastIndexByte(word, ','); i >= 0 && !strings.ContainsAny(word, "/ ") {
			before, word = word[:i+1], word[i+1:]
		}
		found, directive := one(cmd, args, word)
		all := make([]string, len(found))
		for i, f := range found {
			all[i] = before + f
		}
		return all, directive
	}
}

// formatNames are what -f takes.
func formatNames(c *cobra.Command) []string {
	switch c.Name() {
	case "script", "trace":
		return []string{"text\tas perf script prints it", "json\tan object a line", "csv"}
	case "diff":
		return []string{"text", "json", "markdown", "html", "folded", "svg", "pprof"}
	}
	var names []string
	if c.Name() == "record" {
		names = append(names, string(export.Data))
	}
	for _, f := range export.Formats {
		names = append(names, string(f))
	}
	return names
}

// perNames are what --per takes.
func perNames(c *cobra.Command) []string {
	names := []string{"share\tof the total", "second", "run\tof the same work each"}
	if c.Name() != "history" {
		names = append(names, "ops", "event:")
	}
	return names
}

// completePIDs completes processes that run, with their names.
func completePIDs(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	running, _ := procfs.Processes(os.DirFS("/proc"))
	var found []string
	for _, p := range running {
		if pid := strconv.Itoa(p.PID); strings.HasPrefix(pid, word) {
			found = append(found, pid+"\t"+p.Comm)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completable is the size of the largest recording that is read to complete a
// word, in bytes: it takes half a second.
const completable = 100 << 20

// ofInput completes what a recording or profile has, the heaviest first: the one
// named on the command line, or perf.data.
func ofInput(values func(*profile) map[string]float64) completion {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		name := inputArg(args[:min(len(args), 1)])
		if st, err := os.Stat(name); err != nil || st.Mode().IsRegular() && st.Size() > completable {
			return nil, directive
		}
		opts := convert.Options{Selection: convert.Selection{Labels: replay.LabelTID}}
		p, err := loadAny(context.Background(), name, opts, symbolOptions{none: true})
		if err != nil {
			return nil, directive
		}
		weights := values(p)
		var found []string
		for v := range weights {
			if strings.HasPrefix(v, word) {
				found = append(found, v)
			}
		}
		slices.SortFunc(found, func(a, b string) int {
			return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a, b))
		})
		return found, directive
	}
}

// alsoFields completes with the fields of the events of a recording, or the labels of a
// profile, besides what there is for all.
func alsoFields(fixed completion) completion {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		found, directive := fixed(c, args, word)
		return append(slices.Clone(found), fieldsOf(inputArg(args[:min(len(args), 1)]), word)...), directive
	}
}

// fieldsOf are the names that begin like word of fields of a recording, or of labels of a
// profile.
func fieldsOf(name, word string) []string {
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	var names []string
	if r, err := convert.OpenRecording(f); err == nil {
		names = r.FieldNames()
		_ = r.Close()
	} else if st.Size() <= completable {
		p, err := loadAny(context.Background(), name, convert.Options{}, symbolOptions{none: true})
		if err != nil {
			return nil
		}
		names = p.LabelKeys()
	}
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, word) })
}
