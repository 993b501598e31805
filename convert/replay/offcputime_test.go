package replay

import (
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata/perftext"
)

// TestOffCPUTime: the periods of perf record --off-cpu are times, whichever perf has written them.
func TestOffCPUTime(t *testing.T) {
	for name, text := range map[string]string{
		"before Linux 6.16": "event offcpu-time config=10 freq=1 sample=identifier,ip,tid,time,cpu,period,callchain\n" +
			"sample t=0xffffffff00000000 pid=7 period=1500 user 0x1010 0x1021\nsample t=0xffffffff00000000 pid=7 period=1500 user 0x1010 0x1021\n",
		"since": "event offcpu-time config=10 period=1 sample=identifier,ip,tid,time,period,raw\n" +
			"sample t=5 pid=1 tid=1 period=1 raw=0700000007000000dc05000000000000030000000000000000feffffffffffff10100000000000002110000000000000\n" +
			"sample t=6 pid=1 tid=1 period=1 raw=0700000007000000dc05000000000000030000000000000000feffffffffffff10100000000000002110000000000000\n",
	} {
		rec := perftext.MustParse(text)
		rec.Events[0].Attr.Type = abi.TypeSoftware
		for _, f := range []form{{}, {Form: perftext.Form{Pipe: true}, stream: true}} {
			set, _, err := f.convert(rec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			e := set.Events[0]
			want := stacks.ValueType{Type: "offcpu-time", Unit: "nanoseconds"}
			if len(e.Values) != 2 || e.Values[1] != want || e.Instants || set.PeriodType != (stacks.ValueType{}) || set.Sample(0).Values[1] != 3000 {
				t.Errorf("%s, %v: %+v, instants %v, period of %+v", name, f, e.Values, e.Instants, set.PeriodType)
			}
		}
	}
}
