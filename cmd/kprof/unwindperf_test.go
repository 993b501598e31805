//go:build linux

package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/convert/locate"
	recorded "kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/symbolize"
)

// Why perf's stack ends before kprof's does.
const (
	lastWord = "the return address is the last word of the copy, which perf (tools/perf/util/unwind-libunwind-local.c, access_mem) does not read"
	noSearch = "the file has no .eh_frame_hdr, without which perf does not look for call frame information"
	noCopy   = "the copy is empty, of which perf (tools/perf/util/machine.c, thread__resolve_callchain_unwind) makes no stack"
	noFile   = "code without a file, of which perf knows no frame pointer"
	popped   = "the innermost function has popped a register, which perf looks for below the copy"
)

// noRules is why stacks differ at all, where they do: nothing says how to walk on.
const noRules = "a function without call frame information, such as those that compilers add to clean up at exit: perf and kprof guess by frame pointers, and a leaf has none"

// TestLiveWalksOfPerf compares the stack of each sample with a copy with perf's. It is
// the same, or perf's ends earlier, for a reason that is known.
func TestLiveWalksOfPerf(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	livetest.RequirePrograms(t, "gcc", "go", "readelf")
	if runtime.GOARCH != "amd64" {
		t.Skip("what perf does wrong is known on amd64 only")
	}
	dir := t.TempDir()
	goProgram := filepath.Join(dir, "load")
	command(t, nil, "go", "build", "-o", goProgram, "../../testdata/bench/load")
	jit := filepath.Join(dir, "jit")
	command(t, nil, "gcc", "-O2", "-o", jit, "testdata/jit.c")
	spin := filepath.Join(dir, "spin")
	command(t, nil, "gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", spin, "testdata/spin.c")
	for _, x := range []struct {
		name    string
		size    int // of copies
		command []string
		allowed string // why perf's stacks may end early
		certain bool   // and that some do is certain
		stacks  string // what kprof's folded stacks are known to be
		of      string // in lines with this
	}{
		{name: "commands", size: 16384, command: []string{"sh", "-c", "ls -lR /usr/share/doc | sort | md5sum; find /usr/lib/x* | tail -1; awk 'BEGIN { for (i = 0; i < 2000000; i++) s += i; print s }'"}},
		{name: "C", size: 16384, command: []string{spin}, of: ";spin ", stacks: `^spin;_start;[^ ]*;main;(down;){20}spin \d+$`},
		{name: "static", size: 16384, command: []string{buildDeep(t, "-static")}, allowed: noSearch, certain: true,
			of: ";compare", stacks: `^deep;_start;[^ ]*;main;(descend;){4,8}work;[^ ]*;compare[^ ]* \d+$`},
		{name: "Go", size: 65528, command: []string{goProgram, "1"}, allowed: noSearch, certain: true,
			of: ";main.(*worker).call;", stacks: `^load;runtime.goexit.abi0;sync\.\(\*WaitGroup\)\.Go\.func1;main\.main\.func1;main\.\(\*worker\)\.call;`},
		{name: "made code", size: 16384, command: []string{jit, dir}, allowed: noFile, certain: true,
			of: ";run;", stacks: `^jit;_start;[^ ]*;main;run;[^ ;]+(;[^ ]+)? \d+$`},
		// Of 33 words the last is a return address, of 32 it is not.
		{name: "33 words", size: 33 * 8, command: []string{spin}, allowed: lastWord, certain: true, of: ";spin ", stacks: `^spin;(down;){17}spin \d+$`},
		{name: "32 words", size: 32 * 8, command: []string{spin}, of: ";spin ", stacks: `^spin;(down;){16}spin \d+$`},
	} {
		t.Run(x.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "perf.data")
			args := []string{"record", "-q", "-e", "cpu-clock", "-F", "999", "-m", "4M", "--call-graph", fmt.Sprint("dwarf,", x.size), "-o", data, "--"}
			command(t, nil, "perf", append(args, x.command...)...)

			w := compareWalks(t, data)
			for why, n := range w.early {
				if why != x.allowed && why != noCopy && why != popped && why != lastWord {
					t.Errorf("%d of perf's stacks end early: %s", n, why)
				}
			}
			all := w.same + w.early[x.allowed]
			if all < 50 || x.certain && w.early[x.allowed] < 10 {
				t.Errorf("%d stacks are perf's, of %d perf has the beginning: too few to tell", w.same, w.early[x.allowed])
			}
			// In a large copy, and in a small one but for a program that starts or is between two calls,
			// few return addresses are the last word.
			if n := w.early[lastWord]; x.allowed != lastWord && n > all/10 {
				t.Errorf("%d of perf's stacks end early: %s", n, lastWord)
			}
			if w.guessed > w.same/20 {
				t.Errorf("%d stacks differ: %s", w.guessed, noRules)
			}
			t.Logf("%d stacks are perf's, perf has the beginning of %v; %d differ by a guess, %d by what was mapped before exec", w.same, w.early, w.guessed, w.exec)

			if x.stacks == "" {
				return
			}
			known, n := regexp.MustCompile(x.stacks), 0
			for line := range strings.Lines(string(command(t, nil, kprof(t).Path, "convert", data, "-f", "folded", "-o", "-"))) {
				if line = strings.TrimSpace(line); strings.Contains(line, x.of) {
					n++
					if !known.MatchString(line) {
						t.Errorf("not the program's stack: %s", line)
					}
				}
			}
			if n == 0 {
				t.Errorf("no stack with %q", x.of)
			}
		})
	}
}

// walks is how kprof's stacks of a recording and perf's compare.
type walks struct {
	same    int
	early   map[string]int // perf's end before, by why
	guessed int            // they differ by noRules
	exec    int            // perf's are others, but the same once it knows nothing of what was mapped before exec
}

// sampleKey tells a sample from all others. Where the clock of a CPU is not steady the kernel keeps
// it within a tick, so that samples of a thread may be at one time.
type sampleKey struct {
	tid  int32
	time uint64
	nth  int // of those, in the order of the file
}

// keys makes the keys of samples as they come.
type keys map[sampleKey]int

func (k keys) of(tid int32, time uint64) sampleKey {
	key := sampleKey{tid: tid, time: time}
	key.nth = k[key]
	k[key]++
	return sampleKey{tid, time, key.nth}
}

// frame is a place in a file; of its address only what is the same in the file and in
// memory, as versions of perf print either.
type frame struct {
	file string
	off  uint64
}

const pageMask = 0xfff

// compareWalks compares the user parts of all samples' stacks.
func compareWalks(t *testing.T, data string) walks {
	t.Helper()
	patched, execs := forgetExecs(t, data)
	asRecorded, theirs := perfStacks(t, data), perfStacks(t, patched)
	r := perftext.Open(t, data)
	f, err := recorded.Scan(t.Context(), r, recorded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := symbolize.New(symbolize.Options{CallFrames: true})
	defer names.Close()
	set := stacks.New()
	l := locate.New(f.Timeline, set, locate.Options{Unwind: &locate.Unwind{Frames: names.CallFrames}})
	w, samples := walks{early: map[string]int{}}, keys{}
	unexplained := 0
	err = f.Each(t.Context(), func(s *recorded.Sample) {
		locs := l.Append(nil, s)
		l.Complete(locs)
		var ours []frame
		for _, loc := range locs {
			switch x := set.Locations[loc]; {
			case x.Kind == stacks.KindKernel || x.Kind == stacks.KindModule || x.Kind == stacks.KindBPF:
			case x.Mapping < 0:
				ours = append(ours, frame{"[unknown]", x.Addr & pageMask})
			default:
				ours = append(ours, frame{set.Mappings[x.Mapping].File, x.Addr & pageMask})
			}
		}
		key := samples.of(s.TID, s.Time)
		perfs, ok := theirs[key]
		if s.Time < execs[s.PID] { // nothing is mapped in the copy
			perfs, ok = asRecorded[key]
		} else if !slices.Equal(perfs, asRecorded[key]) {
			w.exec++
		}
		switch n := len(perfs); {
		case !ok:
			t.Errorf("perf has no sample of %d at %d", s.TID, s.Time)
		case slices.Equal(perfs, ours):
			w.same++
		case n < len(ours) && slices.Equal(perfs, ours[:n]):
			why, known := whyEarly(ours, n, s.UserStack)
			switch {
			case known:
				w.early[why]++
			case guessed(t, set, locs):
				w.guessed++
			case n > 0 && poppedIn(t, set, locs):
				w.early[popped]++
			default:
				w.early[why]++
			}
		case guessed(t, set, locs):
			w.guessed++
		default:
			if unexplained++; unexplained < 5 {
				t.Errorf("%d at %d: kprof %v, perf %v", s.TID, s.Time, ours, perfs)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if unexplained > 0 {
		t.Errorf("%d stacks differ", unexplained)
	}
	return w
}

// whyEarly returns why perf found no more than n frames of a stack, or where that was.
func whyEarly(stack []frame, n int, copied []byte) (why string, known bool) {
	if i := len(copied) - 8; i >= 0 && (binary.LittleEndian.Uint64(copied[i:])-1)&pageMask == stack[n].off {
		return lastWord, true
	}
	switch {
	case n == 0 && len(copied) == 0:
		return noCopy, true
	case n == 0:
		return "at once", false
	}
	file := stack[n-1].file
	if strings.HasPrefix(file, "//anon") {
		return noFile, true
	}
	if f, err := elf.Open(file); err == nil {
		defer f.Close()
		if f.Section(".eh_frame_hdr") == nil {
			return noSearch, true
		}
	}
	return "in " + file, false
}

// guessed reports whether a stack has a frame in a program or library of which the
// place is in no description of readelf's.
func guessed(t *testing.T, set *stacks.Set, locs []uint32) bool {
	t.Helper()
	return slices.ContainsFunc(locs, func(loc uint32) bool {
		file, addr, ok := inFile(t, set, loc)
		return ok && !described(t, file, addr)
	})
}

// inFile returns where in a program or library a location is.
func inFile(t *testing.T, set *stacks.Set, loc uint32) (file string, addr uint64, ok bool) {
	t.Helper()
	x := set.Locations[loc]
	if x.Kind != stacks.KindUser || x.Mapping < 0 {
		return "", 0, false
	}
	m := set.Mappings[x.Mapping]
	f := livetest.Open(t, elf.Open, m.File)
	off := x.Addr - m.Start + m.Offset
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && off-p.Off < p.Filesz {
			return m.File, p.Vaddr + (off - p.Off), true
		}
	}
	return "", 0, false
}

// poppedIn reports whether the innermost function of a stack is where it has popped rbp, by the row
// that readelf shows: its place is below the stack pointer.
func poppedIn(t *testing.T, set *stacks.Set, locs []uint32) bool {
	t.Helper()
	i := slices.IndexFunc(locs, func(loc uint32) bool { return set.Locations[loc].Kind == stacks.KindUser })
	if i < 0 {
		return false
	}
	file, addr, ok := inFile(t, set, locs[i])
	if !ok {
		return false
	}
	out, err := exec.Command("readelf", "--debug-dump=frames-interp", file).Output()
	if len(out) == 0 {
		t.Fatal(err)
	}
	var within bool
	var columns, row []string // the last row at or before addr
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if m := ranges.FindStringSubmatch(line); m != nil {
			from, _ := strconv.ParseUint(m[1], 16, 64)
			to, _ := strconv.ParseUint(m[2], 16, 64)
			within = addr >= from && addr < to
		} else if within && len(words) > 1 && words[0] == "LOC" {
			columns = words
		} else if at, err := strconv.ParseUint(strings.Join(words[:min(1, len(words))], ""), 16, 64); within && err == nil && at <= addr {
			row = words
		}
	}
	var size, at int64
	for i, name := range columns[:min(len(columns), len(row))] {
		switch {
		case name == "CFA":
			if n, ok := strings.CutPrefix(row[i], "rsp+"); ok {
				size, _ = strconv.ParseInt(n, 10, 64)
			}
		case name == "rbp":
			if n, ok := strings.CutPrefix(row[i], "c-"); ok {
				at, _ = strconv.ParseInt(n, 10, 64)
			}
		}
	}
	return size > 0 && at > size
}

var ranges = regexp.MustCompile(`FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)`)

// described reports whether readelf shows a description of the frames at an address.
func described(t *testing.T, file string, addr uint64) bool {
	t.Helper()
	out, err := exec.Command("readelf", "--debug-dump=frames", file).Output()
	if len(out) == 0 { // it fails if it has warned of other sections
		t.Fatal(err)
	}
	for _, m := range ranges.FindAllStringSubmatch(string(out), -1) {
		from, _ := strconv.ParseUint(m[1], 16, 64)
		to, _ := strconv.ParseUint(m[2], 16, 64)
		if addr >= from && addr < to {
			return true
		}
	}
	return false
}

var sampleHeader = regexp.MustCompile(`^ *(\d+) +(\d+)\.(\d{9}):`)

// sampleLine is the sample that a line with its thread and time begins.
func sampleLine(line string) (tid int32, time uint64, ok bool) {
	m := sampleHeader.FindStringSubmatch(line)
	if m == nil {
		return 0, 0, false
	}
	n, _ := strconv.Atoi(m[1])
	time, _ = strconv.ParseUint(m[2]+m[3], 10, 64)
	return int32(n), time, true
}

// perfStacks returns the user part of each sample's stack as perf walks it.
func perfStacks(t *testing.T, data string) map[sampleKey][]frame {
	t.Helper()
	all, samples := map[sampleKey][]frame{}, keys{}
	var key sampleKey
	for line := range strings.Lines(string(command(t, nil, "perf", "script", "--no-inline", "--ns", "-F", "tid,time,ip,sym,symoff,dso", "-i", data))) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			continue
		}
		if tid, time, ok := sampleLine(line); ok {
			key = samples.of(tid, time)
			all[key] = nil
			continue
		}
		addr, err := strconv.ParseUint(strings.Fields(line)[0], 16, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if file := line[strings.LastIndex(line, " (")+2 : len(line)-1]; addr>>63 == 0 {
			if strings.HasPrefix(file, "/tmp/perf-") {
				file = "//anon"
			}
			all[key] = append(all[key], frame{file, addr & pageMask})
		}
	}
	return all
}

// forgetExecs copies a recording without what processes had mapped before their last
// exec, and returns the time of that for each: perf 6.1 keeps these maps. It takes a file
// to be mapped from the lowest address on at which it ever was, and finds no call frame
// information, or another's, where that is not so (unwind-libunwind-local.c,
// read_unwind_spec_eh_frame).
func forgetExecs(t *testing.T, data string) (copied string, execs map[int32]uint64) {
	t.Helper()
	whole, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	r := perftext.Open(t, data)
	each := func(do func(rec *perfdata.Record, l *abi.Layout, time uint64) error) {
		for rec, err := range r.Records() {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type == abi.RecordMmap2 || rec.Type == abi.RecordComm || rec.Type == abi.RecordFork {
				l := &r.Events.OfOther(rec.Payload).Layout
				f, _ := l.DecodeTrailer(rec.Payload)
				if err := do(rec, l, f.Time); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	execs = map[int32]uint64{}
	each(func(rec *perfdata.Record, l *abi.Layout, time uint64) error {
		if rec.Type != abi.RecordComm {
			return nil
		}
		c, err := l.DecodeComm(rec.Header, rec.Payload)
		if c.Exec {
			execs[c.PID] = max(execs[c.PID], time)
		}
		return err
	})
	each(func(rec *perfdata.Record, l *abi.Layout, time uint64) error {
		payload := whole[rec.Offset+abi.HeaderSize:]
		switch rec.Type {
		case abi.RecordMmap2:
			m, err := l.DecodeMmap(rec.Header, rec.Payload)
			if time < execs[m.PID] {
				payload[64] = '?' // its file
			}
			return err
		case abi.RecordFork:
			f, err := l.DecodeTask(rec.Payload)
			if f.PID != f.PPID && time < execs[f.PID] {
				clear(payload[4:8]) // of process 0
				clear(payload[12:16])
			}
			return err
		}
		return nil
	})
	copied = filepath.Join(t.TempDir(), "perf.data")
	livetest.WriteFile(t, copied, whole)
	return copied, execs
}
