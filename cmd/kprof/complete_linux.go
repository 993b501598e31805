//go:build !portable

package main

import (
	"github.com/spf13/cobra"

	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
)

// completeProbes completes the dynamic probes of this kernel.
func completeProbes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	probes, err := fs.Probes()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range probes {
		names = append(names, p.Event().String()+"\t"+p.Place)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeEvents completes events of this machine; behind kprobe: its functions.
func completeEvents(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	found, path := (&event.Resolver{MountTracefs: true}).Completions(word)
	if path {
		return nil, cobra.ShellCompDirectiveNoSpace
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(found) == 1 && found[0].Open {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	var words []string
	for _, c := range found {
		if c.Group != nil {
			c.Text += "\t" + c.Group.Kind()
		}
		words = append(words, c.Text)
	}
	return words, directive
}
