package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// sameFlags are flags of perf, without their dashes, with the ones that do it here, in those
// commands that have them.
var sameFlags = map[string]string{
	"A":               "per-cpu",
	"C":               "cpu",
	"E":               "limit",
	"G":               "tree",
	"c":               "comm",
	"call-graph":      "tree",
	"column-widths":   "wide",
	"comms":           "comm",
	"entries":         "limit",
	"f":               "force",
	"for-each-cgroup": "per-cgroup",
	"g":               "tree",
	"header-only":     "header",
	"interval-print":  "interval",
	"inverted":        "reverse",
	"j":               "json",
	"json-output":     "json",
	"k":               "vmlinux",
	"max-events":      "limit",
	"max-graph-depth": "depth",
	"mmap-pages":      "mmap-size",
	"no-aggr":         "per-cpu",
	"per-thread":      "per-task",
	"percent-limit":   "min",
	"s":               "by",
	"timeout":         "duration",
	"w":               "wide",
}

// perfFlag are flags of perf that a command does not have.
type perfFlag struct {
	commands string // with blanks between them
	flags    string // without their dashes, with blanks between them
	instead  string // what does it here
}

var perfFlags = []perfFlag{
	{"record", "B no-buildid buildid-all buildid-mmap R raw-samples P period sample-cpu sample-identifier " +
		"timestamp-boundary running-time no-bpf-event debuginfod", "leave it out: that is recorded, where it can be"},
	{"record trace", "T timestamp time", "leave it out: times are recorded"},
	{"record top", "N no-buildid-cache aio affinity threads no-buffering mmap-flush synth num-thread-synthesize " +
		"proc-map-timeout tail-synthesize r realtime group z zero", "leave it out: it is about how perf works"},
	{"record", "compression-level", "a profile, as with -o FILE.pb.gz, is small"},
	{"record top", "b branch-any j branch-filter", "branches are recorded for the callers that they tell: --call-graph lbr"},
	{"record top trace", "u uid", "--pid takes processes, such as those that pgrep lists of a user"},
	{"record stat", "all-user", "it stands behind the event, as in -e cycles:u"},
	{"record stat", "all-kernel", "it stands behind the event, as in -e cycles:k"},
	{"record stat top trace", "G", "here it is --cgroup"},
	{"record", "overwrite S snapshot", "--flight keeps what was recorded last"},
	{"record", "n no-samples", "kprof stat counts, without samples"},
	{"record", "s stat per-thread", "kprof stat --per-task counts by thread"},
	{"record", "dry-run", "kprof doctor record says whether it would work"},
	{"record", "exclude-perf", "leave it out: the recorder leaves itself out"},
	{"record", "timestamp-filename", "the files of --switch-output and --every have the time in their names"},

	{"record", "l", "functions are named in the event, as in -e 'function:vfs_*'"}, // of trace-cmd, as the next
	{"record", "O", "leave it out: stacks are recorded without an option of the tracer"},

	{"report", "F fields", "--by says what rows are of"},
	{"report", "T threads", "--by comm,tid tells threads apart"},
	{"report top", "hierarchy", "--by comm,mapping, or --tree of kprof report"},
	{"report", "d dsos dso", "--by mapping tells files apart"},
	{"report top diff annotate", "S symbols symbol-filter parent", "--focus takes the stacks with a function"},
	{"report", "p", "--focus takes the stacks with a function"},
	{"report diff", "t field-separator", "--json is for programs"},
	{"report script annotate diff", "D dump-raw-trace", "kprof report --stats counts records by type, and kprof script lists events"},
	{"report", "tasks mmaps", "kprof report --by comm,pid and --by mapping have those with samples"},
	{"report annotate", "gtk tui", "leave it out on a terminal; kprof view shows it in the browser"},
	{"report", "mem-mode", "accesses to memory are --value weight --by mem_lvl"},
	{"report", "b branch-stack branch-history total-cycles", "branches are read for the callers that they tell alone"},
	{"report top", "ignore-callees", "--show-to shows stacks up to a function"},
	{"report script", "no-inline", "leave it out: only --inline shows inlined functions"},

	{"script", "header header-only", "kprof report --header shows it"},
	{"script", "G hide-call-graph", "leave it out: only --stacks shows stacks"},
	{"script", "s script g gen-script", "-f json and -f csv are for programs"},
	{"script", "a all-cpus", "leave it out: all CPUs are shown"},
	{"script", "S symbols", "kprof report --focus takes the stacks with a function"},

	{"stat", "B big-num", "leave it out: thousands are set apart, but for --json and -x"},
	{"stat", "M metrics topdown", "-e says what is counted, and the ratios that two counts make are printed"},
	{"stat", "detailed", "-e says what is counted, as in -e LLC-loads,LLC-load-misses"},
	{"stat", "per-core per-socket per-die per-node", "--per-cpu tells CPUs apart"},
	{"stat", "interval-count", "-d ends it after a time"},
	{"stat", "n null", "-e task-clock counts least"},

	{"top", "K hide_kernel_symbols", "it stands behind the event, as in -e cycles:u"},
	{"top", "U hide_user_symbols", "it stands behind the event, as in -e cycles:k"},
	{"top", "delay", "here it is --every"},

	{"trace", "syscalls", "--span syscalls lists system calls, and how long each took; so it does without -e"},
	{"trace", "s summary S with-summary errno-summary", "kprof record -e span:syscalls, and then kprof report --by syscall, add system calls up"},
	{"trace", "failure", "--where 'ret < 0' takes the system calls that failed"},
	{"trace", "pf", "-e page-faults lists page faults"},
	{"trace", "expr", "here it is --event"},
	{"trace", "call-graph kernel-syscall-graph", "here it is --stacks"},
	{"trace", "input", "kprof script lists the events of a recording"},

	{"annotate", "s symbol", "the function is named without a flag before it"},
	{"annotate", "stdio stdio2", "leave it out: it prints text"},
	{"annotate", "l print-line", "--source shows the text of source lines"},

	{"diff", "c compute order s sort", "rows are of functions, those that changed most first; --per says by what"},

	{"probe", "a add x exec", "kprof probe add makes a probe, 'p:NAME PATH:SYMBOL' one of a program"},
	{"probe", "d del", "kprof probe del removes probes"},
	{"probe", "l list", "kprof probe list lists them"},
	{"probe", "F funcs", "kprof list 'kprobe:*' and 'uprobe:PATH:*' list functions"},
	{"probe", "V vars", "arguments are named behind the function, as in 'kprobe:FUNCTION ARGUMENT'"},
	{"probe", "L line", "kprof annotate --source shows lines of a function that was recorded"},

	{"list", "e events t", "events are named without a flag, with globs, as in kprof list 'sched:*'"},
	{"list", "f", "kprof list 'kprobe:*' lists functions"},
	{"list", "p", "-e function:FUNCTION and graph:FUNCTION of kprof record are the tracers"},
}

// insteadOf is what to say of a flag that a command does not have, as it is written without its
// dashes, and perf has: "" for nothing.
func insteadOf(c *cobra.Command, flag string) string {
	for _, f := range perfFlags {
		if slices.Contains(strings.Fields(f.commands), c.Name()) && slices.Contains(strings.Fields(f.flags), flag) {
			return "; " + f.instead
		}
	}
	if (flag == "i" || flag == "input") && strings.Contains(c.Use, "INPUT") {
		return "; inputs are named without a flag before them"
	}
	if flag == "children" || flag == "no-children" {
		return "; self is without what functions call, and cum with it"
	}
	if same := sameFlags[flag]; same != "" && c.Flags().Lookup(same) != nil {
		return "; here it is --" + same
	}
	return ""
}
