package trace_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/therootcompany/xz"

	"kprof/convert/listing"
	"kprof/convert/listing/listingtest"
	"kprof/perfevent/livetest"
)

// TestReport compares each event of real files with what trace-cmd report says of it: task,
// CPU, time, name and fields. Where a report is not beside a file, trace-cmd makes one.
func TestReport(t *testing.T) {
	for _, name := range livetest.Traces(t, "*.dat", "*.dat.xz") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file := unpacked(t, name)
			report, err := os.ReadFile(strings.TrimSuffix(strings.TrimSuffix(name, ".xz"), ".dat") + ".report.txt")
			if err != nil {
				if _, err := exec.LookPath("trace-cmd"); err != nil {
					t.Skip("needs trace-cmd")
				}
				if report, err = exec.Command("trace-cmd", "report", "-N", "-i", file).Output(); err != nil {
					t.Fatal(err)
				}
			}
			theirs := reportLines(report)
			ours := listed(t, file)
			if len(ours) != len(theirs) || len(ours) == 0 {
				t.Fatalf("%d events, trace-cmd has %d", len(ours), len(theirs))
			}
			different := 0
			for i := range ours {
				if ours[i] != theirs[i] {
					if different++; different < 5 {
						t.Errorf("event %d:\n%+v\ntrace-cmd:\n%+v", i, ours[i], theirs[i])
					}
				}
			}
			t.Logf("%d events, %d different", len(ours), different)
		})
	}
}

// unpacked returns the name of a file that is not compressed.
func unpacked(t *testing.T, name string) string {
	if !strings.HasSuffix(name, ".xz") {
		return name
	}
	f := livetest.Open(t, os.Open, name)
	z, err := xz.NewReader(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(name), ".xz"))
	livetest.WriteFile(t, to, b)
	return to
}

// line is what a line says of an event.
type line struct{ comm, tid, cpu, time, event, text string }

var (
	reportForm = regexp.MustCompile(`^\s*(.*)-(\d+)\s+\[(\d+)\]\s+(?:[a-zA-Z.#0-9]{4,8}\s+)?(\d+\.\d+): (\S+?):\s*(.*)$`)
	listForm   = regexp.MustCompile(`^\s*(.*?)\s+(\d+) \[(\d+)\]\s+(\d+\.\d+):\s+\w+:(\w+)\S*: ?(.*)$`)
)

func reportLines(report []byte) (lines []line) {
	for s := bufio.NewScanner(bytes.NewReader(report)); s.Scan(); {
		if m := reportForm.FindStringSubmatch(s.Text()); m != nil {
			lines = append(lines, line{m[1], m[2], m[3], m[4], m[5], strings.TrimSpace(m[6])})
		}
	}
	return lines
}

// listed are the events of a file as the listing has them, with trace-cmd's names of tasks.
func listed(t *testing.T, name string) (lines []line) {
	var b bytes.Buffer
	res := listingtest.Read(t, name, listing.Options{}, listing.NewPrinter(&b, listing.PrinterOptions{}))
	for _, w := range res.Warnings {
		t.Errorf("warning: %v", &w)
	}
	for s := bufio.NewScanner(&b); s.Scan(); {
		m := listForm.FindStringSubmatch(s.Text())
		if m == nil {
			t.Fatalf("%q", s.Text())
		}
		l := line{m[1], m[2], m[3], m[4], m[5], strings.TrimSpace(m[6])}
		switch {
		case l.tid == "0":
			l.comm = "<idle>"
		case l.comm == ":"+l.tid:
			l.comm = "<...>"
		}
		lines = append(lines, l)
	}
	return lines
}
