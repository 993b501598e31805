package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"kprof/convert/store/storetest"
	"kprof/perfevent/livetest"
)

// TestSecrets: they come from files, are sent to the store alone, and are in no error.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		livetest.WriteFile(t, name, text)
		return name
	}
	elsewhere := storetest.New(t)
	elsewhere.Authorized = func(r *http.Request) bool { t.Error("the secret goes elsewhere"); return true }
	server := storetest.New(t)
	var seen http.Header
	server.Authorized = func(r *http.Request) bool { seen = r.Header.Clone(); return false }
	for _, c := range []struct {
		o    ClientOptions
		want string
	}{
		{ClientOptions{BearerFile: file("b", "hush\n"), Tenant: "team"}, "Bearer hush"},
		{ClientOptions{BasicAuthFile: file("p", "me:hush")}, "Basic bWU6aHVzaA=="},
		{ClientOptions{Header: http.Header{"X-Key": {"hush"}}}, ""},
	} {
		c.o.URL = server.URL
		_, err := client(t, c.o).Fetch(context.Background(), lastHour())
		if err == nil || strings.Contains(err.Error(), "hush") || seen.Get("Authorization") != c.want || seen.Get("X-Scope-OrgID") != c.o.Tenant || seen.Get("X-Key") != c.o.Header.Get("X-Key") {
			t.Errorf("%v, sent %v", err, seen)
		}
	}
	// Of a pipe, the secret is read once; a store that repeats it is not believed.
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := write.WriteString("X-Key: hush\nX-Other: a b\n"); err != nil {
		t.Fatal(err)
	}
	write.Close()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		http.Error(w, "bad key "+r.Header.Get("X-Key")+" of "+r.Header.Get("Authorization"), http.StatusForbidden)
	}))
	defer echo.Close()
	piped := client(t, ClientOptions{URL: echo.URL, HeaderFile: fmt.Sprint("/dev/fd/", read.Fd()), BearerFile: file("b", "hush")})
	for range 2 {
		if _, err := piped.Fetch(context.Background(), lastHour()); err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "bad key") ||
			seen.Get("X-Key") != "hush" || seen.Get("X-Other") != "a b" {
			t.Errorf("%v, sent %v", err, seen)
		}
	}
	redirect := http.NewServeMux()
	redirect.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	moved := storetest.New(t)
	moved.Config.Handler = redirect
	if _, err := client(t, ClientOptions{URL: moved.URL, BearerFile: file("b", "hush")}).Fetch(context.Background(), lastHour()); err == nil || !strings.Contains(err.Error(), "it is elsewhere") {
		t.Error(err)
	}
	for _, o := range []ClientOptions{
		{URL: "http://me:hush@localhost"}, {URL: "localhost:4040"}, {URL: "ftp://localhost"}, {URL: "http://"}, {URL: "http://x/?a=b"}, {URL: "http://me:hush@x\x7f"},
		{URL: "http://x", BearerFile: filepath.Join(dir, "none")}, {URL: "http://x", BearerFile: file("e", "\n")}, {URL: "http://x", BearerFile: file("two", "a\nb")},
		{URL: "http://x", BasicAuthFile: file("n", "hush")}, {URL: "http://x", BasicAuthFile: file("p", "a:b"), BearerFile: file("b", "hush")},
		{URL: "http://x", HeaderFile: file("h", "hush")}, {URL: "http://x", HeaderFile: file("h2", "a: b\x01hush")}, {URL: "http://x", CertFile: "c"}, {URL: "http://x", CAFile: file("ca", "hush")}, {URL: "http://x", BearerFile: file("l", strings.Repeat("x", maxSecret+1))},
	} {
		if _, err := NewClient(o); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for url, want := range map[string]bool{"http://localhost:1": false, "http://127.0.0.1": false, "https://x": false, "http://x": true} {
		if got := client(t, ClientOptions{URL: url, BearerFile: file("b", "hush")}).Unencrypted(); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
}

// TestEchoedSecrets: wherever in its answer a store repeats a secret, in its words, the code of an
// error, the type of what it answers or what it says of profiles that it takes, nothing tells it:
// nor a password that was sent encoded, nor a part of one where a text is cut.
func TestEchoedSecrets(t *testing.T) {
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	livetest.WriteFile(t, password, "me:hush hush\n")
	var answer func(w http.ResponseWriter, r *http.Request)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer echo.Close()
	typed := func(status int, contentType, text string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	message := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "no hush hush")
	partial := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), message)
	for _, o := range []ClientOptions{
		{Header: http.Header{"X-Key": {"hush hush"}}}, {BasicAuthFile: password},
	} {
		for _, x := range []struct {
			protocol Protocol
			answer   func(w http.ResponseWriter, r *http.Request)
		}{
			{Pyroscope, typed(400, "text/plain", "no hush hush")},
			{Pyroscope, typed(400, "text/plain", strings.Repeat("x", maxMessage-4)+"hush hush")},
			{Pyroscope, typed(400, "application/json", `{"code":"hush hush","message":"hush hush"}`)},
			{Pyroscope, typed(200, "hush hush", "")},
			{OTLP, typed(400, "application/x-protobuf", string(message))},
			{OTLP, typed(200, "application/x-protobuf", string(partial))},
			{OTLP, typed(200, "application/json", `{"partialSuccess":{"rejectedProfiles":1,"errorMessage":"hush hush"}}`)},
		} {
			answer = x.answer
			o.URL, o.Protocol = echo.URL, x.protocol
			s := NewSender(client(t, o), SenderOptions{Pieces: PieceOptions{Labels: service}})
			err := errors.Join(s.Enqueue(recorded("web", 1)), s.Drain(t.Context()))
			counts := s.Counts()
			said := fmt.Sprint(err, counts.LastRejection, counts.LastRemark)
			if strings.Contains(said, "hush") || !strings.Contains(said, "…") {
				t.Errorf("%v: %s", x.protocol, said)
			}
		}
	}
}
