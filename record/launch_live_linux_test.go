package record

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/record/synth"
)

// recordCommand records a command from its exec on into a file, with all that
// this package and perfdata have to say, and returns the file's name.
func recordCommand(t *testing.T, events string, period uint64, argv ...string) string {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c, err := Launch(argv, LaunchOptions{Stdout: null})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	specs, err := event.ParseSpecs(events)
	if err != nil {
		t.Fatal(err)
	}
	var s *Session
	var layout abi.Layout
	builds := map[string]perfdata.BuildID{}
	opts := Options{
		Sideband: func(rec []byte) {
			h := abi.DecodeHeader(rec, abi.LittleEndian)
			if h.Type != abi.RecordMmap && h.Type != abi.RecordMmap2 {
				return
			}
			m, err := layout.DecodeMmap(h, rec[abi.HeaderSize:])
			if err != nil {
				t.Error(err)
			}
			if id := synth.BuildID(&m); id != nil {
				name := strings.TrimSuffix(strings.TrimSuffix(m.File, "_text"), "_stext")
				builds[name] = perfdata.BuildID{Misc: h.Misc.CPUMode(), PID: -1, ID: id, Name: name}
			}
		},
		Specs: specs, Target: Target{PIDs: []int{c.PID()}, EnableOnExec: true}, Period: period,
		Start: c.Start,
		Synthesize: func(write func([]byte) error) error {
			all := s.Events()
			side := all[len(all)-1]
			return synth.Describe(synth.Options{Attr: side.Attr, ID: side.IDs[0], PIDs: []int{c.PID()}}, write)
		},
	}
	if s, err = Open(context.Background(), opts); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := s.Events()
	layout = abi.NewLayout(&all[len(all)-1].Attr, abi.LittleEndian)
	early := perfdata.Features{Host: ReadHost(), Version: "test", Cmdline: argv}
	td, err := perfdata.ReadTracingData(os.DirFS("/sys/kernel/tracing"), s.Events(), abi.LittleEndian, 8, os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	if td != nil {
		early.TracingData = td.AppendTo(nil)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "perf.data"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := perfdata.NewWriter(f, s.Events(), early, perfdata.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan int)
	go func() {
		code, err := c.Wait()
		if err != nil {
			t.Error(err)
		}
		cancel()
		done <- code
	}()
	_, err = s.Run(ctx, w)
	if err := errors.Join(err, w.Close(perfdata.Features{BuildIDs: slices.Collect(maps.Values(builds))})); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != 0 {
		t.Errorf("the command's code is %d", code)
	}
	return f.Name()
}

func perfTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := livetest.PerfCommand(t, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("perf %v: %v\n%s", args, err, errs.String())
	}
	return string(out)
}

// TestRecordCommand has perf read a recording of a command.
func TestRecordCommand(t *testing.T) {
	livetest.Require(t, livetest.Perf, livetest.Root)
	name := recordCommand(t, "page-faults,syscalls:sys_enter_openat", 1, "ls", "-R", "/usr/lib")
	script := perfTool(t, "script", "--show-task-events", "--show-mmap-events", "-i", name)
	for _, want := range []string{
		`(?m)^ *ls +\d+ .* page-faults:`,
		`PERF_RECORD_COMM exec: ls:`,
		`(?m)syscalls:sys_enter_openat: .*filename: 0x`,
		`\[kernel.kallsyms\]\)$`,
		`PERF_RECORD_MMAP2 .* [0-9a-f]+:[0-9a-f]+ \d+ \d+\]: r-xp .*libc\.so\.6`,
		`PERF_RECORD_MMAP -1/0: \[0x[0-9a-f]+\(.*\]: x \[kernel.kallsyms\]_(s)?text`,
	} {
		if !regexp.MustCompile("(?m)" + want).MatchString(script) {
			t.Errorf("perf script shows no %q in\n%s", want, script[:min(len(script), 4000)])
		}
	}
	head := perfTool(t, "report", "--header-only", "-i", name)
	host := ReadHost()
	for _, want := range []string{
		"# hostname : " + host.Hostname, "# os release : " + host.OSRelease, "# perf version : test",
		"# cmdline : ls -R /usr/lib", "name = page-faults", "name = syscalls:sys_enter_openat", "# cpuid : " + host.CPUID,
		"# pmu mappings: ", "# time of first sample : ", "# time of last sample : ", "# total memory : ",
	} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in the header\n%s", want, head)
		}
	}
	if strings.Contains(head, "sample : 0.000000") {
		t.Errorf("no sample times in the header\n%s", head)
	}
	perfTool(t, "report", "--stdio", "-i", name)
	perfTool(t, "inject", "-b", "-i", name, "-o", name+".injected")
	if l := perfTool(t, "buildid-list", "-i", name); !regexp.MustCompile(`(?m)^[0-9a-f]{40} .*/ls$`).MatchString(l) ||
		!regexp.MustCompile(`(?m)^[0-9a-f]{40} \[kernel.kallsyms\]$`).MatchString(l) {
		t.Errorf("build ids\n%s", l)
	}
}
