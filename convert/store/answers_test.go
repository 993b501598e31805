package store

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestStrangeAnswers: what answers, and is no store, is said with the status that it answered; none
// keeps a request for longer than it may take, not even one that goes on to speak something else.
func TestStrangeAnswers(t *testing.T) {
	for head, want := range map[string]string{
		"101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket":   "the store answers 101 Switching Protocols",
		"200 OK\r\nConnection: close\r\nContent-Type: text/html":                 `the store answers 200 OK: push.v1.PusherService/Push is no call of a store: it answers with "text/html"`,
		"204 No Content\r\nConnection: close":                                    "the store answers 204 No Content",
		"302 Found\r\nContent-Length: 0\r\nLocation: https://login.example/?a=b": "the store answers 302 Found: it is elsewhere: https://login.example/?a=b",
	} {
		end := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 "+head+"\r\n\r\n")
			<-end
		}))
		answered := make(chan error, 1)
		c := client(t, ClientOptions{URL: server.URL, Timeout: time.Second})
		go func() { answered <- c.push(context.Background(), []byte("a")) }()
		select {
		case err := <-answered:
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v", head, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: no end", head)
		}
		close(end)
		server.Close()
	}
}

// TestLate: which time was too short is told, and that is tried again; one of the caller's own
// is the caller's.
func TestLate(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer server.Close()
	err := client(t, ClientOptions{URL: server.URL, Timeout: 20 * time.Millisecond}).push(context.Background(), []byte("a"))
	if err == nil || err.Error() != "no answer within the timeout of a request, 20ms" || !errors.Is(err, context.DeadlineExceeded) || !temporary(err) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := client(t, ClientOptions{URL: server.URL}).push(ctx, []byte("a")); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "the timeout of a request") {
		t.Errorf("the caller's: %v", err)
	}
}
