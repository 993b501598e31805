// Kprof records kernel and user stacks, turns recordings into flame graphs, pprof
// profiles, folded stacks and tables, and compares them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	beCommand() // first of all
	if os.Getenv("GOGC") == "" {
		// Half the garbage of Go's default, for some three percent of the time.
		debug.SetGCPercent(50)
	}
	ballast := make([]byte, ballastSize)
	code := run(os.Args[1:])
	runtime.KeepAlive(ballast)
	os.Exit(code)
}

// ballastSize is of memory that is never touched, and so takes none. For the collector it
// counts: it lets the first 16 MB of garbage lie, instead of the first two, and a short
// recording is collected some five times, instead of some twenty.
const ballastSize = 32 << 20

// Exit codes, besides those of a recorded command.
const (
	exitFailed = 1
	exitUsage  = 2
	exitUnread = 128 + 13 // as of who dies of SIGPIPE
)

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError passes on the exit code of a recorded command. It is not reported.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// readerGone reports whether who reads standard output has seen enough, as head does.
func readerGone(err error) bool {
	var at *os.PathError
	return errors.As(err, &at) && at.Path == os.Stdout.Name() && errors.Is(at, syscall.EPIPE)
}

// run executes a command line and returns the exit code.
func run(args []string) int {
	root := newRoot()
	defer func() { voice.quiet, voice.verbose = false, false }()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(context.Background())
	var exit exitError
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage), isCobraUsage(err):
		messagef("%v", err)
		showCaret(err)
		fmt.Fprintln(os.Stderr, "Try 'kprof --help'.")
		return exitUsage
	case readerGone(err) && cmd.Name() != "record": // what is recorded is lost
		return exitUnread
	}
	messagef("%v%s", err, remedy(err))
	showCaret(err)
	showPlace(err)
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "kprof",
		Short: "Record kernel and user stacks; convert them to pprof and folded stacks",
		Long: `Kprof records kernel and user stacks through perf_event_open(2), names every
frame, and writes flame graphs, pprof profiles, folded stacks, and perf.data files
that perf reads too. It compares recordings, such as those of two kernel builds,
and says what is more than noise.

Topics of kprof help:
` + topicList(),
		Example: `  kprof record -a -d 3s -o cpu.svg      # the whole machine, three seconds
  kprof record -d 3s                    # the same, to perf.data
  kprof convert perf.data -o cpu.pb.gz`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       build(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noSuchCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "the version, what it was built from, and for what machine")
	voiceFlags(root)
	root.SetHelpCommand(newHelp(root))
	root.SetFlagErrorFunc(unknownFlag)
	root.SetUsageFunc(func(c *cobra.Command) error { return writeUsage(c.OutOrStderr(), c) })
	for _, g := range commandGroups {
		root.AddGroup(&g)
	}
	addCommands(root, "record", newRecord(), newStat(), newTrace(), newTop())
	addCommands(root, "look", newConvert(), newReport(), newScript(), newAnnotate(), newView(), newBoot())
	addCommands(root, "compare", newDiff(), newHistory(), newBench())
	addCommands(root, "fleet", newMerge(), newPush(), newFetch())
	addCommands(root, "machine", newList(), newProbe(), newDoctor())
	root.SetHelpCommandGroupID("machine")
	root.SetCompletionCommandGroupID("machine")
	completeFlags(root)
	return root
}

// isCobraUsage tells the errors that cobra makes of arguments, which have no type.
func isCobraUsage(err error) bool {
	for _, p := range []string{"unknown command", "accepts ", "requires ", "required flag"} {
		if strings.HasPrefix(err.Error(), p) {
			return true
		}
	}
	return false
}
