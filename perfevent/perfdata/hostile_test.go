package perfdata_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// hostileReader opens a recording in memory.
func hostileReader(t *testing.T, b []byte) *perfdata.Reader {
	t.Helper()
	r, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestManyEvents refuses more events than any machine has, in a header and in a
// pipe.
func TestManyEvents(t *testing.T) {
	const many = 100_000
	le := abi.LittleEndian
	attr := (&abi.Attr{}).AppendTo(nil, le)
	b, err := perftext.MustParse("event e\n").Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	entry := le.Uint64(b[16:])
	le.AppendUint64(b[:24], uint64(len(b))) // where the attributes are, and how many
	le.AppendUint64(b[:32], many*entry)
	b = append(b, bytes.Repeat(append(attr, make([]byte, 16)...), many)...)
	if _, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b))); err == nil || !strings.Contains(err.Error(), "100000 events") {
		t.Errorf("header: error %v", err)
	}

	b, err = perftext.MustParse("").Assemble(perftext.Form{Pipe: true})
	if err != nil {
		t.Fatal(err)
	}
	rec := abi.Header{Type: abi.RecordHeaderAttr, Size: uint16(abi.HeaderSize + len(attr))}.AppendTo(nil, le)
	r := hostileReader(t, append(b, bytes.Repeat(append(rec, attr...), many)...))
	var last error
	for _, err := range r.Records() {
		last = err
	}
	var te *perfdata.TruncatedError
	if !errors.As(last, &te) || len(r.Events.Events) >= many {
		t.Errorf("pipe: %d events, error %v", len(r.Events.Events), last)
	}
}

// TestManyNames: names come as often as somebody likes, and name all events, but
// not each time.
func TestManyNames(t *testing.T) {
	le := abi.LittleEndian
	b, err := perftext.MustParse(strings.Repeat("event e type=tracepoint config=3\n", 3000)).Assemble(perftext.Form{Pipe: true, Nameless: true})
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(200_000) {
		b = abi.Header{Type: abi.RecordHeaderEventType, Size: 24}.AppendTo(b, le)
		b = le.AppendUint64(b, id)
		b = append(b, "name\x00\x00\x00\x00"...)
		b = abi.Header{Type: abi.RecordThrottle, Size: 8}.AppendTo(b, le)
	}
	r := hostileReader(t, b)
	for _, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range r.Events.Events {
		if e.Name != "name" {
			t.Fatalf("event %d is called %q", e.Index, e.Name)
		}
	}
}

// TestAUXPastEnd tells where data that belongs to a record is missing, without
// reading to find out.
func TestAUXPastEnd(t *testing.T) {
	for _, n := range []string{"0010000000000000", "ffffffffffffff7f"} {
		b, err := perftext.MustParse("event e\nrecord type=71 data=" + n + strings.Repeat("00", 32) + "\nthrottle t=1\n").Assemble(perftext.Form{})
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range hostileReader(t, b).Records() {
			last = err
		}
		var te *perfdata.TruncatedError
		if !errors.As(last, &te) || !strings.Contains(te.Reason, "missing") {
			t.Errorf("%s bytes: error %v", n, last)
		}
	}
}
