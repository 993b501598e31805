package main

import (
	"errors"
	"fmt"
	"strings"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/convert/transform"
	"kprof/perfevent/spanrule"
	"kprof/perfevent/spelling"
	"kprof/symbolize"
)

// helps are what is said behind warnings: what to do, most often with a flag.
var helps = map[convert.WarningKind]string{
	convert.TruncatedStacks: "; --call-graph dwarf,SIZE copies more",
	convert.CutStacks:       ". For more, raise kernel.perf_event_max_stack (sysctl), and --max-stack where it is given",
	convert.UnseenReturns:   "; of single processes, kprof record -e off-cpu records it",
	convert.DroppedCopies:   ". A lower frequency (-F) or smaller copies (--call-graph dwarf,SIZE) take less time",
	convert.MergedStacks:    " (--max-memory)",
	convert.MergedTasks:     " (--max-memory)",
	convert.DroppedTimes:    " (--max-memory)",
	convert.TracedBranches:  ". For stacks over time print samples of the trace: 'perf script --itrace=i10usg'",
	convert.KernelNotMapped: ": name that kernel's frames with its --kallsyms",
}

// nameHelps are what is said where names are missing for a reason.
var nameHelps = map[convert.MissingReason]string{
	convert.ReasonForeignKernel: ": use --vmlinux or --kallsyms",
	convert.ReasonRuntimeCode:   ": they do with node --perf-basic-prof, java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit, python3.12 -X perf and the like (kprof help symbols)",
	convert.ReasonGuestKernel:   ": use --guest-kallsyms FILE, a copy of its /proc/kallsyms",
	convert.ReasonForeignFile:   ", whose files --symfs brings",
	convert.ReasonNotInRoot:     " (--symfs)",
}

// unplacedHelps are the same where the recording does not say of which machine it is, as one
// that was not closed: it may be this one.
var unplacedHelps = map[convert.MissingReason]string{
	convert.ReasonForeignKernel: ": use --vmlinux or --kallsyms, --kallsyms /proc/kallsyms if it was this one",
	convert.ReasonForeignFile:   nameHelps[convert.ReasonForeignFile],
	convert.ReasonError:         ": use --symfs / if it was this one",
}

// wording puts a warning of a conversion into words, with the flags that help.
func wording(w *convert.Warning) string {
	text := w.String()
	switch w.Kind {
	case convert.HardwareTrace:
		return text + traceRemedy(w.Trace)
	case convert.StackCopiesUnsupported:
		return strings.Replace(text, "copies of stacks are", "copies of stacks (--call-graph dwarf) are", 1)
	case convert.MergedEvents:
		return text + fmt.Sprintf("; --event %s shows one of them", w.Events[0].Name)
	case convert.MissingNames:
		if errors.Is(w.Err, symbolize.ErrUnplaced) {
			return text + unplacedHelps[w.Reason]
		}
		return text + nameHelps[w.Reason]
	}
	return text + helps[w.Kind]
}

// traceRemedy says how to see a hardware trace.
func traceRemedy(t replay.HardwareTrace) string {
	perf := "perf"
	if t.Kind == "CoreSight" {
		perf = "a perf with OpenCSD"
	}
	return fmt.Sprintf(". To see it, let %s make samples of it: 'perf inject --itrace -i perf.data -o samples.data'; "+
		"samples.data then has it as events like instructions and branches", perf)
}

// say tells the warnings of a conversion. What the recording itself lacks is always
// said, in one line; of the files without names the first is.
func say(warnings []convert.Warning) {
	var losses []string
	flush := func() {
		if len(losses) > 0 {
			messagef("%s", strings.Join(losses, "; "))
			losses = nil
		}
	}
	for i := 0; i < len(warnings); i++ {
		w := &warnings[i]
		switch {
		case w.Kind == convert.TruncatedRecording:
			flush()
			messagef("%s", wording(w))
		case w.Kind.IsLoss():
			losses = append(losses, wording(w))
		case w.Kind.IsMissing():
			n := 1
			for i+n < len(warnings) && warnings[i+n].Kind == w.Kind {
				n++
			}
			sayMissing(warnings[i : i+n])
			i += n - 1
		case w.Kind == convert.UnprintedEvent && !voice.verbose:
			n := 0
			for i+n+1 < len(warnings) && warnings[i+n+1].Kind == w.Kind {
				n++
			}
			line := wording(w)
			if i += n; n > 0 {
				line += fmt.Sprintf("; and of %d more events (-v lists them)", n)
			}
			notef("%s", line)
		default:
			notef("%s", wording(w))
		}
	}
	flush()
}

// sayMissing tells which files lack names, or lines or inlined functions, most samples first.
func sayMissing(missing []convert.Warning) {
	shown := 0
	for shown < len(missing) && missing[shown].Shown() {
		shown++
	}
	for i := range missing[:shown] {
		line := wording(&missing[i])
		switch {
		case voice.verbose || shown == 1:
			notef("%s", line)
		case i == 0:
			notef("%s; and in %d more (-v lists them)", line, shown-1)
		}
	}
}

// worded puts errors of a conversion into words that name flags, and commands.
func worded(err error) error {
	var unreadable *convert.UnreadableError
	var times *convert.TimeError
	var noEvents *replay.NoSpanEventsError
	var vmlinux *symbolize.VmlinuxError
	var symbols *symbolize.KallsymsError
	var other *symbolize.BuildIDError
	var none *transform.NoneError
	var event *convert.UnknownEventError
	var empty *convert.EmptyError
	err = exprError(err)
	switch {
	case errors.As(err, &none):
		text := fmt.Sprintf("no stack is left of %d by --%v %s", none.Samples, none.Transform.Op, shellArg(none.Transform.Text))
		if none.Near {
			text += "; some names match without regard to case: put (?i) in front"
		}
		return errors.New(text)
	case errors.Is(err, replay.ErrNoSwitches):
		return fmt.Errorf("--off-cpu: %w: kprof record -e off-cpu records them", err)
	case errors.Is(err, replay.ErrNoSwitchFields):
		return fmt.Errorf("--off-cpu: %w", err)
	case errors.Is(err, replay.ErrNoClock):
		return fmt.Errorf("--wall-clock: %w: kprof record -e wall-clock records them", err)
	case errors.As(err, &noEvents) && meantSpan(noEvents.Rule) != "":
		return fmt.Errorf("%w%s", err, meantSpan(noEvents.Rule))
	case errors.As(err, &noEvents) && len(noEvents.Whole) > 0:
		return fmt.Errorf("%w; with their systems: %s", err, strings.Join(noEvents.Whole, ", "))
	case errors.As(err, &noEvents) && len(noEvents.Missing) > 0:
		return fmt.Errorf("%w: kprof record -e '%s' records it", err, noEvents.Rule)
	case errors.As(err, &unreadable):
		if unreadable.Kind.Unread() != "" {
			return errors.New(notRead(unreadable.Kind))
		}
	case errors.As(err, &event) && len(event.Values) > 0:
		return fmt.Errorf("%w, with values for --value: %s", err, strings.Join(event.Values, ", "))
	case errors.As(err, &empty) && empty.Unlisted > 0:
		return fmt.Errorf("%w (kprof report --list-events lists them)", err)
	case errors.As(err, &times):
		return errors.New(timeErrors[times.Reason])
	case errors.As(err, &vmlinux) && errors.As(vmlinux, &other):
		return fmt.Errorf("vmlinux: %w: use the vmlinux of the recorded kernel, or --force", other)
	case vmlinux != nil:
		return fmt.Errorf("vmlinux: %w", vmlinux) // of --vmlinux, or of one side of diff, as below
	case errors.As(err, &symbols):
		return fmt.Errorf("kernel symbols: %w", symbols)
	}
	return err
}

// timeErrors say why --time selects nothing.
var timeErrors = map[convert.TimeReason]string{
	convert.NoTimes:            "it has no times to select by: --time is for recordings",
	convert.NoSampleTimes:      "--time: its samples have no times",
	convert.PercentOfPipe:      "--time in percent needs a recording in a file: it is not known how long one from a pipe will be",
	convert.PercentOfPipedText: "--time in percent needs text in a file that is not compressed: it is not known how long other text will be",
}

// meantSpan asks whether a rule of spans, which is of the function of that name, was to be one of
// those that have names; it is empty where none is alike.
func meantSpan(rule string) string {
	word, ok := strings.CutPrefix(rule, spanrule.Prefix)
	if !ok {
		return ""
	}
	rules, _ := spanrule.Named()
	var alike []string
	for _, r := range rules {
		name := strings.TrimPrefix(r.Text, spanrule.Prefix)
		if name == word {
			return ""
		}
		if d := len(name) - len(word); -1 <= d && d <= 1 {
			alike = append(alike, name)
		}
	}
	near := spelling.Closest(word, alike)
	for i, name := range near {
		near[i] = spanrule.Prefix + name
	}
	return spelling.Question(near)
}
