package perfdata

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// requirePerf needs perf itself, and that it may record.
func requirePerf(t *testing.T) {
	t.Helper()
	livetest.Require(t, livetest.Perf, livetest.Root, livetest.Tracefs)
}

const tracefsRoot = "/sys/kernel/tracing/events"

// lostWarning is what perf says of a recording made on a busy machine: of losses, and where a CPU
// stood still between the time of a record and its way into the ring.
var lostWarning = regexp.MustCompile(`Warning:\n(Processed \d+ \w+ and lost .*!\n\n(Check IO/CPU overload!\n\n)?|\d+ out of order events recorded\.\n+)`)

// perf runs perf, wants it to succeed without a word on standard error but of what
// was lost, and returns its output.
func perf(t *testing.T, stdin io.Reader, args ...string) string {
	t.Helper()
	cmd := livetest.PerfCommand(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	if err := cmd.Run(); err != nil || len(lostWarning.ReplaceAll(errs.Bytes(), nil)) > 0 {
		t.Fatalf("perf %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

// perfRecord records something with perf and returns the file's bytes. perf 6.1
// aborts when it meets a program with an odd build id, as other tests may run.
func perfRecord(t *testing.T, args ...string) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "perf.data")
	// Buffers in which nothing is lost while the machine is busy: perf warns of
	// what was, whenever it reads the file.
	args = append([]string{"record", "-q", "--sample-cpu", "-m", "16M", "-o", name}, args...)
	for try := 1; ; try++ {
		out, err := livetest.PerfCommand(t, args...).CombinedOutput()
		if err == nil {
			break
		}
		if try == 3 {
			t.Fatalf("perf %v: %v\n%s", args, err, out)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sink is what both writers are.
type sink interface {
	Write(a, b []byte) error
	FinishRound() error
	Close(Features) error
}

// replay copies the data of a recording into a writer, as rings would deliver
// it: round by round, in pieces that wrap anywhere, and without what only perf
// writes.
func replay(t *testing.T, file []byte, open func([]abi.Event, Features) sink, each func(samples int)) {
	t.Helper()
	r := parseHead(t, file)
	// What only the end of a recording knows is not early.
	early := r.features
	early.SampleTime, early.BuildIDs = SampleTime{}, nil
	s := open(r.features.Events, early)
	data := file[r.header.data.off:][:r.header.data.size]
	rng := rand.New(rand.NewPCG(1, 2))
	samples := 0
	for len(data) > 0 {
		h := abi.DecodeHeader(data, abi.LittleEndian)
		rec := data[:h.Size]
		data = data[h.Size:]
		var err error
		switch h.Type {
		case abi.RecordFinishedRound:
			err = s.FinishRound()
		case abi.RecordSample:
			samples++
			fallthrough
		default:
			cut := rng.IntN(len(rec))
			err = s.Write(rec[:cut], rec[cut:])
		}
		if err != nil {
			t.Fatal(err)
		}
		if each != nil {
			each(samples)
		}
	}
	if err := s.Close(Features{BuildIDs: r.features.BuildIDs}); err != nil {
		t.Fatal(err)
	}
}

// parseHead reads header, events and features of a real recording.
func parseHead(t *testing.T, file []byte) (r recording) {
	t.Helper()
	var err error
	if r.header, err = readFileHeader(bytes.NewReader(file), abi.LittleEndian, int64(len(file))); err != nil {
		t.Fatal(err)
	}
	bodies := fileFeatures(file)
	for _, id := range slices.Sorted(func(yield func(Feature) bool) {
		for id := range bodies {
			if !yield(id) {
				return
			}
		}
	}) {
		if err := r.features.Decode(id, bodies[id], abi.LittleEndian); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// liveRecordings are of commands only: perf script opens the perf map of any process
// that still runs, in the process's own namespaces, and waits for ever where that is a
// FIFO, as those of other tests' processes are.
var liveRecordings = map[string][]string{
	"cpu-clock":  {"-e", "cpu-clock", "-g", "--", "sh", "-c", "ls -R /usr/lib > /dev/null & ls -R /usr/lib > /dev/null; wait"},
	"tracepoint": {"-e", "sched:sched_switch", "-g", "--", "sh", "-c", "for i in $(seq 40); do ls / & ls /; wait; done"},
	"three":      {"-e", "cpu-clock,sched:sched_switch,syscalls:sys_enter_openat", "--", "sh", "-c", "ls -R /usr/lib > /dev/null & ls -R /usr/lib > /dev/null; wait"},
	"group":      {"-e", "{cpu-clock,page-faults}", "--", "ls", "-R", "/usr/lib"},
}

// TestWriterPerf writes recordings of perf anew and compares what perf makes of
// both.
func TestWriterPerf(t *testing.T) {
	requirePerf(t)
	for name, args := range liveRecordings {
		t.Run(name, func(t *testing.T) {
			writesAnew(t, perfRecord(t, args...), name == "tracepoint", false)
		})
	}
}

// TestBuildIDsOfPerf writes a recording that has a build id in each record of a map anew. On Linux
// (6.18) a recorder that asks for them makes the maps in the rings of older ones look as if they
// had some, at which perf 6.1 aborts (misc is not restored after an event,
// kernel/events/core.c, perf_event_mmap_output).
func TestBuildIDsOfPerf(t *testing.T) {
	requirePerf(t)
	livetest.ChangeMachine(t)
	file := perfRecord(t, "--buildid-mmap", "-e", "cpu-clock", "-k", "mono", "--", "ls", "-R", "/usr/lib")
	writesFeaturesAgain(t, file)
	writesAnew(t, file, false, true)
}

// writesAnew writes a recording of perf anew, and through a pipe. With tracepoint it has fields to
// be printed, and with buildIDs records of maps that have build ids.
func writesAnew(t *testing.T, original []byte, tracepoint, buildIDs bool) {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in.data")
	livetest.WriteFile(t, in, original)
	f := tempFile(t)
	replay(t, original, func(events []abi.Event, early Features) sink {
		w, err := NewWriter(f, events, early, WriterOptions{BatchBytes: 1 << 14})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}, nil)
	out := f.Name()

	for _, view := range [][]string{
		// Without symbols: programs may change while this goes on.
		{"script", "-F", "-sym,-symoff"},
		{"script", "-F", "-sym,-symoff", "--show-mmap-events", "--show-task-events"},
		{"report", "--stdio", "--sort", "comm,dso", "-g", "none"},
		{"report", "--stdio", "--header-only", "-I"},
		{"evlist", "-v"},
		{"buildid-list"},
	} {
		a := perf(t, nil, append(view, "-i", in)...)
		b := perf(t, nil, append(view, "-i", out)...)
		if buildIDs { // perf does not look for times then
			a, b = withoutTimes(a), withoutTimes(b)
		}
		if d := difference(withoutPlaces(a), withoutPlaces(b)); d != "" {
			t.Errorf("perf %v: -perf's file +ours\n%s", view, d)
		}
	}
	wantStats, gotStats := stats(perf(t, nil, "report", "--stats", "-i", in)), stats(perf(t, nil, "report", "--stats", "-i", out))
	if d := difference(wantStats, gotStats); d != "" {
		t.Errorf("stats: -perf's file +ours\n%s", d)
	}
	injected := out + ".injected"
	perf(t, nil, "inject", "-i", out, "-o", injected)
	if d := difference(perf(t, nil, "script", "-F", "-sym,-symoff", "-i", out), perf(t, nil, "script", "-F", "-sym,-symoff", "-i", injected)); d != "" {
		t.Errorf("after inject:\n%s", d)
	}

	// And through a pipe.
	var pipe bytes.Buffer
	replay(t, original, func(events []abi.Event, early Features) sink {
		s, err := NewStreamWriter(&pipe, events, early, WriterOptions{BatchBytes: 1 << 14})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, nil)
	// Without -F perf prints less of callchains from any pipe.
	fields := "comm,pid,tid,cpu,time,event,ip,sym,dso"
	b := perf(t, bytes.NewReader(pipe.Bytes()), "script", "-F", fields, "-i", "-")
	if d := difference(perf(t, nil, "script", "-F", fields, "-i", in), b); d != "" {
		t.Errorf("perf script of the pipe:\n%s", d)
	}
	if tracepoint && !strings.Contains(perf(t, bytes.NewReader(pipe.Bytes()), "script", "-i", "-"), "prev_comm=") {
		t.Error("perf script of the pipe prints no fields")
	}
	perf(t, bytes.NewReader(pipe.Bytes()), "report", "--stdio", "-i", "-")
	head := perf(t, bytes.NewReader(pipe.Bytes()), "report", "--stdio", "--header-only", "-i", "-")
	if !strings.Contains(head, "# os release : ") || !strings.Contains(head, "# cmdline : ") {
		t.Errorf("header of the pipe:\n%s", head)
	}
}

var (
	places  = regexp.MustCompile(`(?m)^# (\(Tip|captured on|header version|data offset|data size|feat offset|missing features).*\n`)
	vdsoTmp = regexp.MustCompile(`/tmp/perf-vdso\.so-\w+`)
	sizes   = regexp.MustCompile(`(\btype(?: =|:) \d+, size)(?: =|:) \d+`) // of attributes: perf writes all that it knows
)

// withoutPlaces blanks what two files of the same recording need not share, and
// what perf makes up on each run.
func withoutPlaces(s string) string {
	s = sizes.ReplaceAllString(places.ReplaceAllString(s, ""), "$1")
	return vdsoTmp.ReplaceAllString(s, "[vdso]")
}

func withoutTimes(s string) string {
	return regexp.MustCompile(`(?m)^# (time of|sample duration).*\n`).ReplaceAllString(s, "")
}

// stats are the counts of perf report --stats without rounds and percentages.
func stats(s string) string {
	var l []string
	for line := range strings.Lines(s) {
		line, _, _ = strings.Cut(line, "(")
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "FINISHED") && !strings.HasPrefix(line, "TOTAL") {
			l = append(l, line)
		}
	}
	return strings.Join(l, "\n")
}

// difference returns the lines at which two texts begin to differ, "" when they are
// the same. They may be of millions of lines.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("from line %d of %d and %d\n-%s\n+%s", i+1, len(w), len(g),
				strings.Join(w[min(i, len(w)):min(i+5, len(w))], "\n-"), strings.Join(g[min(i, len(g)):min(i+5, len(g))], "\n+"))
		}
	}
	return ""
}

// TestWriterKilledPerf has perf read what is left of a recording that was killed
// at random moments.
func TestWriterKilledPerf(t *testing.T) {
	requirePerf(t)
	for _, name := range []string{"cpu-clock", "tracepoint", "three"} {
		t.Run(name, func(t *testing.T) {
			// Rings that fill, so that there are rounds to commit.
			original := perfRecord(t, append([]string{"-m", "32K"}, liveRecordings[name]...)...)
			f := tempFile(t)
			var w *Writer
			type state struct {
				header  []byte
				samples int
				min     int64
			}
			var states []state
			replay(t, original, func(events []abi.Event, early Features) sink {
				var err error
				if w, err = NewWriter(f, events, early, WriterOptions{BatchBytes: 1 << 12}); err != nil {
					t.Fatal(err)
				}
				return w
			}, func(samples int) {
				if n := len(states); n > 0 && states[n-1].min == w.committed+int64(len(w.table)) {
					return
				}
				header := make([]byte, fileHeaderSize)
				if _, err := f.ReadAt(header, 0); err != nil {
					t.Fatal(err)
				}
				states = append(states, state{header, samples, w.committed + int64(len(w.table))})
			})
			final, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(3, 4))
			killed := filepath.Join(t.TempDir(), "killed.data")
			for range 8 {
				s := states[rng.IntN(len(states))]
				end := s.min + rng.Int64N(int64(len(final))-s.min)
				if rng.IntN(3) == 0 {
					end = s.min // right after the commit
				}
				livetest.WriteFile(t, killed, append(bytes.Clone(s.header), final[fileHeaderSize:end]...))
				// Without symbols: what the samples fell into may be rewritten by now, at which perf dies.
				perf(t, nil, "script", "-F", "comm,pid,tid,time,event,ip", "-i", killed)
				if s.samples > 0 { // else perf complains that there is nothing to report
					perf(t, nil, "report", "--stdio", "--sort", "comm", "-g", "none", "-i", killed)
				}
				perf(t, nil, "inject", "-i", killed, "-o", killed+".injected")
				got := stats(perf(t, nil, "report", "--stats", "-i", killed))
				var n, total int
				for line := range strings.Lines(got) {
					if c, _ := fmt.Sscanf(line, "SAMPLE events: %d", &n); c == 1 {
						total = n // the first is of all events
						break
					}
				}
				if total != s.samples {
					t.Errorf("perf sees %d samples, %d were committed (data until %d, file until %d)\n%s", total, s.samples, s.min, end, got)
				}
			}
			t.Logf("%d commits", len(states))
		})
	}
}

// TestWriterFullDisk fills a small file system.
func TestWriterFullDisk(t *testing.T) {
	requirePerf(t)
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	f, err := os.Create(filepath.Join(dir, "perf.data"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := NewWriter(f, testEvents(), Features{Version: "1"}, WriterOptions{BatchBytes: 1 << 15})
	if err != nil {
		t.Fatal(err)
	}
	n, committed := 0, 0
	for err == nil {
		n++
		if err = w.Write(sampleAt(uint64(n)), nil); err == nil && n%100 == 0 {
			before := w.committed
			if err = w.FinishRound(); err == nil && w.committed != before {
				committed = n
			}
		}
		if n > 1<<20 {
			t.Fatal("the file system does not fill")
		}
	}
	if !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v", err)
	}
	var late Features
	late.Hostname = "box"
	if cerr := w.Close(late); cerr == nil || cerr.Error() != err.Error() {
		t.Errorf("Close: %v", cerr)
	}
	file, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	r := parseFile(t, file)
	if len(r.times) != committed || r.features.Hostname != "box" || r.features.SampleTime.Last != uint64(committed) {
		t.Errorf("%d samples of %d committed, features %+v", len(r.times), committed, r.features)
	}
	perf(t, nil, "script", "-i", f.Name())
}
