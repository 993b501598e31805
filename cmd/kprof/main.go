// Kprof records kernel and user stacks, turns recordings into flame graphs, pprof
// profiles, folded stacks and tables, and compares them.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	beCommand() // first of all
	if os.Getenv("GOGC") == "" {
		collectLater()
	}
	os.Exit(run(os.Args[1:]))
}

// collectLater lets the first garbage lie: nothing is collected before all takes firstGarbage
// bytes, which most commands never do. From then on it is collected when there is half as
// much as what is in use, half of Go's default for some three percent of the time; and for the
// collector what is in use has ballastSize bytes more, which are never touched and so take no
// memory, so that little that is in use is not collected all the time.
func collectLater() {
	limit := debug.SetMemoryLimit(-1) // that of GOMEMLIMIT
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(min(limit, firstGarbage))
	// It runs after the first collection, which finds that nobody has this object any more.
	runtime.AddCleanup(new(*byte), func(limit int64) {
		debug.SetMemoryLimit(limit)
		ballast.Store(new([ballastSize]byte))
		debug.SetGCPercent(50)
	}, limit)
}

const (
	firstGarbage = 24 << 20
	ballastSize  = 32 << 20
)

var ballast atomic.Pointer[[ballastSize]byte]

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

// helpOutput is standard output for cobra, which does not return that help could not be written.
type helpOutput struct{ err error }

func (w *helpOutput) Write(b []byte) (int, error) {
	if w.err == nil {
		_, w.err = os.Stdout.Write(b)
	}
	return len(b), nil
}

// run executes a command line and returns the exit code.
func run(args []string) int {
	root := newRoot(args...)
	defer func() { voice.quiet, voice.verbose = false, false }()
	root.SetArgs(args)
	var help helpOutput
	root.SetOut(&help)
	cmd, err := root.ExecuteContextC(context.Background())
	err = cmp.Or(err, help.err)
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
		fmt.Fprintf(os.Stderr, "Try '%s --help'.\n", helpful(cmd).CommandPath())
		return exitUsage
	case readerGone(err) && cmd.Name() != "record": // what is recorded is lost
		return exitUnread
	}
	messagef("%v%s%s", err, remedy(err), otherTool(err))
	showCaret(err)
	showPlace(err)
	return exitFailed
}

// helpful is the command whose help says how one is used: help itself has none but that of kprof.
func helpful(c *cobra.Command) *cobra.Command {
	if c.Name() == "help" {
		return c.Root()
	}
	return c
}

// subcommand is a command of kprof, in a group of the help.
type subcommand struct {
	group, name string
	make        func() *cobra.Command
}

// subcommands are all of them, in the order of the help.
var subcommands = []subcommand{
	{"record", "record", newRecord},
	{"record", "stat", newStat},
	{"record", "trace", newTrace},
	{"record", "top", newTop},
	{"look", "convert", newConvert},
	{"look", "report", newReport},
	{"look", "script", newScript},
	{"look", "annotate", newAnnotate},
	{"look", "view", newView},
	{"look", "boot", newBoot},
	{"compare", "diff", newDiff},
	{"compare", "history", newHistory},
	{"compare", "bench", newBench},
	{"fleet", "merge", newMerge},
	{"fleet", "push", newPush},
	{"fleet", "fetch", newFetch},
	{"machine", "list", newList},
	{"machine", "probe", newProbe},
	{"machine", "doctor", newDoctor},
}

// noCommand reports whether what stands in the place of a command is none.
func noCommand(word string) bool {
	return word != "" && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, cobra.ShellCompRequestCmd) &&
		word != "help" && word != "completion" &&
		!slices.ContainsFunc(subcommands, func(c subcommand) bool { return c.name == word })
}

// newRoot makes the command of all. To make every other takes a fifth of the time in which
// kprof starts: where args begin with one's name it is the only one, and what completes
// flags is there only where a shell asks for it, or where there are no args.
func newRoot(args ...string) *cobra.Command {
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
	if len(args) > 1 && noCommand(args[0]) {
		root.DisableFlagParsing = true // of the flags behind it nothing is known, nor worth saying
	}
	alone := ""
	if len(args) > 0 && slices.ContainsFunc(subcommands, func(c subcommand) bool { return c.name == args[0] }) {
		alone = args[0]
	}
	for _, c := range subcommands {
		if alone == "" || c.name == alone {
			made := c.make()
			made.GroupID = c.group
			root.AddCommand(made)
		}
	}
	root.SetHelpCommandGroupID("machine")
	root.SetCompletionCommandGroupID("machine")
	if len(args) == 0 || strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeFlags(root)
	}
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		plainUsages(root)
	}
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
