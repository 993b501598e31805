package main

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert/compare"
	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/export"
	"kprof/perfevent/lazyregexp"
)

func newHistory() *cobra.Command {
	f := diffFlags{alpha: diff.Defaults.Alpha}
	c := &cobra.Command{
		Use:   "history BUILD BUILD BUILD…",
		Short: "Find the build from which on something is slower",
		Long: `History reads profiles of the same load on one build after the other, and finds the
builds from which on functions, or the total, cost more or less, by more than chance. A
BUILD is a file, or a directory or a pattern in quotes with several runs of it, named
in the order of the builds. It prints what changed where, and a row for each function
that did, with a column for each build. A single run that is off by itself is no change:
the last build takes two. The exit code is 4 if what was recorded is too little, or too
uneven, to say anything.`,
		Example: `  kprof history v1.data v2.data v3.data v4.data
  kprof history -o history.html v1.data v2.data v3.data
  kprof history --json before/ between/ after/     # directories of runs`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 {
				return usagef("name at least three builds, in their order")
			}
			return f.history(cmd, args)
		},
	}
	fl := c.Flags()
	f.sel.flags(c)
	f.sym.flags(c)
	fl.StringVar(&f.per, "per", "", "compare `what`: share (of the total, the default), second or run (of the same work each)")
	fl.Float64Var(&f.alpha, "alpha", diff.Defaults.Alpha, "probability that anything is reported when nothing has changed")
	fl.StringVar(&f.minEffect, "min-effect", "", "least difference to report, in `percent` of the total (default 0.25%)")
	fl.BoolVar(&f.withIdle, "with-idle", false, "compare samples of idle CPUs too")
	fl.BoolVar(&f.exact, "exact-names", false, "match functions by their names as they are")
	fl.StringVar(&f.aliases, "aliases", "", "`file` with lines of NAME => OTHER: functions to match as another")
	fl.StringVarP(&f.out, "output", "o", "", "`file` to write, - for standard output; .txt, .json or .html")
	fl.BoolVar(&f.json, "json", false, "as JSON")
	fl.VarP(rowsOf(&f.limit, 40), "limit", "n", "show `N` functions, 0 for all")
	return c
}

// profileEnding is what the names of profiles end in. That of a directory may be a version,
// like linux-6.12.
var profileEnding = lazyregexp.New(`\.(data|pb|pprof|folded|collapsed|html|json|txt)(\.(gz|zst|xz|bz2))?$`)

// buildNames are the paths of builds without what all of them have in common: of old/perf.data
// and new/perf.data old and new.
func buildNames(paths []string) []string {
	var parts [][]string
	for _, path := range paths {
		parts = append(parts, strings.Split(filepath.ToSlash(filepath.Clean(path)), "/"))
	}
	same := func(at func(parts []string) string) bool {
		return !slices.ContainsFunc(parts, func(p []string) bool { return len(p) < 2 || at(p) != at(parts[0]) })
	}
	for same(func(p []string) string { return p[0] }) {
		for i := range parts {
			parts[i] = parts[i][1:]
		}
	}
	for same(func(p []string) string { return p[len(p)-1] }) {
		for i, p := range parts {
			parts[i] = p[:len(p)-1]
		}
	}
	names := make([]string, len(parts))
	taken := map[string]string{} // by name, whose it is
	for i, p := range parts {
		whole := strings.Join(p, "/")
		name := profileEnding().ReplaceAllString(whole, "")
		if other, ok := taken[name]; ok && other != whole {
			name = whole // whose ending is what tells it apart
		}
		taken[name] = whole
		names[i] = name
	}
	return names
}

// historyOutput applies the rules of -o and --json.
func (f *diffFlags) historyOutput() (output, error) {
	out := output{name: cmp.Or(f.out, "-"), format: export.Text}
	switch {
	case f.json:
		out.format = formatJSON
	case out.name == "-" || strings.HasSuffix(out.name, ".txt"):
	case strings.HasSuffix(out.name, ".json"):
		out.format = formatJSON
	case strings.HasSuffix(out.name, ".html"):
		out.format = export.HTML
	default:
		return out, usagef("%s: the ending does not tell the format: use .txt, .json or .html, or give --json", out.name)
	}
	return out, nil
}

// history writes the history of builds.
func (f *diffFlags) history(cmd *cobra.Command, args []string) error {
	if !slices.Contains([]string{"", "share", "second", "run"}, f.per) {
		return usagef("--per %q: use share, second or run", f.per)
	}
	out, err := f.historyOutput()
	if err != nil {
		return err
	}
	o, _, err := f.options()
	if err != nil {
		return err
	}
	var files [2][]string
	var counts []int
	for i, arg := range args {
		found, err := compare.Inputs(arg)
		if err != nil {
			return err
		}
		files[min(i, 1)] = append(files[min(i, 1)], found...)
		counts = append(counts, len(found))
	}
	opts, err := f.profileOptions("")
	if err != nil {
		return err
	}
	profiles, err := f.load(cmd.Context(), files, opts)
	if err != nil {
		return err
	}
	comparison, err := f.comparison(profiles, o, "")
	if err != nil {
		return err
	}
	h, err := comparison.History(buildNames(args), counts)
	if err != nil {
		return withFlags(err)
	}
	err = out.create(func(w io.Writer) error {
		b := bufio.NewWriter(w)
		ro := diffreport.Options{Limit: f.limit}
		switch out.format {
		case formatJSON:
			err = diffreport.HistoryJSON(b, h)
		case export.HTML:
			err = diffreport.HistoryHTML(b, h, ro)
		default:
			if out.name == "-" && isTerminal(os.Stdout) {
				ro.Color = wantsColors()
			}
			err = diffreport.History(b, h, ro)
		}
		if err != nil {
			return err
		}
		return b.Flush()
	})
	if err == nil && h.Outcome == diff.Inconclusive {
		return exitError{exitUndecided}
	}
	return err
}
