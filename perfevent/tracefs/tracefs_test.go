package tracefs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake writes files below a new directory and returns it.
func fake(t *testing.T, files map[string]string) *FS {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return At(dir)
}

func TestEvents(t *testing.T) {
	fs := fake(t, map[string]string{
		"events/header_page":               "",
		"events/sched/enable":              "0\n",
		"events/sched/sched_switch/id":     "372\n",
		"events/sched/sched_wakeup/id":     "373\n",
		"events/sched/sched_wakeup_new/id": "374\n",
		"events/irq/softirq_entry/id":      "x\n",
		"events/ftrace/raw/format":         "no id",
	})
	for _, tt := range []struct {
		system, name string
		want         []string
	}{
		{"sched", "sched_switch", []string{"sched:sched_switch"}},
		{"sched", "sched_w*", []string{"sched:sched_wakeup", "sched:sched_wakeup_new"}},
		{"*", "s*_[!e]*", []string{"sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new"}},
	} {
		found, err := fs.Events(tt.system, tt.name)
		if err != nil {
			t.Errorf("%s:%s: %v", tt.system, tt.name, err)
		}
		var got []string
		for _, e := range found {
			got = append(got, e.String())
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s:%s: -want +got\n%s", tt.system, tt.name, d)
		}
	}
	for glob, want := range map[string]string{
		"sched:wakeup":    "; did you mean sched:sched_wakeup or sched:sched_wakeup_new?",
		"irq:enable":      "no tracepoint irq:enable",
		"sched:enable":    "no tracepoint", // a file, not an event
		"ftrace:raw":      "no tracepoint", // no id
		"..:sched_switch": "no tracepoint",
		"ftrace:*":        "no tracepoint",
	} {
		system, name, _ := strings.Cut(glob, ":")
		_, err := fs.Events(system, name)
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q in it", glob, err, want)
		}
	}
	if _, err := fs.Events("sched", "["); err == nil {
		t.Error("a glob that does not end: no error")
	}
	if id, err := fs.ID(Event{"sched", "sched_switch"}); id != 372 || err != nil {
		t.Errorf("id %d, %v", id, err)
	}
	if _, err := fs.ID(Event{"irq", "softirq_entry"}); err == nil {
		t.Error("an id that is no number: no error")
	}
}

func TestParseFilterError(t *testing.T) {
	e := Event{"sched", "sched_switch"}
	for _, tt := range []struct {
		filter, said, want, caret string
	}{
		{"nofield == 1", "nofield == 1\n        ^\nparse_error: Field not found\n",
			`filter "nofield == 1" on sched:sched_switch: Field not found at byte 8`,
			"nofield == 1\n        ^"},
		{"(a == 1", "(a == 1\n^\nparse_error: Too many '('\n",
			`filter "(a == 1" on sched:sched_switch: Too many '(' at byte 0`,
			"(a == 1\n^"},
		{"x", "none\n", `filter "x" on sched:sched_switch: the kernel does not take it`, "x\n^"},
	} {
		err := parseFilterError(e, tt.filter, tt.said)
		if err.Error() != tt.want || err.Caret() != tt.caret {
			t.Errorf("%v\n%s\nwant %s\n%s", err, err.Caret(), tt.want, tt.caret)
		}
	}
}

func TestUnescape(t *testing.T) {
	if got := unescape(`/a\040b\134c`); got != `/a b\c` {
		t.Error(got)
	}
}

func TestTracing(t *testing.T) {
	for text, want := range map[string]bool{"0\n": false, "1\n": true} {
		if on, err := fake(t, map[string]string{"tracing_on": text}).Tracing(); on != want || err != nil {
			t.Errorf("%q: %v %v", text, on, err)
		}
	}
	if _, err := fake(t, nil).Tracing(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
}
