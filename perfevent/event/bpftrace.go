package event

import (
	"fmt"
	"strings"
)

// ofBPFTrace are kinds of probes of bpftrace (docs/language.adoc, "Probes") that are called
// otherwise here, or that have an event of another form.
var ofBPFTrace = map[string]func(rest string) string{
	"tracepoint": func(rest string) string { return rest },
	"k":          func(rest string) string { return "kprobe:" + rest },
	"kr":         func(rest string) string { return "kretprobe:" + rest },
	"fentry":     func(rest string) string { return "kprobe:" + rest },
	"fexit":      func(rest string) string { return "kretprobe:" + rest },
	"u":          func(rest string) string { return "uprobe:" + rest },
	"ur":         func(rest string) string { return "uretprobe:" + rest },
	"U":          func(rest string) string { return "usdt:" + rest },
	"software":   every,
	"profile": func(rest string) string {
		unit, count, _ := strings.Cut(rest, ":")
		ns := map[string]string{"s": "000000000", "ms": "000000", "us": "000"}
		switch zeros, timed := ns[unit]; {
		case timed:
			return "cpu-clock/period=" + count + zeros + "/"
		case unit == "hz":
			return "cpu-clock/freq=" + count + "/"
		}
		return ""
	},
}

func init() {
	for short, long := range map[string]string{"t": "tracepoint", "f": "fentry", "fr": "fexit", "kfunc": "fentry", "kretfunc": "fexit", "s": "software", "h": "software", "hardware": "software"} {
		ofBPFTrace[short] = ofBPFTrace[long]
	}
}

// every is NAME:COUNT, an event each time that so much has happened.
func every(rest string) string {
	name, count, counted := strings.Cut(rest, ":")
	if !counted {
		return name
	}
	return fmt.Sprintf("%s/period=%s/", name, count)
}

// calledHere is what would be an event here that bpftrace calls text; "" for what it would not.
func calledHere(text string) string {
	kind, rest, _ := strings.Cut(text, ":")
	if form := ofBPFTrace[kind]; form != nil && rest != "" {
		if s := (Spec{Text: form(rest)}); s.Text != "" && s.parse() == nil {
			return s.Text
		}
	}
	return ""
}
