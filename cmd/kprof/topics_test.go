//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kprof/convert/store/storetest"
	"kprof/perfevent/livetest"
)

// topicBlock is an indented block of a topic, with the paragraph before it.
type topicBlock struct{ before, script string }

// topicBlocks returns the blocks of a topic that are commands.
func topicBlocks(t *testing.T, topic string) []topicBlock {
	t.Helper()
	b, err := topics.ReadFile("help/" + topic + ".md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []topicBlock
	before := ""
	for part := range strings.SplitSeq(string(b), "\n\n") {
		part = strings.Trim(part, "\n")
		if !strings.HasPrefix(part, "    ") {
			before = part
			continue
		}
		if first := strings.Fields(part)[0]; slices.Contains([]string{"kprof", "perf", "cp", "for"}, first) {
			blocks = append(blocks, topicBlock{before, strings.ReplaceAll(part, "\n    ", "\n")})
		}
	}
	return blocks
}

func (b topicBlock) needsKprobes() bool {
	return strings.Contains(b.before, "here the kernel has kprobes")
}

// pasted has a shell take it for an answer that a comparison finds two recordings of the same to
// differ, or is not decided, since on a quiet machine little is recorded, and head read on: how
// much there is to print depends on what the machine does, and kprof ends by SIGPIPE where head
// has ended (see TestReaderGone).
const pasted = `kprof() { command kprof "$@" || { code=$?; case "$1 $code" in "diff 3" | "diff 4" | "history 4") ;; *) return $code ;; esac; }; }
head() { command head "$@" && cat >/dev/null; }
`

// run pastes the block into a shell.
func (b topicBlock) run(t *testing.T, dir, store string) {
	t.Helper()
	script := asExample(strings.TrimSpace(b.script), store)
	if strings.Contains(b.before, "until Ctrl-C") {
		script = "timeout --preserve-status -s INT 3 " + strings.TrimSpace(b.script)
	}
	cmd := exec.Command("sh", "-euc", script)
	if bash, err := exec.LookPath("bash"); err == nil {
		cmd = exec.Command(bash, "-o", "pipefail", "-euc", script)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if strings.Contains(script, makesProbe) {
		release, err := livetest.LockProbeNames()
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s\n%v\n%s", script, err, out)
	}
}

// TestTopicExamples runs the examples of each topic of help in one directory, in
// their order, as somebody would who reads along.
func TestTopicExamples(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	store := storetest.New(t)
	busy(t)
	for _, topic := range topicOrder {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel() // most of the time they wait for what records
			dir, ran := t.TempDir(), 0
			for _, b := range topicBlocks(t, topic.name) {
				if !b.needsKprobes() {
					b.run(t, dir, store.URL)
					ran++
				}
			}
			if ran == 0 && topic.name != "licenses" {
				t.Error("the topic has no example")
			}
		})
	}
}

// TestKprobeTopicExamples runs those that need kprobes.
func TestKprobeTopicExamples(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequireKernel(t, livetest.PMU("kprobe"))
	ran := 0
	for _, topic := range topicOrder {
		for _, b := range topicBlocks(t, topic.name) {
			if b.needsKprobes() {
				b.run(t, t.TempDir(), "")
				ran++
			}
		}
	}
	if ran == 0 {
		t.Error("no topic has an example with kprobes")
	}
}

// TestReadmeOtherBlocks: what the README shows outside of its blocks of sh, which
// testdata/script runs, is run elsewhere: it is an example of a help text, or a target
// of the Makefile.
func TestReadmeOtherBlocks(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(root + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var run []string
	for _, topic := range topicOrder {
		for _, b := range topicBlocks(t, topic.name) {
			run = append(run, strings.Split(b.script, "\n")...)
		}
	}
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scripts {
		for line := range strings.Lines(read("cmd/kprof/" + s)) {
			if command, ok := strings.CutPrefix(line, "exec "); ok {
				run = append(run, command)
			}
		}
	}
	for line := range strings.Lines(newView().Example) {
		run = append(run, line)
	}
	blocks := strings.Split("\n"+read("README.md"), "\n```")
	for _, block := range blocks {
		if strings.HasPrefix(block, "sh\n") {
			run = append(run, strings.Split(block, "\n")...)
		}
	}
	for i := range run {
		run[i] = strings.TrimSpace(run[i])
	}
	commands := 0
	for i, block := range blocks {
		if i%2 == 0 || strings.HasPrefix(block, "sh\n") {
			continue
		}
		for line := range strings.Lines(block) {
			command, _, _ := strings.Cut(line, "    #")
			command = strings.TrimSpace(strings.TrimPrefix(command, "$ "))
			target, isTarget := strings.CutPrefix(command, "make ")
			switch {
			case !isTarget && !strings.HasPrefix(command, "kprof "):
				continue // what a command prints
			case isTarget && strings.Contains(read("Makefile"), "\n"+target+":"),
				slices.Contains(run, command):
				commands++
			default:
				t.Errorf("%q is in the README, but no test runs it", command)
			}
		}
	}
	if commands < 6 {
		t.Errorf("only %d commands", commands)
	}
}

// TestEveryCommandsExamples: the examples of each command's help are run, by a script,
// or of kprof view, which serves pages, by TestLiveViewExamples.
func TestEveryCommandsExamples(t *testing.T) {
	b, err := os.ReadFile("testdata/script/live_examples.txtar")
	if err != nil {
		t.Fatal(err)
	}
	ran := strings.Split(string(b), "\n")
	commands := 0
	var each func(*cobra.Command)
	each = func(c *cobra.Command) {
		name := strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), "kprof"))
		if c.Example != "" && name != "view" {
			commands++
			if line := strings.TrimSpace("examples " + name); !slices.Contains(ran, line) {
				t.Errorf("testdata/script/live_examples.txtar lacks %q", line)
			}
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(newRoot())
	if commands < 10 {
		t.Errorf("only %d commands have examples", commands)
	}
}
