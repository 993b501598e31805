package perfdata_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// perfHeader are the lines of perf report --header-only, and whether it can read
// the recording.
func perfHeader(t *testing.T, file string, args ...string) ([]string, bool) {
	out, err := livetest.PerfOnFile(t, append([]string{"report", "--header-only", "-i", file}, args...)...).Output()
	return headerLines(string(out)), err == nil && len(out) > 0
}

// headerLines leaves out what frames a header, what this package keeps as bytes,
// and the features that perf 6.1 does not know to be missing.
func headerLines(text string) (lines []string) {
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		switch {
		case l == "" || l == "#" || l == "# ========",
			strings.HasPrefix(l, "# bpf_prog_info "), strings.HasPrefix(l, "# \tsub_prog "), strings.HasPrefix(l, "# btf info of "),
			strings.HasPrefix(l, "# feature "):
			continue
		}
		lines = append(lines, strings.TrimSuffix(l, "CPU_DOMAIN_INFO E_MACHINE CLN_SIZE "))
	}
	return lines
}

// ofSimpleperf reports whether a line shows a section of simpleperf, which perf
// does not know.
func ofSimpleperf(line string, f *perfdata.Features) bool {
	return strings.HasPrefix(line, "# symbols of ") ||
		slices.ContainsFunc(f.MetaInfo, func(i perfdata.KeyValue) bool { return strings.HasPrefix(line, "# "+i.Key+" : ") }) ||
		strings.HasPrefix(line, "# DEBUG_UNWIND")
}

// compareHeader compares both forms of a recording's header with perf's, line by
// line, and reports whether perf can read it. The features of a pipe may come in any
// order.
func compareHeader(t *testing.T, file string) bool {
	t.Helper()
	for _, full := range []bool{false, true} {
		var args []string
		if full {
			args = []string{"-I"}
		}
		want, ok := perfHeader(t, file, args...)
		if !ok {
			return false
		}
		r := perftext.Open(t, file)
		if r.PipeMode() {
			for range r.Records() { // bring the features
				continue
			}
			slices.Sort(want)
		}
		st, err := os.Stat(file)
		if err == nil && st.IsDir() {
			st, err = os.Stat(filepath.Join(file, "data"))
		}
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := r.WriteHeader(&b, st.ModTime(), full); err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(headerLines(b.String()), func(l string) bool { return ofSimpleperf(l, &r.Features) })
		if r.PipeMode() {
			slices.Sort(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("full %v (-perf +got):\n%s", full, diff)
		}
	}
	return true
}

// TestHeaderOfPerf compares the headers of fresh recordings with what perf shows.
func TestHeaderOfPerf(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	for name, args := range map[string]string{
		"tracepoint": "-a -e cpu-clock,sched:sched_switch -o FILE",
		"group":      "-k mono -z -e '{cpu-clock,page-faults}' -c 100000 -o FILE",
		"breakpoint": "-e mem:0x1000/8:w -e page-faults:u -g -o FILE",
		"threads":    "-a --threads -e cpu-clock -o FILE",
		"pipe":       "-k mono -e '{cpu-clock,page-faults}' -o - | cat >FILE",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "perf.data")
			cmd, pipe, piped := strings.Cut("perf record -q "+strings.ReplaceAll(args, "FILE", file), "|")
			cmd += " -- true"
			if piped {
				cmd += "|" + pipe
			}
			if out, err := livetest.PerfInShell(t, cmd).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", cmd, err, out)
			}
			if !compareHeader(t, file) {
				t.Error("perf cannot read it")
			}
		})
	}
}

// recordingsBut lists recordings of other machines without the one of that name.
func recordingsBut(t *testing.T, name string) []string {
	t.Helper()
	return slices.DeleteFunc(livetest.Recordings(t), func(file string) bool { return filepath.Base(file) == name })
}

// TestHeaderOfCorpus compares the headers of recordings of other machines.
func TestHeaderOfCorpus(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	files := recordingsBut(t, "s390x-zstd-pipe.data") // perf (6.1) swaps no features in pipes
	compared := 0
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			if compareHeader(t, f) {
				compared++
			} else {
				t.Log("perf cannot read it")
			}
		})
	}
	if compared < len(files)*2/3 { // perf 6.1 reads 32 of 37
		t.Errorf("perf reads %d of %d recordings only", compared, len(files))
	}
}

// swappedByPerf leaves out of an attribute what perf (up to 7.2) does not swap, or
// takes to pieces: precise_ip lies across two bytes.
func swappedByPerf(a *abi.Attr) {
	a.ClockID, a.SampleRegsIntr, a.AuxAction, a.SigData, a.Config3 = 0, 0, 0, 0, 0
	if p := a.Flags.Precise(); p == 1 || p == 2 {
		a.Flags = a.Flags.WithPrecise(3)
	}
}

// TestHeaderSwapped compares the headers of the corpus after they were written in
// big-endian order: perf swaps what this package writes and reads.
func TestHeaderSwapped(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	files := recordingsBut(t, "deferred-7.3.data") // perf (6.1) does not know its features
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := perftext.Open(t, file)
			for range r.Records() { // for the features of pipe mode
				continue
			}
			rec := perftext.MustParse("event e type=hardware\nthrottle t=1\n")
			rec.Features = r.Features
			// What is no structure of words stays in its own order.
			f := &rec.Features
			f.TracingData, f.BPFProgInfo, f.BPFBTF, f.Unknown = nil, nil, nil, nil
			for i := range f.Events {
				swappedByPerf(&f.Events[i].Attr)
			}
			b, err := rec.Assemble(perftext.Form{Order: abi.BigEndian, AttrSize: abi.AttrSizeVer7})
			if err != nil {
				t.Fatal(err)
			}
			swapped := filepath.Join(t.TempDir(), "perf.data")
			livetest.WriteFile(t, swapped, b)
			compareHeader(t, swapped)
		})
	}
}

// TestHeaderOf32Bit: a 32-bit perf writes the set of features in words of 32 bits,
// and in big-endian order the halves of each 64 then are the other way round.
func TestHeaderOf32Bit(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	rec := perftext.MustParse("event cycles type=hardware\nbuildid id=0123456789abcdef0123456789abcdef01234567 file=/bin/a\nthrottle t=1\n")
	rec.Features.Host = perfdata.Host{
		Hostname: "h", OSRelease: "3.16.0", Arch: "ppc", CPUDesc: "e500v2", TotalMem: 1024,
		CPUs: perfdata.CPUCount{Available: 2, Online: 2}, PMUs: []perfdata.PMU{{Type: 1, Name: "software"}},
		Hybrid: []perfdata.HybridPMU{{PMU: "a", CPUs: "0"}}, // feature 30, near the end of the first word
	}
	rec.Features.Cmdline = []string{"perf", "record"}
	b, err := rec.Assemble(perftext.Form{Order: abi.BigEndian, AttrSize: abi.AttrSizeVer7})
	if err != nil {
		t.Fatal(err)
	}
	for at := 72; at < 104; at += 8 {
		w := b[at : at+8]
		copy(w, append(slices.Clone(w[4:]), w[:4]...))
	}
	file := filepath.Join(t.TempDir(), "perf.data")
	livetest.WriteFile(t, file, b)
	compareHeader(t, file)
}

// A recording that was not closed has announced features that it does not have.
func TestHeaderUnclosed(t *testing.T) {
	rec := perftext.MustParse("event e\nthrottle t=1\n")
	rec.Features.Hostname = "there"
	b, err := rec.Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		closed bool
		want   string
	}{{true, "# hostname : there\n"}, {false, "# missing features: TRACING_DATA BUILD_ID HOSTNAME OSRELEASE "}} {
		if !c.closed {
			const dataSize = 48
			clear(b[dataSize : dataSize+8])
		}
		var out strings.Builder
		if err := hostileReader(t, b).WriteHeader(&out, time.Time{}, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.want) || !c.closed && strings.Contains(out.String(), "# hostname") {
			t.Errorf("closed %v: header is\n%s", c.closed, out.String())
		}
	}
}
