package replay

import (
	"fmt"
	"strings"
	"testing"

	"kprof/convert/payload"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata/perftext"
)

// TestSpansOfOneEvent: one event begins and ends spans, each by a condition, as a socket's changes
// of state do, or by being the next.
func TestSpansOfOneEvent(t *testing.T) {
	c := &calls{o: abi.BigEndian}
	const field = "long %s;\toffset:%d;\tsize:8;\tsigned:1;"
	formats := tracingData(c.o, tracepoint("sock", "state", 1, "int common_pid;\toffset:4;\tsize:4;\tsigned:1;", "", fmt.Sprintf(field, "sk", 8), fmt.Sprintf(field, "new", 16)))
	c.WriteString("event sock:state type=tracepoint config=1 period=1 ids=1 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all\n")
	c.hit(12, 1, 8, 1, 2, 2) // the records of one CPU come after those of the other
	c.hit(15, 1, 9, 1, 1, 1)
	c.hit(30, 1, 9, 1, 1, 7)
	c.hit(31, 1, 9, 1, 3, 7)
	c.hit(10, 0, 7, 1, 1, 2)
	c.hit(20, 0, 9, 1, 2, 7)
	c.hit(40, 0, 7, 1, 1, 2)
	c.hit(50, 0, 7, 1, 4, 3)
	rec := perftext.MustParse(c.String())
	rec.Features.TracingData, rec.Features.Host.Arch = formats.AppendTo(nil), "x86_64"
	for rule, want := range map[string]string{
		"span:sock:state if new == 2..sock:state if new == 7 by sk": "0x28 :7,yes [0 1 0 0], 0xa :7 [1 0 0 20], 0xc :8 [1 0 0 8]; 1 without a start, 0 without an end",
		"span:sock:state..sock:state by sk": "0x14 :9,yes [0 1 30 0], 0x1e :9 [1 0 0 10], 0x1f :9,yes [0 1 19 0], 0x28 :7,yes [0 1 10 0], 0x32 :7,yes [0 1 0 0], " +
			"0xa :7 [1 0 0 5], 0xc :8 [1 0 0 8], 0xf :9 [1 0 0 15]; 0 without a start, 0 without an end",
		"span:sock:state if new == 7..sock:state if new == 7 by 0": "0x14 :9 [1 0 0 10], 0x1e :9 [1 0 0 1], 0x1f :9,yes [0 1 0 0]; 0 without a start, 0 without an end",
		"span:sock:state if new == 2..sock:state by sk":            "0x28 :7,yes [0 1 10 0], 0xa :7 [1 0 0 5], 0xc :8 [1 0 0 8]; 6 without a start, 0 without an end",
		"span:sock:state..sock:state if new == 7 by sk": "0x14 :9,yes [0 1 30 0], 0x1f :9,yes [0 1 19 0], 0x28 :7,yes [0 1 10 0], 0x32 :7,yes [0 1 0 0], " +
			"0xc :8 [1 0 0 8], 0xf :9 [1 0 0 15]; 1 without a start, 2 without an end",
		"span:sock:state if sk == 1 && new == 2..sock:state if pid == 9 by sk": "0x28 :7,yes [0 1 0 0], 0xa :7 [1 0 0 5]; 3 without a start, 0 without an end",
	} {
		opts := Options{Selection: Selection{Spans: mustRules(t, rule)}}
		live := opts
		live.Formats, live.Machine = payload.New(formats), "x86_64"
		eachWay(t, rec, c.o, opts, live, func(way string, s *stacks.Set, st Stats, err error) {
			if err != nil {
				t.Fatal(err)
			}
			rows := strings.ReplaceAll(strings.Join(spanRows(s), ", "), rule+" ", "")
			got := fmt.Sprintf("%s; %d without a start, %d without an end", rows, st.Spans[0].Unbegun, st.Spans[0].Unended)
			if got != want {
				t.Errorf("%s, %s: got\n%s\nwant\n%s", rule, way, got, want)
			}
		})
	}
}
