package convert

import (
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// benchText has a process with a few libraries and n samples of it, all distinct.
func benchText(n int) string {
	var b strings.Builder
	b.WriteString("event task-clock config=1\ncomm t=0 pid=7 comm=x\n")
	b.WriteString("mmap t=0 pid=-1 addr=0xffffffff81000000 len=0x1000000 file=[kernel.kallsyms]_text\n")
	for i := range 20 {
		fmt.Fprintf(&b, "mmap t=0 pid=7 addr=%#x len=0x10000 file=/lib%d\n", 0x10000*(i+1), i)
	}
	for i := range n {
		fmt.Fprintf(&b, "sample t=%d pid=7 kernel", i+1)
		for k := range 8 {
			fmt.Fprintf(&b, " %#x", 0xffffffff81000010+uint64(0x100*(i%7+k)))
		}
		b.WriteString(" user")
		for k := range 12 {
			fmt.Fprintf(&b, " %#x", 0x10010+0x10*(i%1000)+0x10000*k)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// samplesOf returns a worker that has the state of a recording, and the payloads
// of its samples.
func samplesOf(tb testing.TB, text string) (w *worker, misc abi.Misc, payloads [][]byte) {
	rec := perftext.MustParse(text)
	events := perfdata.NewEventSet(abi.LittleEndian, rec.Events)
	sb := &sideband{tl: newTimeline(), events: events}
	for b := rec.Records(abi.LittleEndian)[0]; len(b) > 0; {
		h := abi.DecodeHeader(b, abi.LittleEndian)
		if p := b[abi.HeaderSize:h.Size]; h.Type == abi.RecordSample {
			misc, payloads = h.Misc, append(payloads, p)
		} else {
			sb.take(h, p, 0)
		}
		b = b[h.Size:]
	}
	sb.tl.freeze()
	if sb.bad > 0 {
		tb.Fatal("bad records")
	}
	w = newWorker(sb.tl, events, &Options{})
	w.emit = w.addNow
	return w, misc, payloads
}

// TestNoAllocation: a sample whose stack has been seen costs no memory.
func TestNoAllocation(t *testing.T) {
	w, misc, payloads := samplesOf(t, benchText(500))
	for _, p := range payloads {
		w.takeSample(misc, p, 1)
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		w.takeSample(misc, payloads[i%len(payloads)], 1)
		i++
	}); n != 0 {
		t.Errorf("%v allocations for a sample", n)
	}
}

func BenchmarkSample(b *testing.B) {
	w, misc, payloads := samplesOf(b, benchText(2000))
	b.ReportAllocs()
	b.SetBytes(int64(len(payloads[0])))
	for i := 0; b.Loop(); i++ {
		w.takeSample(misc, payloads[i%len(payloads)], 1)
	}
}

func BenchmarkFile(b *testing.B) {
	whole, err := perftext.MustParse(benchText(20000)).Assemble(perftext.Form{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(whole)))
	for b.Loop() {
		if _, _, err := convertBytes(whole, false, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTimeline replays changes that come in disorder, as from many CPUs.
func BenchmarkTimeline(b *testing.B) {
	var text strings.Builder
	text.WriteString("event task-clock config=1 sample=ip,tid,time,callchain\n")
	for i := range 2000 {
		text.WriteString(processes(i ^ 511))
	}
	whole, err := perftext.MustParse(text.String()).Assemble(perftext.Form{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(whole)))
	for b.Loop() {
		if _, _, err := convertBytes(whole, false, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
