package convert_test

import (
	"path/filepath"
	"testing"

	"kprof/convert"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// TestNotIdle: who ran user code is not the idle task, though the kernel had no other number for
// it in the recorder's pid namespace, and no name of it is known. A precise sample without an address
// is marked as one of user code wherever it was; perf 6.1 shows that one as swapper's, as are all four.
func TestNotIdle(t *testing.T) {
	b, err := perftext.MustParse("event cpu type=software config=0 ids=1 sample=ip,tid,time,callchain,identifier flags=sample_id_all\n" +
		"sample t=1 pid=0 id=1 user 0x1000\nsample t=2 pid=0 id=1 kernel 0xffffffff81000000 user 0x1000\n" +
		"sample t=3 pid=0 id=1 kernel 0xffffffff81000000\n" +
		"sample t=4 pid=0 id=1 misc=0x4002 ip=0 kernel 0xffffffff81000000\n").Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.data")
	livetest.WriteFile(t, name, b)
	p, err := convert.Open(t.Context(), name, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	comms := map[string]int64{}
	for i := range p.Set.NumSamples() {
		s := p.Set.Sample(i)
		comm, _ := p.Set.Label(s.Labels, "comm")
		comms[comm.Str] += s.Values[0]
	}
	if len(comms) != 2 || comms[":0"] != 2 || comms["swapper"] != 2 || p.Stats.Unnamed != 2 {
		t.Errorf("%v, %d unnamed", comms, p.Stats.Unnamed)
	}
}
