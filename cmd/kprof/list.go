package main

import "github.com/spf13/cobra"

func newList() *cobra.Command {
	return &cobra.Command{Use: "list [GLOB]", Short: "List the events of this machine"}
}
