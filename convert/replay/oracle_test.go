package replay

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"kprof/convert/samples"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// perfSample is the first line of a sample as perf script prints it.
var perfSample = regexp.MustCompile(`^ *(.*?) +(-?\d+)/(-?\d+) +(?:(\d+)\.(\d{9}): +)?(\d+) +(.+?):(?: +([0-9a-f]+)(?: .*)?)? *$`)

// newerPerf reports whether this machine's perf is one that shows addresses in memory
// instead of those in files, and forgets the name of a thread at its exit: 6.12 does,
// 6.1 does not.
var newerPerf = sync.OnceValue(func() bool {
	out, _ := exec.Command("perf", "version").Output()
	var major, minor int
	fmt.Sscanf(string(out), "perf version %d.%d", &major, &minor)
	return major > 6 || major == 6 && minor >= 12
})

// scriptSamples are the samples of a recording by perf, a line each, and whether
// perf can read it. The modifiers "HG" say that an event counts hosts and guests,
// as all do that say nothing: they are left out of names here.
func scriptSamples(t *testing.T, file string) ([]string, bool) {
	cmd := livetest.PerfOnFile(t, "script", "-i", file, "--no-inline", "--no-itrace", "--ns", "--max-stack=65535", "-F", "comm,pid,tid,time,event,period,ip")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		return nil, false
	}
	return readScript(t, file, out), true
}

// readScript returns the samples in what perf script has printed of a recording.
func readScript(t *testing.T, file string, out []byte) []string {
	var samples []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			continue
		}
		if line[0] == '\t' || strings.HasPrefix(line, "        ") && !perfSample.MatchString(line) {
			samples[len(samples)-1] += " " + strings.Fields(line)[0]
			continue
		}
		m := perfSample.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%s: perf script says %q", file, line)
		}
		event := strings.TrimSuffix(m[7], ":HG")
		if newerPerf() { // says so where guests are left out
			event = strings.TrimSuffix(event, ":H")
		}
		s := fmt.Sprintf("%s.%s %s %s/%s %s %s:", m[4], m[5], m[1], m[2], m[3], m[6], event)
		if m[8] != "" {
			s += " " + m[8]
		}
		samples = append(samples, s)
	}
	slices.Sort(samples)
	return samples
}

// ownSamples are the same by this package. Addresses are those in files, as perf
// shows them (Linux 6.1), or in memory, as newer ones do.
func ownSamples(t *testing.T, file string, inFiles bool) []string {
	r := perftext.Open(t, file)
	in, err := samples.Scan(context.Background(), r, samples.Options{})
	if err != nil {
		t.Fatal(err)
	}
	maps := readMaps(r)
	if !inFiles {
		maps = nil
	}
	lines := packedOffCPU(r, in.Timeline)
	err = in.Each(context.Background(), func(s *samples.Sample) {
		if isPackedOffCPU(s.Event) {
			return
		}
		if m := timeline.ModeOf(s.Misc); m == timeline.GuestKernel || m == timeline.GuestUser {
			return // perf script shows them with --guest alone
		}
		if n := len(s.Callchain); n > 1 && s.Callchain[n-2] == abi.ContextUserDeferred {
			s.Callchain = s.Callchain[:n-2] // never came
		}
		chain := ""
		if len(s.Callchain) > 0 && s.HasChain {
			chain = maps.scriptChain(s.State.Time, s.Event, &s.Sample)
		} else if !s.HasChain && s.Event.Attr.SampleType&abi.SampleIP != 0 {
			chain = fmt.Sprintf(" %x", s.IP)
		}
		comm := in.Timeline.Comm(s.State.Name, s.TID)
		for _, c := range s.Counts {
			if in.MeasuresTime(c.Event) { // which perf does not
				c.Period = s.Period
			}
			lines = append(lines, scriptLine(c.Event, &s.Sample, comm, c.Period)+chain)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// isPackedOffCPU reports whether samples of e are packed into raw data, out of which perf
// before 6.16 does not take them.
func isPackedOffCPU(e *perfdata.Event) bool {
	return e.Name == "offcpu-time" && e.Attr.Config == abi.SWBPFOutput
}

// packedOffCPU are such samples, as they were recorded.
func packedOffCPU(r *perfdata.Reader, tl *timeline.Timeline) (lines []string) {
	var s abi.Sample
	for rec, err := range r.Records() {
		if err != nil || rec.Type != abi.RecordSample {
			continue
		}
		if e := r.Events.OfSample(rec.Payload); e != nil && isPackedOffCPU(e) && e.Layout.DecodeSample(&s, rec.Misc, rec.Payload) == nil {
			st := tl.At(s.PID, s.TID, s.Time)
			lines = append(lines, scriptLine(e, &s, tl.Comm(st.Name, s.TID), s.Period)+fmt.Sprintf(" %x", s.IP))
		}
	}
	return lines
}

// scriptLine is a sample in the manner of perf script.
func scriptLine(e *perfdata.Event, s *abi.Sample, comm string, period uint64) string {
	line := fmt.Sprintf("%d.%09d %s %d/%d %d %s:", s.Time/1e9, s.Time%1e9, comm, s.PID, s.TID, period, e.Name)
	if e.Attr.SampleType&abi.SampleTime == 0 {
		line = fmt.Sprintf(". %s %d/%d %d %s:", comm, s.PID, s.TID, period, e.Name)
	}
	return line
}

// scriptChain is a callchain in the manner of perf script since Linux 5.19: an
// address in a file is shown as the place in the file. perf does not empty an
// address space at an exec, so where nothing is mapped yet it has the old ones.
//
// Code without frame pointers leaves anything in their place, also what looks
// like a context marker that nobody knows. perf then discards the whole chain;
// this package keeps what is before it.
func (m perfMaps) scriptChain(at uint64, e *perfdata.Event, s *abi.Sample) (line string) {
	user := timeline.ModeOf(s.Misc) == timeline.User
	find := func(addr uint64) *abi.Mmap {
		if !user {
			return nil
		}
		return m.find(s.PID, addr, at, 0)
	}
	chain := s.Callchain
	if n := slices.Index(chain, abi.ContextUser); n >= 0 && e.Attr.BranchSampleType&abi.BranchCallStack != 0 {
		if len(s.Branches) == 0 {
			s.Callchain = chain[:n]
			return m.scriptChain(at, e, s) + notPrinted
		}
		chain = append(slices.Clone(chain[:n+1]), s.Branches[0].To)
		for _, b := range s.Branches {
			chain = append(chain, b.From)
		}
	}
	for _, addr := range chain {
		switch {
		case addr == abi.ContextHV || addr == abi.ContextKernel || addr == abi.ContextUser:
			user = addr == abi.ContextUser
			continue
		case addr >= abi.ContextMax:
			return ""
		}
		if m := find(addr); m != nil && !perfAnonymous(m.File) {
			addr = addr - m.Addr + m.Off
		}
		line += fmt.Sprintf(" %x", addr)
	}
	return line
}

// notPrinted stands for an address that perf takes from behind the sample: that of
// the first branch, of none.
const notPrinted = " ?"

// perfAnonymous is what perf takes for memory without a file: less than this
// package does, which counts /memfd: and [uprobes] as such too.
func perfAnonymous(file string) bool {
	for _, prefix := range []string{"//anon", "/dev/zero", "/anon_hugepage", "[stack", "/SYSV", "[heap]"} {
		if strings.HasPrefix(file, prefix) {
			return true
		}
	}
	return false
}

// compareScript compares a recording sample by sample, and reports whether perf can
// read it. Chains that perf unwinds itself, from dumps of the stack, are left out.
func compareScript(t *testing.T, file string) bool {
	want, ok := scriptSamples(t, file)
	if !ok {
		return false
	}
	compareSamples(t, file, ownSamples(t, file, !newerPerf()), want)
	return true
}

func compareSamples(t *testing.T, file string, got, want []string) {
	t.Helper()
	if unwinds(t, file) {
		for _, l := range [][]string{got, want} {
			for i, s := range l {
				l[i] = s[:strings.LastIndex(s, ":")]
			}
			slices.Sort(l)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d samples, perf has %d", len(got), len(want))
	}
	differ := 0
	for i := range min(len(got), len(want)) {
		if strings.HasSuffix(got[i], notPrinted) {
			want[i] = want[i][:strings.LastIndex(want[i], " ")] + notPrinted
		}
		if got[i] != want[i] && !forgotten(got[i], want[i]) {
			if differ++; differ <= 3 {
				t.Errorf("sample %d\ngot  %s\nperf %s", i, got[i], want[i])
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d samples differ", differ, len(want))
	}
}

// forgotten reports whether two samples differ in the name alone, which perf has
// forgotten.
func forgotten(own, perf string) bool {
	if !newerPerf() {
		return false
	}
	time, rest, _ := strings.Cut(perf, " ")
	name, rest, _ := strings.Cut(rest, " ")
	return strings.HasPrefix(name, ":") && strings.HasPrefix(own, time+" ") && strings.HasSuffix(own, " "+rest)
}

// unwinds reports whether perf makes call chains of a recording out of dumps of
// the stack.
func unwinds(t *testing.T, file string) bool {
	r := perftext.Open(t, file)
	for range r.Records() { // for the events of pipe mode
		continue
	}
	for _, e := range r.Events.Events {
		if e.Attr.SampleType&abi.SampleStackUser != 0 {
			return true
		}
	}
	return false
}

// TestScriptOfText compares the recordings of testdata with perf, in both byte
// orders: what no machine here can record, and what this package's own writer of
// other byte orders makes of it.
func TestScriptOfText(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	for _, g := range goldens(t) {
		if perfIsWrong[g.name] != "" {
			continue
		}
		// perf does not swap pid and tid back in a pipe of the other byte order.
		for _, f := range []perftext.Form{{}, {Order: abi.BigEndian}, {Pipe: true}} {
			if g.skip(form{Form: f}) || f.Pipe && perfHidesAddresses[g.name] {
				continue
			}
			t.Run(g.name+" "+f.String(), func(t *testing.T) {
				if refused := !compareForm(t, g.rec, f); refused && !perfRefuses[g.name] {
					t.Error("perf cannot read it")
				}
			})
		}
	}
}

// compareForm compares a recording in the given form, and reports whether perf can
// read it. Where it does not say how large its attributes are they are the largest
// that perf reads (Linux 6.1).
func compareForm(t *testing.T, rec *perftext.Recording, f perftext.Form) bool {
	f.AttrSize = abi.AttrSizeVer7
	b, err := rec.Assemble(f)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "perf.data")
	livetest.WriteFile(t, file, b)
	return compareScript(t, file)
}

// perfIsWrong says why perf (Linux 6.1) shows other samples than those there are.
var perfIsWrong = map[string]string{
	"no-times":             "in pipes it takes records without a time before all samples of their round",
	"read-inherited":       "it subtracts the counter of one thread from that of another, until Linux 6.12",
	"read-inherited-group": "likewise",
	"rule3-fork":           "a map as old as a fork is the child's where it comes first in the file",
	"truncated":            "it reads zeros behind the end of the file",
}

// perfRefuses are recordings that perf does not read in all forms: damaged ones,
// those of newer kernels and of somebody's own perf, events without ids, tracepoints that nothing describes,
// samples without the time that is to be printed.
var perfRefuses = map[string]bool{
	"attr-bad": true, "attr-large": true, "bad-records": true, "bad-size": true, "bad-size-large": true,
	"deferred": true, "events": true, "no-events": true, "events-without-ids": true, "no-sample-times": true,
	"old-headers": true, "times": true, "times-none": true, "select-event-second": true,
}

// perfHidesAddresses are recordings of PMUs that this machine does not have: perf
// (Linux 6.1) prints no addresses of their samples when they come through a pipe.
var perfHidesAddresses = map[string]bool{"events-hybrid": true, "events-hybrid-apart": true}

// TestScriptLive compares recordings of this machine, with many short-lived
// processes: the ways to write one down, and groups of events that are read at
// each sample.
func TestScriptLive(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	const load = "for i in $(seq 100); do (/bin/true; :) & /bin/true; done; wait; sleep 1"
	for name, args := range map[string]string{
		"file":           "-g -e cpu-clock -o FILE",
		"pipe":           "-g -e cpu-clock -o - | cat >FILE",
		"directory":      "-g -e cpu-clock --threads -o FILE",
		"zstd directory": "-g -e cpu-clock --threads -z -o FILE",
		"read":           "-e '{cpu-clock,page-faults,context-switches}:S' -o FILE",
		"read single":    "-e cpu-clock:S -e task-clock:S -o FILE",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "perf.data")
			args, pipe, piped := strings.Cut(strings.ReplaceAll(args, "FILE", file), "|")
			cmd := "perf record -q -a -F 2000 " + args + " -- sh -c '" + load + "'"
			if piped {
				cmd += "|" + pipe
			}
			// Now and then perf (6.1) cannot read what its own threads compressed, or
			// they fall over each other (its build-id.c: assertion failed).
			for tries := 1; ; tries++ {
				out, err := livetest.PerfInShell(t, cmd).CombinedOutput()
				if err == nil && compareScript(t, file) {
					break
				}
				if tries == 3 {
					t.Fatalf("%s: perf cannot read it: %v: %s", cmd, err, out)
				}
				if err := os.RemoveAll(file); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
