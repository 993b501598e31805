//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"kprof/convert/folded"
	"kprof/convert/pprof"
	"kprof/convert/printable"
	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// evil are names that a stranger chose: what a terminal would obey, what looks like
// another line, and what is no text at all.
var evil = []string{"\x1b]0;title\x07", "\x1b[2J\x1b[31mred", "a\rb", "a\nkprof: forged", "\u009b31mred", "\x9b31m", "\u202ecod.exe", "tab\tbell\a", "del\x7f", "nul\x00nul", "\u2028line", "\x1b[1mclone.constprop.0"}

// openTerminal opens a terminal, and what is on its other side.
func openTerminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, tty
}

// onTerminal runs kprof with a terminal for its output and errors, and returns what
// came there.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	return onTerminalLike(t, []string{"TERM=xterm"}, args...)
}

// onTerminalLike is onTerminal with these variables.
func onTerminalLike(t *testing.T, env []string, args ...string) string {
	t.Helper()
	master, tty := openTerminal(t)
	defer master.Close()
	cmd := kprof(t, args...)
	cmd.Stdout, cmd.Stderr = tty, tty
	cmd.Env = append(append(os.Environ(), "HOME="+t.TempDir(), "NO_COLOR="), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	var out bytes.Buffer
	if _, err := io.Copy(&out, master); err != nil && !errors.Is(err, unix.EIO) { // EIO: nobody has it open any more
		t.Fatal(err)
	}
	_ = cmd.Wait() // some are refused
	return out.String()
}

// ownColors are what kprof itself tells a terminal.
var ownColors = regexp.MustCompile("\x1b\\[(31|32|33|90|0)?m")

// obeyed returns what a terminal would obey in text, but for colours where kprof
// has some, and ends of lines, which the terminal makes "\r\n".
func obeyed(text string, colors bool) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if colors {
		text = ownColors.ReplaceAllString(text, "")
	}
	if !utf8.ValidString(text) {
		return "invalid UTF-8"
	}
	i := strings.IndexFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r >= 0x202a && r <= 0x202e
	})
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%q", text[i:min(len(text), i+20)])
}

// evilRecording writes a recording in which everything that has a name has an evil
// one.
func evilRecording(t *testing.T) string {
	t.Helper()
	all := strings.Join(evil, " ")
	var text strings.Builder
	text.WriteString("event cpu-clock type=software config=0 period=1\n")
	for i, e := range evil {
		pid := 100 + i
		e = strings.ReplaceAll(e, "\x00", "")
		fmt.Fprintf(&text, "comm t=1 pid=%d comm=%q\nmmap t=1 pid=%[1]d addr=0x1000 len=0x1000 file=%[3]q\nsample t=2 pid=%[1]d user 0x1010\n", pid, e, "/"+e)
	}
	rec := perftext.MustParse(text.String())
	rec.Events[0].Name = strings.ReplaceAll(all, "\x00", "")
	rec.Features = perfdata.Features{
		Host: perfdata.Host{
			Hostname: all, OSRelease: all, Arch: all, CPUDesc: all, CPUID: all,
			Topology: perfdata.CPUTopology{Sockets: evil, Threads: evil},
			PMUs:     []perfdata.PMU{{Name: all, Type: 1}},
			Caches:   []perfdata.Cache{{Type: all, Size: all, CPUs: all}},
		},
		Version: all, Cmdline: evil,
	}
	b, err := rec.Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "evil.data")
	livetest.WriteFile(t, name, b)
	return name
}

// evilSet is a profile with evil names of functions, files, comms, labels and the
// event.
func evilSet() *stacks.Set {
	s := stacks.New(stacks.Event{Name: strings.Join(evil, ""), Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	for i, e := range evil {
		m := s.AddMapping(stacks.Mapping{File: "/" + e, Kind: stacks.KindUser, Start: 0x1000, Limit: 0x9000, HasFunctions: true})
		l := s.AddLocation(m, 0x1000+uint64(i), stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: e, File: e})})
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: e}})
		s.Add(0, s.Intern([]uint32{l}), labels, int64(10+i))
	}
	s.Comments = []string{"command: " + evil[0], "host: " + evil[1]}
	return s
}

// TestTerminalObeysNobody: on a terminal no command lets through what a name would
// tell it, nor lines that a name forges.
func TestTerminalObeysNobody(t *testing.T) {
	recording, profile := evilRecording(t), writeSet(t, filepath.Join(t.TempDir(), "evil.pb.gz"), evilSet())
	other := filepath.Join(t.TempDir(), evil[0]+"none")
	for _, args := range [][]string{
		{"report", "--list-events", recording},
		{"report", "--header", recording},
		{"report", "-I", recording},
		{"report", "--stats", recording},
		{"report", recording},
		{"report", profile},
		{"report", "--tree", profile},
		{"report", "--by", "comm", profile},
		{"report", "--by", "mapping", profile},
		{"report", "--by", "event", profile},
		{"report", "--event", evil[1], recording},
		{"report", "--event", evil[1], profile},
		{"script", recording},
		{"script", "-f", "json", recording},
		{"script", "-f", "csv", "--stacks", recording},
		{"script", "--comm", evil[1], recording},
		{"convert", "-f", "folded", recording},
		{"convert", "-f", "folded", profile},
		{"convert", "-f", "text", profile},
		{"convert", "-f", "svg", profile},
		{"convert", "-f", "html", profile},
		{"convert", "-f", "speedscope", profile},
		{"convert", "-f", "firefox", profile},
		{"convert", "-f", "chrome", recording},
		{"convert", "-f", "folded", "-o", "/dev/stdout", profile},
		{"convert", "-f", "pprof", profile},
		{"convert", profile, "-o", other + "/x.svg"},
		{"diff", "--force", profile, profile},
		{"diff", "--force", "-f", "markdown", profile, recording},
		{"diff", "--force", "-f", "folded", profile, profile},
		{"diff", "--force", "-f", "json", profile, profile},
		{"diff", "--force", "--explain-names", profile, profile},
		{"report", other},
		{"report", "--" + evil[0]},
		{evil[0]},
		{"list", evil[1]},
		{"record", "--filter", evil[1], "-e", "sched:sched_switch", "true"},
		{"record", "-e", evil[1], "true"},
		{"record", "-o", other, "-f", "data", filepath.Dir(other) + "/" + evil[1]},
	} {
		out := onTerminal(t, args...)
		if out == "" {
			t.Errorf("%q writes nothing", args)
		}
		if o := obeyed(out, args[0] == "report" || args[0] == "diff"); o != "" {
			t.Errorf("%q: a terminal obeys %s", args, o)
		}
		if args[0] != "convert" && strings.Contains(out, "\nkprof: forged") {
			t.Errorf("%q: a line is forged:\n%s", args, out)
		}
	}
}

// TestEvilNamesInFiles: files that other programs read are well-formed whatever the
// names, and kprof reads what it wrote.
func TestEvilNamesInFiles(t *testing.T) {
	set := evilSet()
	dir := t.TempDir()
	profile := writeSet(t, filepath.Join(dir, "evil.pb.gz"), set)
	read := func(f string) []byte {
		t.Helper()
		out := filepath.Join(dir, "out."+f)
		if b, err := kprof(t, "convert", profile, "-f", f, "-o", out).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", f, err, b)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for d := xml.NewDecoder(bytes.NewReader(read("svg"))); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("svg: %v", err)
		}
	}
	for _, f := range []string{"speedscope", "firefox", "chrome"} {
		if b := read(f); !json.Valid(b) || !utf8.Valid(b) {
			t.Errorf("%s is not JSON", f)
		}
	}
	again, err := pprof.Read(bytes.NewReader(read("pprof")))
	if err != nil {
		t.Fatal(err)
	}
	// Files of pprof are UTF-8, whatever names are.
	want := slices.Sorted(strings.Lines(strings.ToValidUTF8(foldedOf(t, set), "\uFFFD")))
	if got := slices.Sorted(strings.Lines(foldedOf(t, again))); !slices.Equal(got, want) {
		t.Errorf("pprof: %q, want %q", got, want)
	}
	folded := string(read("folded"))
	if n := strings.Count(folded, "\n"); n != len(evil) {
		t.Errorf("%d folded lines for %d stacks:\n%q", n, len(evil), folded)
	}
	// Each line may be the first, in a file and in a pipe.
	lines := strings.SplitAfter(folded, "\n")
	for i := range evil {
		text := strings.Join(append(lines[i:len(evil):len(evil)], lines[:i]...), "")
		name := filepath.Join(dir, "again.folded")
		livetest.WriteFile(t, name, text)
		b, err := kprof(t, "convert", name, "-f", "folded").Output()
		if err != nil || string(b) != folded {
			t.Errorf("%.20q comes back as %q, %v", text, b, err)
		}
		pipe := kprof(t, "convert", "-", "-f", "folded")
		pipe.Stdin = strings.NewReader(text)
		if b, err := pipe.Output(); err != nil || string(b) != folded {
			t.Errorf("%.20q comes back from a pipe as %q, %v", text, b, err)
		}
	}
}

func foldedOf(t *testing.T, s *stacks.Set) string {
	t.Helper()
	return livetest.Written(t, func(w io.Writer) error { return folded.Write(w, s, folded.Options{}) })
}

// TestPrintableWriter: text that comes in pieces is the same as whole.
func TestPrintableWriter(t *testing.T) {
	text := strings.Join(evil, "\n") + "äöü €\t𝄞\n"
	var whole bytes.Buffer
	printable.NewWriter(&whole).Write([]byte(text))
	if o := obeyed(whole.String(), false); o != "" || !strings.HasSuffix(whole.String(), "äöü €\t𝄞\n") {
		t.Errorf("a terminal obeys %s of %q", o, whole.String())
	}
	for n := 1; n < 7; n++ {
		var pieces bytes.Buffer
		w := printable.NewWriter(&pieces)
		for at := 0; at < len(text); at += n {
			if k, err := w.Write([]byte(text[at:min(at+n, len(text))])); err != nil || k == 0 {
				t.Fatal(k, err)
			}
		}
		if pieces.String() != whole.String() {
			t.Errorf("in pieces of %d: %q, not %q", n, pieces.String(), whole.String())
		}
	}
}

// TestColors: text has colours on a terminal that has some, unless somebody wants none.
func TestColors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.folded")
	if err := os.WriteFile(file, []byte("main;parse 5000\nmain;read 5000\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		env  []string
		want bool
	}{
		{[]string{"TERM=xterm"}, true}, {[]string{"TERM=dumb"}, false}, {[]string{"TERM=xterm", "NO_COLOR=1"}, false},
	} {
		out := onTerminalLike(t, test.env, "report", "--stdio", file)
		if !strings.Contains(out, "parse") || strings.Contains(out, "\x1b") != test.want {
			t.Errorf("%v: colours should be %v: %q", test.env, test.want, out)
		}
	}
}
