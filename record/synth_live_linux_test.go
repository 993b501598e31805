//go:build amd64 || arm64

package record

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/record/synth"
)

func init() { shift = shifter }

// shifter is a program that changes what its text is, again and again, and says
// so: it maps the text of another file with the same content over its own, and
// after some turns executes that file, which does the same. Each line on standard
// output is
//
//	pid before after path
//
// with path being the file of the text from `after` on, and times of
// CLOCK_MONOTONIC_RAW in ns; between the two it may be this or the one before.
func shifter(files []string, at int) {
	raw := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
			panic(err)
		}
		return ts.Nano()
	}
	say := func(before int64, path string) {
		fmt.Printf("%d %d %d %s\n", os.Getpid(), before, raw(), path)
	}
	started, err := strconv.ParseInt(os.Getenv("KPROF_SHIFTED"), 10, 64)
	if err != nil {
		panic(err)
	}
	say(started, files[at])
	for range 3 {
		burn(4 * time.Millisecond)
		at = (at + 1) % len(files)
		before := raw()
		if err := coverText(files[at]); err != nil {
			panic(err)
		}
		say(before, files[at])
	}
	burn(4 * time.Millisecond)
	at = (at + 1) % len(files)
	os.Setenv("KPROF_SHIFTED", strconv.FormatInt(raw(), 10))
	os.Setenv("KPROF_SHIFTER", strconv.Itoa(at))
	panic(unix.Exec(files[at], os.Args, os.Environ()))
}

var burned int

// burn computes, in the text of the program rather than in the vdso.
func burn(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for i := range 20_000 {
			burned += i ^ burned
		}
	}
}

// coverText maps the text of path over the text of this program.
func coverText(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := textSegment(f)
	if err != nil {
		return err
	}
	size := (p.Filesz + 4095) &^ 4095
	_, _, errno := unix.Syscall6(unix.SYS_MMAP, uintptr(p.Vaddr), uintptr(size), unix.PROT_READ|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_FIXED, f.Fd(), uintptr(p.Off))
	if errno != 0 {
		return errno
	}
	return nil
}

func textSegment(r io.ReaderAt) (elf.ProgHeader, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return elf.ProgHeader{}, err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			return p.ProgHeader, nil
		}
	}
	return elf.ProgHeader{}, fmt.Errorf("no text in an %v file", f.Type)
}

// records is a Sink that keeps everything, and closes enough when it has had so many
// samples of some processes.
type records struct {
	all    []decoded
	of     map[int32]bool
	wanted int
	enough chan struct{}
}

func (r *records) FinishRound() error { return nil }

func (r *records) Write(a, b []byte) error {
	all := append(bytes.Clone(a), b...)
	for len(all) > 0 {
		h := abi.DecodeHeader(all, abi.LittleEndian)
		payload := all[abi.HeaderSize:h.Size]
		r.all = append(r.all, decoded{h: h, payload: payload})
		if h.Type == abi.RecordSample && r.of[int32(abi.LittleEndian.Uint32(payload[16:]))] { // identifier, ip, pid
			if r.wanted--; r.wanted == 0 {
				close(r.enough)
			}
		}
		all = all[h.Size:]
	}
	return nil
}

// decoded is a record, of which records keeps header and payload.
type decoded struct {
	h       abi.Header
	payload []byte
}

// said is a line of a shifter.
type said struct {
	before, after uint64
	path          string
}

// TestSynthesizeMeanwhile records programs that exec and mmap all the time, also
// while synth describes them, and checks each sample against what the
// program said that its text was.
func TestSynthesizeMeanwhile(t *testing.T) {
	livetest.Require(t, livetest.Root)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	text, err := textSegment(bytes.NewReader(self))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var files []string
	for i := range 3 {
		files = append(files, filepath.Join(dir, fmt.Sprintf("copy%d", i)))
		if err := os.WriteFile(files[i], self, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	var shifters []*exec.Cmd
	var outs []*bytes.Buffer
	for i := range 4 {
		cmd := exec.Command(files[i%3], strings.Join(files, ":"))
		cmd.Env = append(os.Environ(), fmt.Sprintf("KPROF_SHIFTER=%d", i%3), "KPROF_SHIFTED=0", "GOMAXPROCS=1")
		out := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		shifters, outs = append(shifters, cmd), append(outs, out)
	}
	time.Sleep(200 * time.Millisecond)

	// Four seconds of CPU time; most samples are not in doubt, and every shifter maps
	// text each 4 ms.
	got, side := &records{of: map[int32]bool{}, wanted: 8000, enough: make(chan struct{})}, abi.Event{}
	for _, cmd := range shifters {
		got.of[int32(cmd.Process.Pid)] = true
	}
	specs, err := event.ParseSpecs("cpu-clock")
	if err != nil {
		t.Fatal(err)
	}
	var s *Session
	s, err = Open(context.Background(), Options{
		Specs: specs, Target: Target{AllCPUs: true}, Frequency: 2000, NoCallchain: true, RingSize: 4 << 20,
		Synthesize: func(write func([]byte) error) error {
			side = s.Events()[1]
			// A slow machine: all of it happens several times before samples come.
			return synth.Describe(synth.Options{Attr: side.Attr, ID: side.IDs[0]}, func(rec []byte) error {
				time.Sleep(200 * time.Microsecond)
				return write(rec)
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	go func() {
		select {
		case <-got.enough:
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, err := s.Run(ctx, got); err != nil {
		t.Fatal(err)
	}
	clock, err := perfevent.NewClock(&side.Attr)
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range shifters {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}

	said := map[int32][]said{}
	for i, out := range outs {
		said[int32(shifters[i].Process.Pid)] = parseSaid(t, out, clock)
	}
	sampleAttr := s.Events()[0].Attr
	checkText(t, got.all, &sampleAttr, &side.Attr, said, text)
}

func parseSaid(t *testing.T, out io.Reader, clock perfevent.Clock) (l []said) {
	t.Helper()
	for sc := bufio.NewScanner(out); sc.Scan(); {
		var pid int
		var before, after int64
		var path string
		if n, _ := fmt.Sscanf(sc.Text(), "%d %d %d %s", &pid, &before, &after, &path); n != 4 {
			continue // killed as it wrote
		}
		// Clocks were compared to a few microseconds.
		const slack = 20_000
		l = append(l, said{uint64(before + clock.Offset - slack), uint64(after + clock.Offset + slack), path})
	}
	return l
}

// checkText replays the records of the programs in the order of their times and
// compares the file at each sample's address with what the program said.
func checkText(t *testing.T, all []decoded, sampleAttr, sideAttr *abi.Attr, saids map[int32][]said, text elf.ProgHeader) {
	t.Helper()
	samples := abi.NewLayout(sampleAttr, abi.LittleEndian)
	side := abi.NewLayout(sideAttr, abi.LittleEndian)
	time := func(d *decoded) uint64 {
		if d.h.Type == abi.RecordSample {
			return abi.LittleEndian.Uint64(d.payload[samples.TimeOffset():])
		}
		f, _ := side.DecodeTrailer(d.payload)
		return f.Time
	}
	slices.SortStableFunc(all, func(a, b decoded) int {
		ta, tb := time(&a), time(&b)
		switch {
		case ta < tb:
			return -1
		case ta > tb:
			return 1
		case a.h.Type == abi.RecordSample && b.h.Type != abi.RecordSample:
			return 1
		case a.h.Type != abi.RecordSample && b.h.Type == abi.RecordSample:
			return -1
		}
		return 0
	})
	file := map[int32]string{} // of the text
	checked, doubtful, wrong, execs, mmaps := 0, 0, 0, 0, 0
	for i := range all {
		d := &all[i]
		switch d.h.Type {
		case abi.RecordFork:
			if f, err := side.DecodeTask(d.payload); err == nil && f.PID == f.TID {
				delete(file, f.PID)
			}
		case abi.RecordComm:
			if c, err := side.DecodeComm(d.h, d.payload); err == nil && d.h.Misc&abi.MiscCommExec != 0 {
				delete(file, c.PID)
				if saids[c.PID] != nil {
					execs++
				}
			}
		case abi.RecordMmap2:
			m, err := side.DecodeMmap(d.h, d.payload)
			if err == nil && m.Addr <= text.Vaddr && m.Addr+m.Len > text.Vaddr && m.Prot&unix.PROT_EXEC != 0 {
				file[m.PID] = m.File
				if saids[m.PID] != nil {
					mmaps++
				}
			}
		case abi.RecordSample:
			f, at := d.payload, time(d)
			ip := abi.LittleEndian.Uint64(f[8:])
			pid := int32(abi.LittleEndian.Uint32(f[16:]))
			l := saids[pid]
			if l == nil || ip < text.Vaddr || ip >= text.Vaddr+text.Filesz {
				continue
			}
			want, ok := saidAt(l, at)
			if !ok {
				doubtful++
				continue
			}
			checked++
			if got := file[pid]; got != want {
				if wrong++; wrong < 10 {
					t.Errorf("sample of %d at %d: text is %q, the program said %q", pid, at, got, want)
				}
			}
		}
	}
	t.Logf("%d samples checked, %d wrong, %d in doubt; %d execs and %d maps of text", checked, wrong, doubtful, execs, mmaps)
	if checked < 200 || execs < 10 || mmaps < 40 {
		t.Error("too few to tell")
	}
}

// saidAt is what a program said of its text at a time, if that is sure.
func saidAt(l []said, at uint64) (string, bool) {
	for i := len(l) - 1; i >= 0; i-- {
		if at >= l[i].after {
			if i+1 < len(l) && at >= l[i+1].before || i+1 == len(l) {
				return "", false // during the next change, of which the last is not told
			}
			return l[i].path, true
		}
	}
	return "", false
}
