package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert/printable"
)

// voice is how much commands say on standard error, set from the flags before a
// command runs. Errors are always said, and so is what was lost.
var voice struct {
	quiet   bool // no notes, progress or summary
	verbose bool // all of them, with what is otherwise summed up
}

// voiceFlags are flags of every command.
func voiceFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.BoolVarP(&voice.quiet, "quiet", "q", false, "no notes, progress or summary; errors and what was lost are still said")
	f.BoolVarP(&voice.verbose, "verbose", "v", false, "list what notes and warnings otherwise sum up")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if voice.quiet && voice.verbose {
			return usagef("-q and -v exclude each other")
		}
		return nil
	}
}

// messagef writes one message to standard error, a line. It may name what a
// hostile recording says.
func messagef(format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	fmt.Fprintln(os.Stderr, "kprof: "+printable.Text(line))
}

// notef is messagef for what -q silences.
func notef(format string, args ...any) {
	if !voice.quiet {
		messagef(format, args...)
	}
}

// countDoes says what so many things do: "1 profile stays", "2 profiles stay".
func countDoes[N int | uint64](n N, thing, one, many string) string {
	if n == 1 {
		many = one
	}
	return printable.Count(n, thing) + " " + many
}
