package timeline

import (
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// add adds records written as text, each at its time.
func add(t testing.TB, tl *Timeline, text string) {
	t.Helper()
	rec := perftext.MustParse("event task-clock config=1 sample=ip,tid,time\n" + text)
	l := &perfdata.NewEventSet(abi.LittleEndian, rec.Events).Events[0].Layout
	for b := rec.Records(abi.LittleEndian)[0]; len(b) > 0; {
		h := abi.DecodeHeader(b, abi.LittleEndian)
		p := b[abi.HeaderSize:h.Size]
		b = b[h.Size:]
		f, ok := l.DecodeTrailer(p)
		if err := tl.Add(l, h, p, f.Time); err != nil || !ok {
			t.Fatalf("%v, with a trailer: %t", err, ok)
		}
	}
}

// life is that of process n, forked by pid 7, in ms n: it executes, maps and exits. From
// time to time pid 7 maps what it has mapped before, and so does the kernel.
func life(n int) string {
	pid, t := 100+n, uint64(n)*1_000_000+1
	var b strings.Builder
	fmt.Fprintf(&b, "fork t=%d pid=%d ppid=7\ncomm t=%d pid=%d comm=x exec\n", t, pid, t+1, pid)
	for i := range 10 {
		fmt.Fprintf(&b, "mmap t=%d pid=%d addr=%#x len=0x1000 file=/lib%d\n", t+2, pid, page(i+1), i)
	}
	if n%20 == 0 {
		fmt.Fprintf(&b, "mmap t=%d pid=7 addr=%#x len=0x1000 file=/jit%d\n", t+4, page(1+n/20%50), n%7)
		fmt.Fprintf(&b, "ksymbol t=%d addr=0xffffffffc0000000 len=0x100 name=bpf%d\n", t+4, n%3)
	}
	fmt.Fprintf(&b, "exit t=%d pid=%d ppid=7\n", t+6, pid)
	return b.String()
}

// TestForgets adds the lives of 60,000 processes in rounds: what is kept does not grow
// with their number.
func TestForgets(t *testing.T) {
	tl := New(Options{Forget: true})
	rounds, each := 120, 500
	if testing.Short() {
		rounds = 60
	}
	for round := range rounds {
		var text strings.Builder
		for i := range each {
			text.WriteString(life(round*each + i))
		}
		add(t, tl, text.String())
		tl.Apply()
		tl.Settle(uint64(max(0, round-1)*each) * 1_000_000)
	}
	if n := len(tl.tasks); n > tl.limits.exits+4*each || n < tl.limits.exits {
		t.Errorf("%d processes remembered", n)
	}
	if n := len(tl.exits); n > tl.limits.exits+4*each {
		t.Errorf("%d exits remembered", n)
	}
	if n := len(tl.forks); n > 8*each {
		t.Errorf("%d forks not looked up", n)
	}
	p := tl.tasks[7]
	for _, s := range append(p.past.spacesOrNone(), p.space) {
		if n := len(s.space.areas.all); n > 4*tl.limits.areas {
			t.Errorf("%d areas of the long-lived process", n)
		}
	}
	if n := len(tl.kernel.areas.all); n > 4*tl.limits.areas {
		t.Errorf("%d areas of the kernel", n)
	}
	if n := tl.objects.Len(); n > 30 {
		t.Errorf("%d objects", n)
	}
}

func (p *past) spacesOrNone() []spaceAt {
	if p == nil {
		return nil
	}
	return p.spaces.all
}

// TestAncestors follows a daemon that forks its successor and ends, again and
// again: each maps something more.
func TestAncestors(t *testing.T) {
	tl := New(Options{Forget: true})
	const n = 2000
	for i := range n {
		pid := 1000 + i
		add(t, tl, fmt.Sprintf("mmap t=%d pid=%d addr=%#x len=0x1000 file=/f%d\nfork t=%d pid=%d ppid=%d\n",
			10*i+1, pid, page(1+i%100), i, 10*i+2, pid+1, pid))
		tl.Apply()
		tl.Settle(uint64(10 * max(0, i-1)))
	}
	depth := 0
	last := tl.tasks[1000+n].space.space
	for s := last; s != nil; s = s.base {
		depth++
		if len(s.areas.all) > 200 {
			t.Errorf("%d areas at depth %d", len(s.areas.all), depth)
		}
	}
	if depth > 40 {
		t.Errorf("a line of %d ancestors is kept", depth)
	}
	st := tl.At(1000+n, 1000+n, 10*n)
	v := tl.View(&st, User)
	for i := n - 100; i < n; i++ {
		a := tl.Find(&v, page(1+i%100))
		if a == nil || tl.Mapping(a).File != fmt.Sprint("/f", i) {
			t.Errorf("the map of ancestor %d: %+v", i, a)
		}
	}
}
