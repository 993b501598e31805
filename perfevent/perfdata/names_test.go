package perfdata_test

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// namesOf walks a recording in pipe mode without names and returns those it gives.
func namesOf(t *testing.T, text string) (names []string) {
	t.Helper()
	r := perftext.MustParse(text).Reader(t, perftext.Form{Pipe: true, Nameless: true})
	for _, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range r.Events.Events {
		names = append(names, e.Name)
	}
	return names
}

// TestEventTypes: the event types of old pipes say no more than a config, which
// events of two types can share. They name those that nothing else does.
func TestEventTypes(t *testing.T) {
	const text = `
event e type=hardware config=0 ids=1
event e type=software config=0 ids=2
event e type=tracepoint config=5 ids=3
event e type=9 config=6 ids=4
record type=65 data=0000000000000000` + "6370752d636c6f636b00000000000000" + ` # cpu-clock
record type=65 data=0500000000000000` + "73636865643a7800" + ` # sched:x
record type=65 data=0600000000000000` + "6962735f6f702f2f00" + ` # ibs_op//
throttle t=1
`
	want := []string{"cycles", "cpu-clock", "sched:x", "ibs_op//"}
	if d := cmp.Diff(want, namesOf(t, text)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestEventDescByPlace: a description is of the event at its place, whatever its
// ids, unless another event is there.
func TestEventDescByPlace(t *testing.T) {
	const text = `
event e type=hardware config=0 ids=1
event e type=hardware config=1 ids=2
event e type=raw config=0x1a8 ids=3
`
	f := perfdata.Features{Events: []abi.Event{
		{Name: "first", Attr: abi.Attr{Type: abi.TypeHardware}, IDs: []uint64{100}},
		{Name: "third", Attr: abi.Attr{Type: abi.TypeRaw, Config: 0x1a8}, IDs: []uint64{3}},
	}}
	body := abi.LittleEndian.AppendUint64(nil, uint64(perfdata.FeatureEventDesc))
	body = f.Append(body, perfdata.FeatureEventDesc, abi.LittleEndian)
	want := []string{"first", "instructions", "third"}
	if d := cmp.Diff(want, namesOf(t, text+"record type=80 data="+hex.EncodeToString(body)+"\nthrottle t=1\n")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
