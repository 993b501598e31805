package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"kprof/convert/store/storetest"
)

// failingAt is a store that answers with an error, as failing says, to requests that hold some
// bytes, and otherwise does what another one does.
func failingAt(t *testing.T, server *storetest.Server, failing func(body []byte) (status int)) string {
	t.Helper()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if status := failing(body); status != 0 {
			w.WriteHeader(status)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// hosts are those of the profiles that a store has, in the order in which they came.
func hosts(server *storetest.Server) (all []string) {
	for _, p := range server.Pushes() {
		all = append(all, p.Labels["host"])
	}
	return all
}

// TestFailingAtOne: a profile at which the store fails waits behind the others, counted, from
// one Drain to the next, and is sent when the store takes it.
func TestFailingAtOne(t *testing.T) {
	for _, kept := range []string{"in memory", "in a spool"} {
		t.Run(kept, func(t *testing.T) {
			server := storetest.New(t)
			status := http.StatusInternalServerError
			var tried []bool // whether it was one of those
			url := failingAt(t, server, func(body []byte) int {
				bad := bytes.Contains(body, []byte("poison"))
				if tried = append(tried, bad); bad {
					return status
				}
				return 0
			})
			o := SenderOptions{Pieces: PieceOptions{Labels: service}, TryFor: 300 * time.Millisecond, MaxWait: 20 * time.Millisecond}
			if kept == "in a spool" {
				o.Spool = openSpool(t, t.TempDir(), SpoolOptions{})
			}
			s := NewSender(client(t, ClientOptions{URL: url}), o)
			enqueue := func(hosts ...string) {
				for _, h := range hosts {
					if err := s.Enqueue(recorded(h, 1)); err != nil {
						t.Fatal(err)
					}
				}
			}
			enqueue("poison1", "h1", "poison2", "h2", "h3")
			var answer *Error
			if err := s.Drain(context.Background()); !errors.As(err, &answer) || answer.Status != status {
				t.Errorf("%v", err)
			}
			if got := hosts(server); !slices.Equal(got, []string{"h1", "h2", "h3"}) {
				t.Errorf("sent %v", got)
			}
			counts := s.Counts()
			if counts.Behind != 2 || !errors.As(counts.LastFailure, &answer) || counts.Lost.Total() != 0 {
				t.Errorf("%+v", counts)
			}
			if n, err := s.Waiting(); n != 2 || err != nil {
				t.Errorf("%d waiting, %v", n, err)
			}
			enqueue("h4", "h5")
			tried = nil
			if err := s.Drain(context.Background()); !errors.As(err, &answer) {
				t.Errorf("%v", err)
			}
			if got := hosts(server); len(got) != 5 || len(tried) < 3 || tried[0] || tried[1] || !tried[2] {
				t.Errorf("sent %v, of requests %v those behind", got, tried)
			}
			status = 0
			if err := s.Drain(context.Background()); err != nil {
				t.Error(err)
			}
			got := hosts(server)
			slices.Sort(got[5:]) // they took turns
			if !slices.Equal(got, []string{"h1", "h2", "h3", "h4", "h5", "poison1", "poison2"}) {
				t.Errorf("sent %v", got)
			}
			if n, _ := s.Waiting(); n != 0 || s.held != 0 || s.Counts().Behind != 2 || len(s.behind) != 0 {
				t.Errorf("%d waiting, %d bytes, %d behind, %+v", n, s.held, len(s.behind), s.Counts())
			}
		})
	}
}

// TestFailingAtOneForMoments: Drains that end before the store was tried often enough go on
// where the last one ended.
func TestFailingAtOneForMoments(t *testing.T) {
	server := storetest.New(t)
	url := failingAt(t, server, func(body []byte) int {
		if bytes.Contains(body, []byte("poison")) {
			return http.StatusInternalServerError
		}
		return 0
	})
	s := NewSender(client(t, ClientOptions{URL: url}), SenderOptions{Pieces: PieceOptions{Labels: service}, Spool: openSpool(t, t.TempDir(), SpoolOptions{})})
	if err := errors.Join(s.Enqueue(recorded("poison", 1)), s.Enqueue(recorded("h1", 1))); err != nil {
		t.Fatal(err)
	}
	for range triesOfOne {
		ctx, cancel := context.WithCancel(context.Background())
		s.o.Retrying = func(error, time.Duration) { cancel() }
		if err := s.Drain(ctx); err == nil {
			t.Error("no error")
		}
		cancel()
	}
	if got := hosts(server); !slices.Equal(got, []string{"h1"}) {
		t.Errorf("sent %v", got)
	}
}

// TestFailingAtAll: while the store fails at all profiles, none is to blame: they keep their
// order, and Drain ends as if there were one.
func TestFailingAtAll(t *testing.T) {
	server := storetest.New(t)
	down := true
	url := failingAt(t, server, func([]byte) int {
		if down {
			return http.StatusServiceUnavailable
		}
		return 0
	})
	o := SenderOptions{Pieces: PieceOptions{Labels: service}, TryFor: 300 * time.Millisecond, MaxWait: 20 * time.Millisecond,
		Spool: openSpool(t, t.TempDir(), SpoolOptions{})}
	s := NewSender(client(t, ClientOptions{URL: url}), o)
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprint("h", i))
		if err := s.Enqueue(recorded(want[i], 1)); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	var answer *Error
	if err := s.Drain(context.Background()); !errors.As(err, &answer) || answer.Status != http.StatusServiceUnavailable {
		t.Error(err)
	}
	if d := time.Since(start); d > 20*o.TryFor {
		t.Errorf("it went on for %v", d)
	}
	down = false
	if err := s.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	if got := hosts(server); !slices.Equal(got, want) || s.Counts().Behind != 0 {
		t.Errorf("sent %v, %d behind", got, s.Counts().Behind)
	}
}

// TestOTLPFailingAtOne: a profile at which a receiver of OTLP fails for good waits behind the others
// at once, and is tried after them, once.
func TestOTLPFailingAtOne(t *testing.T) {
	server := storetest.New(t)
	requests := 0
	url := failingAt(t, server, func([]byte) int {
		if requests++; requests == 1 || requests == 4 { // the first profile's
			return http.StatusInternalServerError
		}
		return 0
	})
	s := NewSender(client(t, ClientOptions{URL: url, Protocol: OTLP}), SenderOptions{Pieces: PieceOptions{Labels: service}, Spool: openSpool(t, t.TempDir(), SpoolOptions{})})
	for _, h := range []string{"h1", "h2", "h3"} {
		if err := s.Enqueue(recorded(h, 1)); err != nil {
			t.Fatal(err)
		}
	}
	var answer *Error
	if err := s.Drain(context.Background()); !errors.As(err, &answer) || answer.Status != http.StatusInternalServerError || requests != 4 {
		t.Errorf("%v after %d requests", err, requests)
	}
	counts := s.Counts()
	if n, err := s.Waiting(); n != 1 || err != nil || counts.Sent != 2 || counts.Lost.Total() != 0 {
		t.Errorf("%d waiting, %v, %+v", n, err, counts)
	}
}
