package replay

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

var boundAttr = abi.Attr{
	Type: abi.TypeSoftware, SampleType: abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCallchain,
	Flags: abi.FlagSampleIDAll, SamplePeriod: 1,
}

// processes is a recording without end: each process is forked by the same
// parent, executes, maps, is sampled and exits. Process n lives in ms n.
func processes(n int) string {
	pid, t := 100+n%4_000_000, uint64(n)*1_000_000+1
	s := fmt.Sprintf("fork t=%d pid=%d ppid=7\ncomm t=%d pid=%d comm=x exec\n", t, pid, t+1, pid)
	for i := range 10 {
		s += fmt.Sprintf("mmap t=%d pid=%d addr=%#x len=0x1000 file=/lib%d\n", t+2, pid, 0x1000*(i+1), i)
	}
	s += fmt.Sprintf("mmap t=%d pid=%d addr=0x100000 len=0x1000 file=//anon\n", t+3, pid)
	// A long-lived process that maps the same places again and again.
	if n%20 == 0 {
		s += fmt.Sprintf("mmap t=%d pid=7 addr=%#x len=0x1000 file=/jit%d\n", t+4, 0x1000*(1+n/20%50), n%7)
		s += fmt.Sprintf("ksymbol t=%d addr=0xffffffffc0000000 len=0x100 name=bpf%d\n", t+4, n%3)
	}
	s += fmt.Sprintf("sample t=%d pid=%d kernel 0xffffffffc0000010 user 0x1000 0x2001\n", t+5, pid)
	return s + fmt.Sprintf("exit t=%d pid=%d ppid=7\n", t+6, pid)
}

// TestCollectorForgets replays the lives of 60,000 processes: what has been forgotten of
// earlier ones was not needed. (What is kept is bounded: see TestForgets of timeline.)
func TestCollectorForgets(t *testing.T) {
	const event = "event task-clock config=1 sample=ip,tid,time,callchain\n"
	c := NewCollector(abi.LittleEndian, []abi.Event{{Name: "task-clock", Attr: boundAttr}}, Options{})
	rounds := 120
	if testing.Short() {
		rounds = 60
	}
	const each = 500
	for round := range rounds {
		var text strings.Builder
		text.WriteString(event)
		for i := range each {
			text.WriteString(processes(round*each + i))
		}
		if err := c.Write(perftext.MustParse(text.String()).Records(abi.LittleEndian)[0], nil); err != nil {
			t.Fatal(err)
		}
		c.stream.EndRound()
	}
	if _, st, err := c.Finish(); err != nil || st.UnmappedFrames > 0 || st.Unnamed > 0 || st.BadRecords > 0 {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestAncestors follows a daemon that forks its successor and ends, again and
// again: each maps something more.
func TestAncestors(t *testing.T) {
	c := NewCollector(abi.LittleEndian, []abi.Event{{Name: "task-clock", Attr: boundAttr}}, Options{})
	const n = 2000
	for i := range n {
		pid := 1000 + i
		text := "event task-clock config=1 sample=ip,tid,time,callchain\n" +
			fmt.Sprintf("mmap t=%d pid=%d addr=%#x len=0x1000 file=/f%d\n", 10*i+1, pid, 0x1000*(1+i%100), i) +
			fmt.Sprintf("fork t=%d pid=%d ppid=%d\n", 10*i+2, pid+1, pid) +
			fmt.Sprintf("sample t=%d pid=%d user 0x1000 0x2001 0x64fff\n", 10*i+3, pid+1)
		if err := c.Write(perftext.MustParse(text).Records(abi.LittleEndian)[0], nil); err != nil {
			t.Fatal(err)
		}
		c.stream.EndRound()
	}
	set, _, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	last := dumpRow(set, set.Sample(set.NumSamples()-1))
	if want := "task-clock :3000/3000: /f1900+0x0 < /f1901+0x0 < /f1999+0xffe = 1 1"; last != want {
		t.Errorf("%s\nwant %s", last, want)
	}
}

// lives is a pipe with the lives of ever more processes: body, again and again,
// each time later and with other pids.
type lives struct {
	ready, body []byte
	left        int
}

func (l *lives) Read(p []byte) (int, error) {
	if len(l.ready) == 0 {
		if l.left == 0 {
			return 0, io.EOF
		}
		l.left--
		l.ready = l.body
		l.advance()
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

const livesEach = 1000

// advance moves all times and pids in body on.
func (l *lives) advance() {
	o := abi.LittleEndian
	pid := func(b []byte) {
		if n := o.Uint32(b); n >= 100 {
			o.AppendUint32(b[:0], n+livesEach)
		}
	}
	clock := func(b []byte) { o.AppendUint64(b[:0], o.Uint64(b)+livesEach*1_000_000) }
	for b := l.body; len(b) > 0; {
		h := abi.DecodeHeader(b, o)
		p := b[abi.HeaderSize:h.Size]
		b = b[h.Size:]
		switch h.Type {
		case abi.RecordSample:
			pid(p[8:])
			pid(p[12:])
			clock(p[16:])
			continue
		case abi.RecordFork, abi.RecordExit:
			pid(p[8:])
			pid(p)
		case abi.RecordComm:
			pid(p[4:])
			pid(p)
		case abi.RecordMmap:
			pid(p)
		}
		clock(p[len(p)-8:])
	}
}

// TestPipeWithoutRounds reads 150 and then 300 MB from a pipe that never finishes
// a round: the heap, garbage included, is larger by the labels of the processes
// alone, which are part of the result.
func TestPipeWithoutRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	once, few := pipeWithoutRounds(t, 150<<20)
	twice, many := pipeWithoutRounds(t, 300<<20)
	t.Logf("heap of %d MB for %d processes and of %d MB for %d, at most", once>>20, few, twice>>20, many)
	const labels = 1 << 10 // bytes for each process, garbage included
	if once > 400<<20 || twice > once+labels*uint64(many-few) {
		t.Errorf("heap of %d MB for 150 MB, of %d MB for 300 MB", once>>20, twice>>20)
	}
}

// pipeWithoutRounds returns the largest heap and the number of processes.
func pipeWithoutRounds(t *testing.T, size int) (heap uint64, n int) {
	var text strings.Builder
	text.WriteString("event task-clock config=1 sample=ip,tid,time,callchain\n")
	for i := range livesEach {
		text.WriteString(processes(i))
	}
	rec := perftext.MustParse(text.String())
	whole, err := rec.Assemble(perftext.Form{Pipe: true})
	if err != nil {
		t.Fatal(err)
	}
	body := rec.Records(abi.LittleEndian)[0]
	n = size / len(body) * livesEach
	in := &lives{ready: whole[:len(whole)-len(body)], body: body, left: size / len(body)}
	r, err := perfdata.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // of which garbage is part of the bound
	runtime.GC()
	stop, high := make(chan bool), make(chan uint64)
	go watchHeap(stop, high)
	_, st, err := File(t.Context(), r, Options{})
	close(stop)
	if err != nil || st.Truncated != nil || st.Unnamed+st.UnmappedFrames > 0 {
		t.Fatal(st, err)
	}
	return <-high, n
}

// watchHeap tells the largest heap until stop is closed.
func watchHeap(stop chan bool, high chan uint64) {
	var m runtime.MemStats
	var most uint64
	for {
		select {
		case <-stop:
			high <- most
			return
		default:
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			time.Sleep(5 * time.Millisecond)
		}
	}
}
