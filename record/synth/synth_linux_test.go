package synth

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs/procfstest"
)

// sidebandAttr is that of a session's side-band without build ids.
func sidebandAttr() abi.Attr {
	e := perfevent.Sideband(perfevent.Features{Sideband: abi.FlagCommExec | abi.FlagKsymbol}, false)
	return e.Attr
}

// synthFile writes what Describe says into a perf.data.
func synthFile(t *testing.T, opts Options) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "synth.data"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := perfdata.NewWriter(f, []abi.Event{{Name: "dummy", Attr: opts.Attr, IDs: []uint64{opts.ID}}}, perfdata.Features{}, perfdata.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Describe(opts, func(rec []byte) error { return w.Write(rec, nil) }); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(perfdata.Features{}); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// describes has perf print the records of a file that describe processes: those
// of pids, without times and trailers.
func describes(t *testing.T, name string, pids map[string]bool) []string {
	t.Helper()
	cmd := livetest.PerfCommand(t, "script", "--show-task-events", "--show-mmap-events", "-i", name)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %s", err, errs.String())
	}
	who := regexp.MustCompile(`^(PERF_RECORD_(?:MMAP2? (-?\d+)/|FORK\((\d+):|COMM: .*:(\d+)/)).*`)
	var l []string
	for line := range strings.Lines(string(out)) {
		i := strings.Index(line, "PERF_RECORD_")
		if i < 0 {
			continue
		}
		line = strings.TrimSpace(line[i:])
		m := who.FindStringSubmatch(line)
		if m == nil || !pids[m[2]+m[3]+m[4]] {
			continue
		}
		l = append(l, line)
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// TestDescribePerf compares with what perf says of the same processes.
func TestDescribePerf(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	livetest.ChangeMachine(t) // perf 6.1 aborts at what others record while --buildid-mmap does: see perfdata.TestBuildIDsOfPerf
	for _, buildIDs := range []bool{false, true} {
		t.Run(fmt.Sprintf("buildids=%v", buildIDs), func(t *testing.T) {
			still := exec.Command("sh", "-c", "echo ready; read line")
			in, err := still.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			livetest.StartWaiting(t, still) // which has mapped all that it will
			attr := sidebandAttr()
			args := []string{"record", "-q", "-a", "-e", "cpu-clock"}
			if buildIDs {
				attr.Flags |= abi.FlagBuildID
				args = append(args, "--buildid-mmap")
			}
			theirs := filepath.Join(t.TempDir(), "perf.data")
			before := processes()
			if out, err := livetest.PerfCommand(t, append(args, "-o", theirs, "true")...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			ours := synthFile(t, Options{Attr: attr, ID: 7})

			// Processes that kept still: ourselves they are not.
			pids := map[string]bool{"-1": true, fmt.Sprint(still.Process.Pid): true}
			for pid, is := range processes() {
				if before[pid] == is {
					pids[pid] = true
				}
			}
			want, got := describes(t, theirs, pids), describes(t, ours, pids)
			ignore := func(s string) bool { // kworkers change their names as they work
				return strings.Contains(s, "COMM: kworker") || strings.Contains(s, "[vsyscall]")
			}
			want, got = slices.DeleteFunc(want, ignore), slices.DeleteFunc(got, ignore)
			if len(want) < 20 {
				t.Errorf("perf has only %d records", len(want))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-perf +ours\n%s", d)
			}
			t.Logf("%d records", len(got))
		})
	}
}

// processes returns what the first processes of the machine have mapped, and their threads.
// perf leaves out the threads of those whose maps it may not see.
func processes() map[string]string {
	all := map[string]string{}
	for pid := 1; pid < 200; pid++ {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			continue
		}
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		all[fmt.Sprint(pid)] = string(maps) + strings.Join(threads, " ")
	}
	return all
}

// decoded is a record of Describe.
type decoded struct {
	h       abi.Header
	trailer abi.SampleIDFields
	payload []byte
}

func synthesize(t testing.TB, opts Options) []decoded {
	t.Helper()
	layout := abi.NewLayout(&opts.Attr, abi.LittleEndian)
	var l []decoded
	err := Describe(opts, func(rec []byte) error {
		rec = bytes.Clone(rec)
		h := abi.DecodeHeader(rec, abi.LittleEndian)
		if int(h.Size) != len(rec) || len(rec)%8 != 0 {
			t.Errorf("record %v of %d bytes", h, len(rec))
		}
		f, ok := layout.DecodeTrailer(rec[abi.HeaderSize:])
		if !ok || f.ID != opts.ID {
			t.Errorf("record %v: trailer %+v, %v", h, f, ok)
		}
		l = append(l, decoded{h, f, rec[abi.HeaderSize:]})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestDescribeSelf(t *testing.T) {
	livetest.Require(t, livetest.Root)
	opts := Options{Attr: sidebandAttr(), ID: 42, PIDs: []int{unix.Gettid(), os.Getpid()}}
	clock, err := perfevent.NewClock(&opts.Attr)
	if err != nil {
		t.Fatal(err)
	}
	before := clock.Now()
	layout := abi.NewLayout(&opts.Attr, abi.LittleEndian)
	threads, forks, leaders, text, kernels := 0, 0, 0, 0, 0
	for _, r := range synthesize(t, opts) {
		switch r.h.Type {
		case abi.RecordMmap:
			kernels++
			if r.trailer.Time != 0 {
				t.Errorf("the kernel's map has time %d", r.trailer.Time)
			}
		case abi.RecordFork:
			forks++
			if f, err := layout.DecodeTask(r.payload); err != nil || f.PID != int32(os.Getpid()) {
				t.Errorf("%+v, %v", f, err)
			}
			fallthrough
		case abi.RecordComm, abi.RecordMmap2:
			if r.trailer.Time < before-uint64(time.Millisecond) || r.trailer.Time > clock.Now() {
				t.Errorf("%v at %d, before it was %d", r.h, r.trailer.Time, before)
			}
			if r.h.Type == abi.RecordComm {
				threads++
				if r.trailer.TID == int32(os.Getpid()) {
					leaders++
				}
			}
			if m, err := layout.DecodeMmap(r.h, r.payload); r.h.Type == abi.RecordMmap2 {
				if err != nil {
					t.Error(err)
				}
				if m.Prot&unix.PROT_EXEC == 0 {
					t.Errorf("map that is not executable: %+v", m)
				}
				if exe, _ := os.Readlink("/proc/self/exe"); m.File == exe {
					text++
				}
			}
		}
	}
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	if leaders != 1 || forks != threads || threads < 2 || threads < len(entries)-3 || text != 1 || kernels == 0 {
		t.Errorf("%d names, %d of leaders, %d forks for %d threads; %d times our text, %d kernel maps",
			threads, leaders, forks, len(entries), text, kernels)
	}
}

func TestDescribeKernelOnly(t *testing.T) {
	for _, r := range synthesize(t, Options{Attr: sidebandAttr(), KernelOnly: true}) {
		if r.h.Type != abi.RecordMmap && r.h.Type != abi.RecordKsymbol {
			t.Errorf("record %v", r.h)
		}
	}
	for _, r := range synthesize(t, Options{Attr: sidebandAttr(), PIDs: []int{1 << 29}}) {
		if r.h.Type == abi.RecordComm {
			t.Errorf("record %v of no process", r.h)
		}
	}
}

func TestDescribeCgroups(t *testing.T) {
	livetest.Require(t, livetest.Root)
	if cgroupRoot("") == "" {
		t.Skip("no cgroups are mounted")
	}
	attr := sidebandAttr()
	attr.Flags |= abi.FlagCgroup
	layout := abi.NewLayout(&attr, abi.LittleEndian)
	paths := map[string]bool{}
	for _, r := range synthesize(t, Options{Attr: attr, KernelOnly: true}) {
		if r.h.Type == abi.RecordCgroup {
			c, err := layout.DecodeCgroup(r.payload)
			if err != nil || c.ID == 0 {
				t.Errorf("%+v, %v", c, err)
			}
			paths[c.Path] = true
		}
	}
	if !paths["/"] {
		t.Errorf("cgroups %v", paths)
	}
}

func TestParseMaps(t *testing.T) {
	tests := []struct {
		line string
		want mapping
		name string
	}{
		{
			"7f0c1000-7f0c3000 r-xp 00001000 fe:1a 1234                       /usr/lib/libc.so.6",
			mapping{addr: 0x7f0c1000, len: 0x2000, off: 0x1000, prot: 5, flags: 2, file: fileID{0xfe, 0x1a, 1234}}, "/usr/lib/libc.so.6",
		},
		{"1000-2000 rwxs 00000000 00:01 5 /a b (deleted)", mapping{addr: 0x1000, len: 0x1000, prot: 7, flags: 1, file: fileID{0, 1, 5}}, "/a b (deleted)"},
		{"1000-2000 --xp 00000000 00:00 0 ", mapping{addr: 0x1000, len: 0x1000, prot: 4, flags: 2}, "//anon"},
		{"1000-2000 --xp 00000000 00:00 0", mapping{addr: 0x1000, len: 0x1000, prot: 4, flags: 2}, "//anon"},
		{"1000-2000 r-xp 00000000 00:00 0    [anon:heap]", mapping{addr: 0x1000, len: 0x1000, prot: 5, flags: 2}, "//anon"},
		{`1000-2000 r-xp 00000000 00:00 1 /a\012b\134`, mapping{addr: 0x1000, len: 0x1000, prot: 5, flags: 2, file: fileID{0, 0, 1}}, "/a\nb\\134"},
	}
	for _, tt := range tests {
		var m mapping
		ok := m.parse([]byte(tt.line))
		name := string(m.name)
		m.name = nil
		if !ok || name != tt.name || !cmp.Equal(m, tt.want, cmp.AllowUnexported(mapping{}, fileID{})) {
			t.Errorf("%q: %+v %q, %v", tt.line, m, name, ok)
		}
	}
	for _, bad := range []string{"", "x", "1000 r-xp 0 0:0 0", "1000-2000 r 0 0:0 0", "1000-2000 r-xp 0 0 0", "1g00-2000 r-xp 0 0:0 0"} {
		var m mapping
		if m.parse([]byte(bad)) {
			t.Errorf("%q: %+v", bad, m)
		}
	}
}

func TestParseStat(t *testing.T) {
	st, ok := parseStat([]byte("12 (a) b (c) S 7 1 1 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 33 0 5\n"))
	if !ok || string(st.comm) != "a) b (c" || st.ppid != 7 || !st.kernel || st.threads != 33 {
		t.Errorf("%+v, %v", st, ok)
	}
	for _, bad := range []string{"", "12 (a", "12 a) S 7", "12 (a) S x 1", "12 (a) S 7 1 1"} {
		if st, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q: %+v", bad, st)
		}
	}
}

func TestReadKallsyms(t *testing.T) {
	const text = "ffffffff81000000 T _stext\nffffffff81000010 T _text\nffffffff82000000 T _etext\n" +
		"ffffffffc0002000 t bpf_prog_b\t[bpf]\nffffffffc0001000 t bpf_prog_a\t[bpf]\nffffffffc0003000 t _text\t[mod]\n"
	k, err := readKallsyms(strings.NewReader(text), "kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	want := kallsyms{
		start: 0xffffffff81000010, end: 0xffffffff82000000, startName: "_text",
		bpf: []kernelSymbol{{0xffffffffc0001000, "bpf_prog_a"}, {0xffffffffc0002000, "bpf_prog_b"}},
	}
	if d := cmp.Diff(want, k, cmp.AllowUnexported(kallsyms{}, kernelSymbol{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func BenchmarkDescribe(b *testing.B) {
	attr := sidebandAttr()
	attr.Flags |= abi.FlagBuildID
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := Describe(Options{Attr: attr}, func([]byte) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/float64(b.N), "records/op")
}

func TestReadKallsymsOdd(t *testing.T) {
	k, err := readKallsyms(strings.NewReader(procfstest.Kallsyms), "kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	want := kallsyms{
		start: 0xffffffff81000000, end: 0xffffffff81000500, startName: "_text",
		bpf: []kernelSymbol{{0xffffffffc0001000, "bpf_prog_0123456789abcdef_f"}},
	}
	if d := cmp.Diff(want, k, cmp.AllowUnexported(kallsyms{}, kernelSymbol{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
