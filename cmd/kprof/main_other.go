//go:build !linux || portable

package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// Elsewhere than on Linux recordings are read, and none are made.

func beCommand() {}

func remedy(error) string { return "" }

func showPlace(error) {}

// errOnlyLinux refuses a command, or flags of one.
func errOnlyLinux(what string) error {
	return fmt.Errorf("%s needs Linux; on %s kprof converts, reports, views and compares what was recorded there", what, runtime.GOOS)
}

// onlyLinux is a command that only Linux can run.
func onlyLinux(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short + " (on Linux)",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
				return cmd.Help()
			}
			return errOnlyLinux("kprof " + name)
		},
	}
}

func newRecord() *cobra.Command {
	return onlyLinux("record", "Record stacks of the machine, of processes or of a command")
}

func newTrace() *cobra.Command {
	return onlyLinux("trace", "List events or system calls as they happen, with their fields")
}

func newTop() *cobra.Command {
	return onlyLinux("top", "Show the functions that cost most, while they run")
}

func newBench() *cobra.Command {
	return onlyLinux("bench", "Record a command again and again, for kprof diff")
}

func newStat() *cobra.Command { return onlyLinux("stat", "Count events, without recording them") }

func newList() *cobra.Command { return onlyLinux("list", "List the events of this machine") }

func newProbe() *cobra.Command { return onlyLinux("probe", "List, keep and remove dynamic probes") }

func newDoctor() *cobra.Command {
	return onlyLinux("doctor", "Tell what this kernel and this user may record")
}

// Nothing of this machine can be recorded, to be completed.

func completeEvents(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func completeProbes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}
