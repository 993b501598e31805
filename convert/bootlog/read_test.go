package bootlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"
	"kprof/perfevent/textlimit"
)

// TestAgainstAwk compares counts and sums of real boots with those that awk finds.
func TestAgainstAwk(t *testing.T) {
	logs := livetest.Traces(t, "initcall-dmesg-*.txt")
	livetest.RequirePrograms(t, "awk")
	for _, name := range logs {
		f := livetest.Open(t, os.Open, name)
		l, err := Read(f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		awk := func(program string) string {
			out, err := exec.Command("awk", program, name).Output()
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(out))
		}
		usec := func(ts []Total) (lines []string) {
			for _, k := range ts {
				if k.Time > 0 {
					lines = append(lines, fmt.Sprintf("[%s] %d %d", k.Name, k.Calls, k.Time.Microseconds()))
				}
			}
			slices.Sort(lines)
			return lines
		}
		want := strings.Fields(awk(`/initcall .* returned/ { n++; s += $(NF-1); f += !/ returned 0 / }
			/probe of/ { p++ } / calling  / { c++ } / took [0-9]+ usecs/ { q++ } END { print n, s, f+0, p, c, q+0, NR }`))
		kinds := map[string]Total{}
		for _, k := range l.Kinds() {
			kinds[k.Name] = k
		}
		i := kinds["initcall"]
		got := strings.Fields(fmt.Sprint(i.Calls, " ", i.Time.Microseconds(), " ", i.Failed, " ", kinds["probe"].Calls, " ", i.Calls+kinds["quirk"].Calls, " ", kinds["quirk"].Calls, " ", l.Lines))
		if !slices.Equal(got, want) {
			t.Errorf("%s: initcalls, their usecs, failures, probes, calls, quirks, lines: %v, awk %v", name, got, want)
		}
		if len(l.Unended()) > 0 || l.Orphans > 0 || l.Ends != uint64(len(l.Calls)) {
			t.Errorf("%s: %d unended, %d orphans, %d ends of %d", name, len(l.Unended()), l.Orphans, l.Ends, len(l.Calls))
		}
		levels := strings.Split(awk(`/entering initcall level:/ { l = $NF }
			/initcall .* returned/ { g = l != "" && /\] returned/ ? "module" : l; n[g]++; s[g] += $(NF-1) }
			END { for (l in n) if (s[l] > 0) print "[" l "]", n[l], s[l] }`), "\n")
		slices.Sort(levels)
		if got := usec(l.Levels()); !slices.Equal(got, levels) {
			t.Errorf("%s: levels %q, awk %q", name, got, levels)
		}
		checkSet(t, l)
	}
}

// checkSet checks that the time of a Set is that of the calls, each counted once.
func checkSet(t *testing.T, l *Log) {
	t.Helper()
	s := l.Set()
	var self, outer time.Duration
	for i := range l.Calls {
		c := &l.Calls[i]
		self += c.Self
		if c.Parent < 0 {
			outer += c.Duration
		} else if p := l.Calls[c.Parent]; c.children > c.Duration || p.Line > c.Line && p.Kind != Probe {
			t.Errorf("%+v in %+v", c, p)
		}
	}
	totals := s.Totals(0)
	if totals[0] != int64(len(l.Calls)) || totals[1] != int64(self) || self > outer {
		t.Errorf("totals %v of %d calls, %d in them alone, %d with callees", totals, len(l.Calls), self, outer)
	}
}

// text is a log in a few lines, each call as "KIND NAME [LEVEL] start+duration=return in PARENT".
func text(l *Log) string {
	var b strings.Builder
	for _, c := range l.Calls {
		fmt.Fprintf(&b, "%v %s", c.Kind, c.Title())
		if c.Level != "" {
			fmt.Fprintf(&b, " <%s>", c.Level)
		}
		fmt.Fprintf(&b, " @%d %v", c.PID, c.Start)
		if c.Ended {
			fmt.Fprintf(&b, "+%v=%d", c.Duration, c.Return)
		}
		if c.Parent >= 0 {
			fmt.Fprintf(&b, " in %s", l.Calls[c.Parent].Title())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestForms(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"dmesg":                    {"[    1.400000] entering initcall level: subsys\n[    1.500000] calling  acpi_init+0x0/0x4f0 @ 1\n[    1.502000] initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n", "initcall acpi_init <subsys> @1 1.5s+2ms=0\n"},
		"dmesg -r":                 {"<6>[    1.400000] entering initcall level: subsys\n<7>[    1.500000] calling  acpi_init+0x0/0x4f0 @ 1\n<7>[    1.502000] initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n", "initcall acpi_init <subsys> @1 1.5s+2ms=0\n"},
		"dmesg -x":                 {"kern  :debug : [    1.500000] calling  acpi_init+0x0/0x4f0 @ 1\n", "initcall acpi_init @1 1.5s\n"},
		"/dev/kmsg":                {"6,1,1400000,-;entering initcall level: subsys\n7,2,1500000,-;calling  acpi_init+0x0/0x4f0 @ 1\n SUBSYSTEM=acpi\n7,3,1502000,-,caller=T1;initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n", "initcall acpi_init <subsys> @1 1.5s+2ms=0\n"},
		"of a journal":             {"May 01 10:00:00 host kernel: calling  acpi_init+0x0/0x4f0 @ 1\nMay 01 10:00:00 host kernel: initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n", "initcall acpi_init @1 0s+2ms=0\n"},
		"-o short-monotonic":       {"[    1.500000] host kernel: calling  acpi_init+0x0/0x4f0 @ 1\n[    1.502000] host kernel: initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n", "initcall acpi_init @1 1.5s+2ms=0\n"},
		"dates":                    {"2024-05-01T10:00:00,123456+02:00 calling  acpi_init+0x0/0x4f0 @ 1\n2024-05-01T10:00:00,125456+02:00 initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n2024-05-01T10:00:01,123456+02:00 calling  x+0x0/0x1 @ 1\n", "initcall acpi_init @1 0s+2ms=0\ninitcall x @1 1s\n"},
		"no times":                 {"calling  acpi_init+0x0/0x4f0 @ 1\nprobe of 0000:00:01.0 returned 0 after 5 usecs\ninitcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n", "initcall acpi_init @1 0s+2ms=0\nprobe probe 0000:00:01.0 @1 0s+5µs=0 in acpi_init\n"},
		"a console":                {"\x1b[2J\x1b[0mBooting...[    1.500000] calling  acpi_init+0x0/0x4f0 @ 1\r\r\n[    1.501000] ACPI: something\r\n\x00[    1.502000] initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\r\n", "initcall acpi_init @1 1.5s+2ms=0\n"},
		"threads":                  {"[    1.500000][    T1] calling  acpi_init+0x0/0x4f0 @ 1\n[    1.501000][   T77] probe of a returned 0 after 500 usecs\n[    1.501500][    T1] probe of b with driver drv returned -517 after 100 usecs\n[    1.502000][    T1] initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n", "initcall acpi_init @1 1.5s+2ms=0\nprobe probe a @77 1.5005s+500µs=0\nprobe probe b (drv) @1 1.5014s+100µs=-517 in acpi_init\n"},
		"modules":                  {"[    2.000000] calling  e1000_init+0x0/0x1000 [e1000] @ 99\n[    2.000005] initcall e1000_init+0x0/0x1000 [e1000] returned -19 after 5 usecs\n", "initcall e1000_init [e1000] @99 2s+5µs=-19\n"},
		"modules have no level":    {"[    0.100000] entering initcall level: late\n[    0.110000] calling  clk_late_init+0x0/0x22 @ 1\n[    0.120000] initcall clk_late_init+0x0/0x22 returned 0 after 10000 usecs\n[    5.000000] calling  foo_init+0x0/0x1000 [foo] @ 300\n[    5.101000] initcall foo_init+0x0/0x1000 [foo] returned 0 after 101000 usecs\n[    6.000000] initcall bar_init+0x0/0x1000 [bar] returned 0 after 1000 usecs\n", "initcall clk_late_init <late> @1 110ms+10ms=0\ninitcall foo_init [foo] <module> @300 5s+101ms=0\ninitcall bar_init [bar] <module> @0 5.999s+1ms=0\n"},
		"modules at once":          {"[    5.000000] calling  init_module+0x0/0x1000 [foo] @ 300\n[    5.001000] calling  init_module+0x0/0x1000 [bar] @ 301\n[    5.101000] initcall init_module+0x0/0x1000 [foo] returned -19 after 101000 usecs\n[    6.001000] initcall init_module+0x0/0x1000 [bar] returned 0 after 1000000 usecs\n", "initcall init_module [foo] @300 5s+101ms=-19\ninitcall init_module [bar] @301 5.001s+1s=0\n"},
		"a module named once":      {"[    5.000000] calling  init_module+0x0/0x1000 @ 300\n[    5.001000] calling  init_module+0x0/0x1000 [bar] @ 301\n[    5.101000] initcall init_module+0x0/0x1000 [foo] returned -19 after 101000 usecs\n[    6.001000] initcall init_module+0x0/0x1000 returned 0 after 1000000 usecs\n", "initcall init_module @300 5s+101ms=-19\ninitcall init_module [bar] @301 5.001s+1s=0\n"},
		"probes in probes":         {"[    2.000000] calling  a+0x0/0x1 @ 1\n[    2.100000] probe of inner1 returned 0 after 50000 usecs\n[    2.300000] probe of inner2 returned 0 after 50000 usecs\n[    2.400000] probe of outer returned 0 after 350000 usecs\n[    2.500000] initcall a+0x0/0x1 returned 0 after 500000 usecs\n", "initcall a @1 2s+500ms=0\nprobe probe inner1 @1 2.05s+50ms=0 in probe outer\nprobe probe inner2 @1 2.25s+50ms=0 in probe outer\nprobe probe outer @1 2.05s+350ms=0 in a\n"},
		"nested and at once":       {"[    2.000000] calling  a+0x0/0x1 @ 1\n[    2.000001] calling  7_sd_probe_async+0x0/0x1 @ 55\n[    2.000002] calling  m+0x0/0x1 [m] @ 60\n[    2.000003] calling  b+0x0/0x1 @ 1\n[    2.000004] initcall b+0x0/0x1 returned 0 after 1 usecs\n[    2.000005] initcall 7_sd_probe_async+0x0/0x1 returned after 4 usecs\n[    2.000006] initcall a+0x0/0x1 returned 0 after 6 usecs\n[    2.000007] initcall m+0x0/0x1 [m] returned 0 after 5 usecs\n", "initcall a @1 2s+6µs=0\nasync 7_sd_probe_async @55 2.000001s+4µs=0\ninitcall m [m] @60 2.000002s+5µs=0\ninitcall b @1 2.000003s+1µs=0 in a\n"},
		"lost beginning":           {"[    2.000000] initcall a+0x0/0x1 returned 0 after 500000 usecs\n", "initcall a @0 1.5s+500ms=0\n"},
		"suspend":                  {"[   10.000000] PM: suspend entry (deep)\n[   10.000001] usb 1-1: PM: calling usb_dev_suspend+0x0/0x20 [usbcore] @ 2113, parent: usb1\n[   10.000124] usb 1-1: PM: usb_dev_suspend+0x0/0x20 [usbcore] returned 0 after 123 usecs\n[   10.100000] PM: suspend of devices complete after 99.500 msecs\n[   11.000001] usb 1-1: PM: calling usb_dev_resume+0x0/0x20 @ 2113, parent: usb1\n", "pm usb 1-1 usb_dev_suspend <suspend> @2113 10.000001s+123µs=0\npm usb 1-1 usb_dev_resume @2113 11.000001s\n"},
		"suspend, before 4.11":     {"[   10.000001] calling  1-1+ @ 2113, parent: usb1, cb: usb_dev_suspend\n[   10.000124] call 1-1+ returned 0 after 123 usecs\n", "pm 1-1 pm @2113 10.000001s+123µs=0\n"},
		"quirks":                   {"[    1.0] x\n[    1.500000] pci 0000:00:01.0: calling  quirk_natoma+0x0/0x20 @ 1\n[    1.500009] pci 0000:00:01.0: quirk_natoma+0x0/0x20 took 8 usecs\n", "quirk quirk_natoma @1 1.5s+8µs=0\n"},
		"two boots, the first cut": {"[    0.000000] Linux version 6.1\n[    2.000000] calling  a+0x0/0x1 @ 1\n[    0.000000] Linux version 6.2\n[    2.500000] calling  a+0x0/0x1 @ 1\n[    2.500005] initcall a+0x0/0x1 returned 0 after 5 usecs\n", "initcall a @1 2s\ninitcall a @1 2.5s+5µs=0\n"},
		"blanks made one":          {"[ 1.500000][ T1] calling acpi_init+0x0/0x4f0 @ 1 \n[ 1.502000][ T1] initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs \n", "initcall acpi_init @1 1.5s+2ms=0\n"},
		"negative":                 {"[    2.000000] initcall a+0x0/0x1 returned 0 after -5 usecs\n", "initcall a @0 2s+0s=0\n"},
	} {
		l, err := Read(strings.NewReader(c.in), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := text(l); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
		checkSet(t, l)
	}
}

func TestGaps(t *testing.T) {
	l, err := Read(strings.NewReader("[    1.000000] one\n[    1.200000] two\n[    1.205000] calling  a+0x0/0x1 @ 1\n[    1.500000] initcall a+0x0/0x1 returned 0 after 295000 usecs\n"+
		"[    2.000000] probe of b returned 0 after 499999 usecs\n[    2.100000] three\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Gap{{time.Second, 1200 * time.Millisecond, "one", "two"}, {2 * time.Second, 2100 * time.Millisecond, "probe of b returned 0 after 499999 usecs", "three"}}
	if !slices.Equal(l.Gaps, want) || l.First != time.Second || l.Last != 2100*time.Millisecond {
		t.Errorf("%+v, from %v to %v", l.Gaps, l.First, l.Last)
	}
}

func TestNoCalls(t *testing.T) {
	l, err := Read(strings.NewReader("[    0.000000] Linux version 6.1.0\n[    0.000000] Command line: quiet\n"), Options{})
	if !errors.Is(err, ErrNoCalls) || l.Kernel != "Linux version 6.1.0" || l.Command != "quiet" || l.Lines != 2 {
		t.Errorf("%+v, %v", l, err)
	}
}

// endless is a line that does not end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestEndlessLine(t *testing.T) {
	log := io.MultiReader(strings.NewReader("[    0.000001] calling  f+0x0/0x10 @ 1\n"), endless{})
	if _, err := Read(log, Options{}); !errors.Is(err, textlimit.ErrLine) || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("error %v", err)
	}
}

func TestSubsystem(t *testing.T) {
	for name, want := range map[string]string{"acpi_init": "acpi", "__init_acpi": "acpi", "pci_arch_init": "pci", "init_": "init", "x": "x", "do_init_bootmem": "bootmem", "7_sd_probe": "sd"} {
		if c := (Call{Name: name}); c.Subsystem() != want {
			t.Errorf("%s: %s, not %s", name, c.Subsystem(), want)
		}
	}
}

// TestAsyncOfTwoBoots: the running numbers of async calls, which differ from boot to boot, are
// not in stacks.
func TestAsyncOfTwoBoots(t *testing.T) {
	names := func(first int) (names []string) {
		var b strings.Builder
		for i := first; i < first+2; i++ {
			fmt.Fprintf(&b, "[    0.1000%02d] calling  %d_sd_probe_async+0x0/0x30 [sd_mod] @ %d\n", i, i, 50+i)
		}
		for i := first; i < first+2; i++ {
			fmt.Fprintf(&b, "[    0.2000%02d] initcall %d_sd_probe_async+0x0/0x30 [sd_mod] returned after %d usecs\n", i, i, 100000)
		}
		l, err := Read(strings.NewReader(b.String()), Options{})
		if err != nil || len(l.Unended()) > 0 {
			t.Fatalf("%+v, %v", l, err)
		}
		s := l.Set()
		for i := range s.NumSamples() {
			for _, at := range s.Stack(s.Sample(i).Stack) {
				names = append(names, s.Functions[s.Lines(at)[0].Function].Name)
			}
		}
		return names
	}
	if a, b := names(9), names(11); !slices.Equal(a, b) || !slices.Contains(a, "sd_probe_async [sd_mod]") {
		t.Errorf("%q and %q", a, b)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("[    1.500000] calling  acpi_init+0x0/0x4f0 @ 1\n[    1.502000] initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs\n"))
	f.Add([]byte("7,2,1500000,-;calling  7_a+0x0/0x4f0 [m] @ 1\n7,2,1500009,-;probe of b with driver c returned -517 after 5 usecs\n"))
	f.Add([]byte("[   10.000001] usb 1-1: PM: calling usb_dev_suspend+0x0/0x20 @ 2113, parent: usb1\n[   10.1] PM: suspend of devices complete after 99.500 msecs\n"))
	f.Add([]byte("2024-05-01T10:00:00,123456+02:00 pci 0000:00:01.0: calling  q+0x0/0x1 @ 1\n2024-05-01T10:00:00,123456+02:00 pci 0000:00:01.0: q+0x0/0x1 took 1 usecs\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := Read(strings.NewReader(string(in)), Options{})
		if err != nil && !errors.Is(err, ErrNoCalls) {
			t.Fatal(err)
		}
		if len(l.Calls) > len(in)/8 || len(l.Gaps) > len(in) {
			t.Fatalf("%d calls, %d gaps of %d bytes", len(l.Calls), len(l.Gaps), len(in))
		}
		for i, c := range l.Calls {
			for at, n := c.Parent, 0; at >= 0; at, n = l.Calls[at].Parent, n+1 {
				if at == i || n > len(l.Calls) {
					t.Fatalf("%+v is in itself", c)
				}
			}
			if c.Self < 0 || c.Self > c.Duration || c.Start < 0 {
				t.Fatalf("%+v", c)
			}
		}
		if n := l.Set().Totals(0); n[0] != int64(len(l.Calls)) {
			t.Fatalf("%v of %d calls", n, len(l.Calls))
		}
	})
}

// TestProbesOfOldKernels: before Linux 5.14 a probe that was well returned 1.
func TestProbesOfOldKernels(t *testing.T) {
	for release, want := range map[string][2]int{"5.10.0-28-amd64": {0, 1}, "4.19.0": {0, 1}, "5.14.0": {1, 0}, "6.1.0": {1, 0}} {
		l, err := Read(strings.NewReader("[    0.000000] Linux version "+release+" (x)\n[    2.000000] probe of a returned 1 after 123 usecs\n[    2.100000] probe of b returned 0 after 50 usecs\n"), Options{})
		if err != nil || len(l.Calls) != 2 || l.Calls[0].Return != want[0] || l.Calls[1].Return != want[1] {
			t.Errorf("%s: %+v, %v", release, l, err)
		}
	}
}

// TestJournal: devices and the kernel are told from the journal's own words.
func TestJournal(t *testing.T) {
	l, err := Read(strings.NewReader(`May 01 10:00:00 host kernel: Linux version 6.1.0-x (gcc)
May 01 10:00:00 host kernel: Command line: quiet
May 01 10:00:05 host kernel: usb 1-1: PM: calling usb_dev_suspend+0x0/0x20 @ 2113, parent: usb1
May 01 10:00:06 host kernel: usb 1-1: PM: usb_dev_suspend+0x0/0x20 returned 0 after 900000 usecs
`), Options{})
	if err != nil || l.Release() != "6.1.0-x" || l.Command != "quiet" || len(l.Calls) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if c := l.Calls[0]; c.Device != "usb 1-1" || !c.Ended || c.Duration != 900*time.Millisecond {
		t.Errorf("%+v", c)
	}
}

// TestHungThenBooted: a call that hung in a phase of suspending is of no phase of the next boot.
func TestHungThenBooted(t *testing.T) {
	l, err := Read(strings.NewReader(`[    0.000000] Linux version 6.1.0 (x)
[   10.000000] PM: suspend of devices complete after 50.000 msecs
[   10.100000] usb 1-1: PM: calling late+0x0/0x20 @ 2113, parent: usb1
[    0.000000] Linux version 6.1.0 (x)
[   20.000000] usb 1-1: PM: calling early+0x0/0x20 @ 99, parent: usb1
[   20.010000] usb 1-1: PM: early+0x0/0x20 returned 0 after 9000 usecs
[   20.100000] PM: suspend of devices complete after 99.500 msecs
`), Options{})
	if err != nil || len(l.Calls) != 2 {
		t.Fatalf("%+v, %v", l, err)
	}
	if hung, well := l.Calls[0], l.Calls[1]; hung.Ended || hung.Level != "" || well.Level != "suspend" {
		t.Errorf("%+v, %+v", hung, well)
	}
}
