package main

import (
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/stacks"
	"kprof/convert/store"
	"kprof/convert/store/storetest"
)

// TestRecordPushAfterSleep: a period during which the machine has slept for hours, or its clock was
// set, so that the store would not take it, is lost, and the recording goes on.
func TestRecordPushAfterSleep(t *testing.T) {
	server := storetest.New(t)
	client, err := store.NewClient(store.ClientOptions{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	f := &recordPush{to: server.URL, every: time.Minute}
	f.sending = store.NewSender(client, store.SenderOptions{Pieces: store.PieceOptions{Labels: []store.Label{{Name: "service_name", Value: "kprof"}}}})
	s := &pushSink{f: f}
	for _, ago := range []time.Duration{5 * time.Hour, time.Second} {
		set := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		set.TimeNanos = time.Now().Add(-ago).UnixNano()
		at := set.AddLocation(stacks.NoMapping, 1, stacks.KindUnknown)
		set.SetLines(at, stacks.Line{Function: set.AddFunction(stacks.Function{Name: "main"})})
		set.Add(0, set.Intern([]uint32{at}), 0, 1)
		if err := s.take(t.Context(), &convert.Profile{Set: set}); err != nil {
			t.Errorf("a period that began %v ago ends the recording: %v", ago, err)
		}
	}
	if n := len(server.Pushes()); n != 1 || s.late != 1 {
		t.Errorf("%d profiles were sent and %d lost, want 1 of each", n, s.late)
	}
}
