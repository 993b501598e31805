package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"kprof/convert/stacks"
	"kprof/perfevent/memtest"
)

// transport answers requests without a network.
type transport func(*http.Request) []byte

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/proto"}},
		Body: io.NopCloser(bytes.NewReader(t(r))), Request: r,
	}, nil
}

// FuzzAnswer: whatever a store answers to a query is a profile or an error.
func FuzzAnswer(f *testing.F) {
	types := appendMessage(nil, 1, appendString(nil, 1, "process_cpu:cpu:nanoseconds:cpu:nanoseconds"))
	values := appendString(nil, 1, "web1")
	var profile []byte
	if err := Pieces(recorded("web1", 2), PieceOptions{Labels: service}, func(p Piece) error {
		profile = p.Profile
		return nil
	}); err != nil {
		f.Fatal(err)
	}
	f.Add(types, values, profile)
	f.Add(types[:3], []byte{0xff}, []byte{})
	f.Add([]byte("\x0a\x06\x0a\x04a:b:"), values, profile[:20])
	var answers [3][]byte
	c, err := NewClient(ClientOptions{URL: "http://store"})
	if err != nil {
		f.Fatal(err)
	}
	c.http.Transport = transport(func(r *http.Request) []byte {
		return answers[map[string]int{"/" + typesProcedure: 0, "/" + valuesProcedure: 1, "/" + mergeProcedure: 2}[r.URL.Path]]
	})
	f.Fuzz(func(t *testing.T, types, values, profile []byte) {
		answers = [3][]byte{types, values, profile}
		for _, q := range []Query{lastHour(), {Start: time.Unix(1, 0), End: time.Unix(2, 0), By: "host", MaxBy: 3}} {
			var set *stacks.Set
			var err error
			done := memtest.Within(t, 64<<20+5000*(len(types)+len(values)+len(profile)))
			set, err = c.Fetch(context.Background(), q)
			done()
			if err == nil && set.NumSamples() == 0 {
				t.Error("a profile without samples")
			}
			var none *NoProfilesError
			if errors.As(err, &none) && none.Error() == "" {
				t.Error("no words")
			}
		}
	})
}
