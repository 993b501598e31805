package event

import (
	"strings"

	"kprof/perfevent/spelling"
)

// MeantHere asks whether what text is called here was meant, as "; did you mean X?", where
// bpftrace has text for an event, or for a glob of some: "" for what it has not.
func MeantHere(text string) string {
	if here := calledHere(text); here != "" {
		return spelling.Question([]string{here})
	}
	return ""
}

// calledHere is what would be an event here that bpftrace (docs/language.adoc, "Probes") calls
// text; "" for what it would not.
func calledHere(text string) string {
	kind, rest, _ := strings.Cut(text, ":")
	s := Spec{}
	switch kind {
	case "tracepoint", "t":
		s.Text = rest
	case "k", "fentry", "f", "kfunc":
		s.Text = "kprobe:" + rest
	case "kr", "fexit", "fr", "kretfunc":
		s.Text = "kretprobe:" + rest
	case "u":
		s.Text = "uprobe:" + rest
	case "ur":
		s.Text = "uretprobe:" + rest
	case "U":
		s.Text = "usdt:" + rest
	case "software", "s", "hardware", "h":
		name, count, counted := strings.Cut(rest, ":")
		if s.Text = name; counted {
			s.Text += "/period=" + count + "/"
		}
	case "profile":
		unit, count, _ := strings.Cut(rest, ":")
		ns := map[string]string{"s": "000000000", "ms": "000000", "us": "000"}
		if zeros, timed := ns[unit]; timed {
			s.Text = "cpu-clock/period=" + count + zeros + "/"
		} else if unit == "hz" {
			s.Text = "cpu-clock/freq=" + count + "/"
		}
	}
	if rest == "" || s.Text == "" || s.parse() != nil {
		return ""
	}
	return s.Text
}
