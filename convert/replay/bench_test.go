package replay

import (
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
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

// roundOf returns a Collector that has the state of a recording, and its samples as the
// records of a round, with their number.
func roundOf(tb testing.TB, text string) (c *Collector, round []byte, n int) {
	return roundWith(tb, text, Options{})
}

func roundWith(tb testing.TB, text string, opts Options) (c *Collector, round []byte, n int) {
	rec := perftext.MustParse(text)
	c = NewCollector(abi.LittleEndian, rec.Events, opts)
	for b := rec.Records(abi.LittleEndian)[0]; len(b) > 0; {
		h := abi.DecodeHeader(b, abi.LittleEndian)
		if h.Type == abi.RecordSample {
			round = append(round, b[:h.Size]...)
			n++
		} else if err := c.Write(b[:h.Size], nil); err != nil {
			tb.Fatal(err)
		}
		b = b[h.Size:]
	}
	c.stream.EndRound()
	return c, round, n
}

func (c *Collector) replayRound(tb testing.TB, round []byte) {
	if err := c.Write(round, nil); err != nil {
		tb.Fatal(err)
	}
	c.stream.EndRound()
}

// TestNoAllocation: a sample whose stack has been seen costs no memory.
func TestNoAllocation(t *testing.T) {
	c, round, n := roundOf(t, benchText(500))
	for range 4 {
		c.replayRound(t, round)
	}
	if allocs := testing.AllocsPerRun(10, func() { c.replayRound(t, round) }); allocs > 5 {
		t.Errorf("%v allocations for %d samples", allocs, n)
	}
}

func BenchmarkSample(b *testing.B) {
	c, round, n := roundOf(b, benchText(2000))
	b.ReportAllocs()
	b.SetBytes(int64(len(round)))
	for b.Loop() {
		c.replayRound(b, round)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/sample")
}

func BenchmarkFile(b *testing.B) {
	benchFile(b, benchText(20000))
}

// BenchmarkTimeline replays changes that come in disorder, as from many CPUs.
func BenchmarkTimeline(b *testing.B) {
	var text strings.Builder
	text.WriteString("event task-clock config=1 sample=ip,tid,time,callchain\n")
	for i := range 2000 {
		text.WriteString(processes(i ^ 511))
	}
	benchFile(b, text.String())
}

func benchFile(b *testing.B, text string) {
	whole, err := perftext.MustParse(text).Assemble(perftext.Form{})
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
