package store

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

// TestHeaders: what is asked for is sent, of the command line or of a file, and a host and a user
// agent instead of ours; what requests say themselves is refused.
func TestHeaders(t *testing.T) {
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "headers")
	livetest.WriteFile(t, file, "Host: store.example\nX-Scope: a\n")
	host := strings.TrimPrefix(server.URL, "http://")
	for _, c := range []struct {
		o           ClientOptions
		host, agent string
		scope       string
	}{
		{ClientOptions{}, host, "kprof", ""},
		{ClientOptions{Header: http.Header{"Host": {"store.example:80"}, "User-Agent": {"me"}, "X-Scope": {"b"}}}, "store.example:80", "me", "b"},
		{ClientOptions{HeaderFile: file, Protocol: OTLP}, "store.example", "kprof", "a"},
	} {
		c.o.URL = server.URL
		if err := client(t, c.o).push(t.Context(), nil); err == nil || got.Host != c.host || got.UserAgent() != c.agent || got.Header.Get("X-Scope") != c.scope {
			t.Errorf("%v, sent to %s by %s: %v", err, got.Host, got.UserAgent(), got.Header)
		}
	}

	for header, want := range map[string]string{
		"Content-Length: 1": "requests set the header Content-Length themselves", "transfer-encoding: chunked": "Transfer-Encoding", "Trailer: X": "Trailer",
		"Content-Type: text/plain": "Content-Type", "Accept-Encoding: br": "Accept-Encoding", "Host:": "wants HOST", "Host: a b": "wants HOST", "host: me:hush@a": "wants HOST", "Host: a/b": "wants HOST", "a b: c": "NAME: VALUE", "a: b\x01": "NAME: VALUE", ": c": "NAME: VALUE",
		"hush": "NAME: VALUE",
	} {
		livetest.WriteFile(t, file, header)
		_, err := NewClient(ClientOptions{URL: server.URL, HeaderFile: file})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", header, err)
		}
		if name, value, ok := strings.Cut(header, ":"); ok {
			value = strings.TrimSpace(value)
			if _, err := NewClient(ClientOptions{URL: server.URL, Header: http.Header{name: {value}}}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", header, err)
			}
		}
	}
}

// TestRetryAfter: how long a store asks to wait, either way in which it may, by its own clock.
func TestRetryAfter(t *testing.T) {
	const date = "Sun, 06 Nov 1994 08:49:37 GMT"
	header, dated := http.Header{}, true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // else it is the server's
		if dated {
			w.Header().Set("Date", date)
		}
		w.Header().Set("Retry-After", header.Get("Retry-After"))
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	c := client(t, ClientOptions{URL: server.URL})
	wait := func(after string) time.Duration {
		header.Set("Retry-After", after)
		var e *Error
		if err := c.push(t.Context(), nil); !errors.As(err, &e) {
			t.Fatal(err)
		}
		return e.RetryAfter
	}
	for after, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": 0, "-5": 0, "99999": maxRetryAfter, "": 0, "soon": 0,
		"Sun, 06 Nov 1994 08:49:57 GMT": 20 * time.Second, "Sunday, 06-Nov-94 08:49:57 GMT": 20 * time.Second, date: 0,
		"Sun, 06 Nov 1994 08:00:00 GMT": 0, "Sun, 06 Nov 2094 08:00:00 GMT": maxRetryAfter,
	} {
		if got := wait(after); got != want {
			t.Errorf("%q: %v, want %v", after, got, want)
		}
	}
	dated = false
	if got := wait(time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)); got < 5*time.Second || got > 20*time.Second {
		t.Errorf("%v, by our clock", got)
	}
}
