package span_test

import (
	"testing"

	"kprof/convert/span"
)

// TestPointBinary: what is sorted by time comes back as it was, with the key where its kind has one.
func TestPointBinary(t *testing.T) {
	keyed := map[span.Kind]bool{
		span.Begin: true, span.End: true, span.Leave: true, span.Release: true, span.Allocate: true, span.Allocated: true, span.Free: true,
	}
	for kind := range span.Nothing {
		want := span.Point{Kind: kind, State: span.Uninterruptible, CPU: -1, Task: 1 << 30, Next: 3, Row: span.NoRow, Owner: 5}
		if keyed[kind] {
			want.Key = span.Key{Rule: 6, Varying: 7, Task: 8, CPU: -9, Values: [3]uint64{10, 1 << 63, 12}}
			want.Check, want.Place, want.Value, want.Match = 13, 14, -15, span.MatchUnknown
		}
		b, err := want.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var got span.Point
		if got.Decode(b); got != want {
			t.Errorf("kind %d: %+v, want %+v", kind, got, want)
		}
	}
}
