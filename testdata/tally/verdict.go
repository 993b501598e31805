package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// verdict is the failures in few lines each, for the end of a log that may be cut off.
type verdict []string

const (
	maxShown   = 25  // failures
	maxLines   = 8   // of a failure
	maxLineLen = 300 // bytes of a line
)

// message is the first line of what a test says, or of why its process ended.
var message = regexp.MustCompile(`^\s*(\S+\.go:\d+: |panic: |fatal error: |WARNING: DATA RACE|cut off after )`)

func (v *verdict) add(word string, i id, output string) {
	*v = append(*v, fmt.Sprintf("%s %v (%s)\n%s", word, i, i.run, asserted(output)))
}

func (v verdict) print(w io.Writer) {
	if len(v) == 0 {
		return
	}
	fmt.Fprintln(w, "\nWhat failed, in short:")
	for _, failure := range v[:min(len(v), maxShown)] {
		io.WriteString(w, failure)
	}
	if n := len(v) - maxShown; n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
}

// asserted returns the last messages of a test, which say why it failed, as far as they
// fit: those before are what it logged.
func asserted(output string) string {
	var messages [][]string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- "):
		case len(messages) == 0 || message.MatchString(line):
			messages = append(messages, []string{trimmed})
		default:
			last := &messages[len(messages)-1]
			*last = append(*last, trimmed)
		}
	}
	// A panic's message comes before the goroutines, whose lines are none; a test
	// without any message says at its end what there is to say.
	shown, left := "", maxLines
	for k, lines := range slices.Backward(messages) {
		if len(lines) > left && k == len(messages)-1 {
			lines = slices.Concat(lines[:left/2], []string{"..."}, lines[len(lines)-left/2+1:])
		}
		if len(lines) > left {
			break
		}
		left -= len(lines)
		text := ""
		for _, line := range lines {
			text += "    " + line[:min(len(line), maxLineLen)] + "\n"
		}
		shown = text + shown
	}
	return shown
}

// printSlow prints the time of each package, and of its slowest tests.
func (t tally) printSlow(w io.Writer) {
	const most = 40
	var tests, packages []id
	for i := range t {
		switch {
		case i.test == "" && i.pkg != "":
			packages = append(packages, i)
		case i.test != "" && !strings.Contains(i.test, "/"):
			tests = append(tests, i)
		}
	}
	for _, list := range [][]id{packages, tests} {
		slices.SortFunc(list, func(a, b id) int {
			return cmp.Or(cmp.Compare(t[b].elapsed, t[a].elapsed), strings.Compare(a.String(), b.String()), strings.Compare(a.run, b.run))
		})
		for _, i := range list[:min(len(list), most)] {
			fmt.Fprintf(w, "%7.1fs %v (%s)\n", t[i].elapsed, i, i.run)
		}
	}
}
