package store

import (
	stdcmp "cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"kprof/convert/pprof"
	"kprof/convert/stacks"
	"kprof/convert/store/storetest"
)

// received is what a receiver was sent, as one Set for each column.
func received(t *testing.T, pushes []storetest.Push) map[string]*stacks.Set {
	t.Helper()
	sets := map[string]*stacks.Set{}
	of := map[string][]*profile.Profile{}
	for _, p := range pushes {
		of[p.Profile.SampleType[0].Type] = append(of[p.Profile.SampleType[0].Type], p.Profile)
	}
	for column, profiles := range of {
		p, err := profile.Merge(profiles)
		if err != nil {
			t.Fatal(err)
		}
		read, write := io.Pipe()
		go func() { write.CloseWithError(p.WriteUncompressed(write)) }()
		if sets[column], err = pprof.Read(read); err != nil {
			t.Fatal(err)
		}
	}
	return sets
}

// TestOTLP: what a receiver of OpenTelemetry gets is what was sent, each column a profile:
// stacks, names, build ids, times, values; and who it is of in the names that its
// conventions have. Profiles of more than a request may have are sent in parts.
func TestOTLP(t *testing.T) {
	for _, n := range []int{1, 20, 20_000} {
		server := storetest.New(t)
		c := client(t, ClientOptions{URL: server.URL + "/v1development/profiles"})
		set := recorded("web1", n)
		s := NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: append(service, Label{"deployment.environment", "é"}), Limits: Limits{BytesPerSecond: 1 << 30}}})
		if err := errors.Join(s.Enqueue(set), s.Drain(context.Background())); err != nil {
			t.Fatal(err)
		}
		pushes := server.Pushes()
		ids := map[string]bool{}
		for _, p := range pushes {
			want := map[string]string{
				"service.name": "test", "host.name": "web1", "host.arch": "amd64", "os.type": "linux", "kernel_release": "6.12.1",
				"kernel_build_id": "abcdef", "event": "cpu-clock", "deployment.environment": "é",
			}
			if diff := cmp.Diff(want, p.Labels); diff != "" {
				t.Fatal(diff)
			}
			if p.Profile.Period != set.Period || p.Profile.DurationNanos != set.DurationNanos || p.Profile.TimeNanos < set.TimeNanos || p.Profile.TimeNanos > set.TimeNanos+10 {
				t.Errorf("period %d, from %d for %d", p.Profile.Period, p.Profile.TimeNanos, p.Profile.DurationNanos)
			}
			ids[p.ID] = true
		}
		if len(ids) != len(pushes) || n == 20_000 && len(pushes) < 4 {
			t.Errorf("%d ids of %d profiles", len(ids), len(pushes))
		}
		got := received(t, pushes)
		want := byName(set)
		for column, v := range set.Events[0].Values {
			one := map[string][]int64{}
			for stack, values := range want {
				one[stack] = values[column : column+1]
			}
			if diff := cmp.Diff(one, byName(got[v.Type])); diff != "" {
				t.Errorf("%d stacks, %s: %.3000s", n, v.Type, diff)
			}
		}
		// The same again has the same ids.
		if err := errors.Join(s.Enqueue(set), s.Drain(context.Background())); err != nil {
			t.Fatal(err)
		}
		for _, p := range server.Pushes() {
			if !ids[p.ID] {
				t.Errorf("id %s is new", p.ID)
			}
		}
		if refused := server.Refusals(); len(refused) > 0 {
			t.Errorf("refused %q", refused)
		}
	}
}

// TestOTLPLabels: no two attributes have one name, whichever name of theirs labels were set by; a
// later one replaces an earlier one, and one without a value is not sent.
func TestOTLPLabels(t *testing.T) {
	for _, x := range []struct {
		labels []Label
		want   map[string]string
	}{
		{[]Label{{"host.name", "node7"}, {"service.name", "shop"}, {"os.type", "freebsd"}, {"host.arch", "arm"}},
			map[string]string{"service.name": "shop", "host.name": "node7", "host.arch": "arm", "os.type": "freebsd"}},
		{[]Label{{"host.name", "node7"}, {"host", "web2"}, {"service.name", "shop"}, {"service_name", "web"}, {"arch", "aarch64"}, {"os.type", ""}},
			map[string]string{"service.name": "web", "host.name": "web2", "host.arch": "arm64"}},
		{[]Label{{"event", "mine"}, {"host", ""}, {"host.arch", "x86_64"}},
			map[string]string{"service.name": "test", "host.arch": "amd64", "os.type": "linux", "event": "mine"}},
	} {
		server := storetest.New(t)
		s := NewSender(client(t, ClientOptions{URL: server.URL, Protocol: OTLP}), SenderOptions{Pieces: PieceOptions{Labels: service}})
		if err := errors.Join(s.Enqueue(recorded("web1", 1), x.labels...), s.Drain(t.Context())); err != nil {
			t.Fatal(err)
		}
		x.want["kernel_release"], x.want["kernel_build_id"], x.want["event"] = "6.12.1", "abcdef", stdcmp.Or(x.want["event"], "cpu-clock")
		pushes := server.Pushes()
		if len(pushes) == 0 {
			t.Errorf("%v: refused %q", x.labels, server.Refusals())
		}
		for _, p := range pushes {
			if diff := cmp.Diff(x.want, p.Labels); diff != "" {
				t.Errorf("%v: %s", x.labels, diff)
			}
		}
	}
	// A profile of nobody is not sent.
	s := NewSender(client(t, ClientOptions{URL: "http://localhost", Protocol: OTLP}), SenderOptions{})
	if err := s.Enqueue(recorded("web1", 1)); err == nil || !strings.Contains(err.Error(), "service_name") {
		t.Error(err)
	}
}

// TestOTLPFaults: with every error in random order, and senders that end at any time and
// begin again from what is on the disk, every profile arrives once or more.
func TestOTLPFaults(t *testing.T) {
	t.Parallel()
	server := storetest.New(t)
	r := rand.New(rand.NewPCG(5, 5))
	server.SlowFor = 600 * time.Millisecond
	server.Fault = func(int) storetest.Fault { return storetest.Fault(r.IntN(int(storetest.NumFaults))) }
	c := client(t, ClientOptions{URL: server.URL, Protocol: OTLP, Timeout: 400 * time.Millisecond})
	dir := filepath.Join(t.TempDir(), "spool")
	want, got := map[string]bool{}, map[string]bool{}
	var s *Sender
	for i := range 24 {
		if i%6 == 0 { // as after a crash: only the disk is left
			s = NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: service}, MaxWait: 20 * time.Millisecond, TryFor: time.Minute, Spool: openSpool(t, dir, SpoolOptions{})})
		}
		host := fmt.Sprint("h", i)
		want[host] = true
		if err := s.Enqueue(recorded(host, 3)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, p := range server.Pushes() {
		got[p.Labels["host.name"]] = true
	}
	counts := s.Counts()
	if diff := cmp.Diff(want, got); diff != "" || counts.Lost.Total() != 0 {
		t.Errorf("%s, lost %v", diff, &counts.Lost)
	}
}

// TestOTLPAnswers: what a receiver takes in part is not sent again, and counted; what it
// says of what it took is told; what it refuses is lost, and what may not be tried again is
// not, but kept.
func TestOTLPAnswers(t *testing.T) {
	server := storetest.New(t)
	server.Partial = func(n int) (int64, string) {
		return []int64{1, 0, 0}[n], []string{"too many names", "deprecated", ""}[n]
	}
	c := client(t, ClientOptions{URL: server.URL, Protocol: OTLP})
	s := NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: service}})
	for _, host := range []string{"a", "b", "c"} {
		if err := s.Enqueue(recorded(host, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	counts := s.Counts()
	if counts.Sent != 2 || counts.Lost[Rejected] != 1 || len(server.Pushes()) != 5 ||
		!strings.Contains(fmt.Sprint(counts.LastRejection), "rejected 1 profile of those that it was sent at once: too many names") || !strings.Contains(fmt.Sprint(counts.LastRemark), "says: deprecated") {
		t.Errorf("%+v, %d profiles", counts, len(server.Pushes()))
	}
	if _, err := c.Fetch(context.Background(), lastHour()); err == nil || !strings.Contains(err.Error(), "answer no questions") {
		t.Error(err)
	}

	status, contentType, tries, answer := 0, "application/x-protobuf", 0, []byte("\x12\x04no\xffo")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tries++
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}))
	defer other.Close()
	for _, x := range []struct {
		status       int
		again, lost  bool
		want, answer string
	}{
		{400, false, true, "400 Bad Request: no?o", "\x12\x04no\xffo"},
		{413, false, true, "413", ""},
		{500, false, false, "500 Internal Server Error: no", "\x12\x02no"},
		{501, false, false, "501", "\xff"},
		{404, false, false, "404", ""},
		{503, true, false, "503", ""},
		{429, true, false, "429", ""},
		{200, false, false, "malformed answer", "\x0a\xff"},
		{200, false, false, "malformed answer", "\x0a\x01\xff"},
	} {
		status, tries, answer = x.status, 0, []byte(x.answer)
		ctx, cancel := context.WithCancel(context.Background())
		var retrying []error
		s := NewSender(client(t, ClientOptions{URL: other.URL, Protocol: OTLP}), SenderOptions{Pieces: PieceOptions{Labels: service}, TryFor: time.Minute, MaxWait: 5 * time.Millisecond,
			Retrying: func(err error, _ time.Duration) {
				if retrying = append(retrying, err); len(retrying) > 1 {
					cancel()
				}
			}})
		err := errors.Join(s.Enqueue(recorded("web", 1)), s.Drain(ctx))
		cancel()
		counts := s.Counts()
		if waiting, _ := s.Waiting(); x.lost != (waiting == 0) || x.lost != (counts.Lost[Rejected] == 1) || x.again != (tries > 1) {
			t.Errorf("%d: %d tries, %d waiting, %+v, %v", x.status, tries, waiting, counts, err)
		}
		if said := fmt.Sprint(err, retrying, counts.LastRejection); !strings.Contains(said, x.want) {
			t.Errorf("%d: %s", x.status, said)
		}
	}
	// A store with another API takes nothing.
	status, contentType, answer = 200, "text/html", nil
	s = NewSender(client(t, ClientOptions{URL: other.URL, Protocol: OTLP}), SenderOptions{Pieces: PieceOptions{Labels: service}})
	if err := errors.Join(s.Enqueue(recorded("web", 1)), s.Drain(context.Background())); err == nil || !strings.Contains(err.Error(), "v1development/profiles is no call of a store") {
		t.Error(err)
	}
}

// TestOTLPTaken: a receiver has taken what it answers with any status of success, with nothing or
// in JSON, as the Collector's exporter (otlphttpexporter) takes these answers. It is not sent again.
func TestOTLPTaken(t *testing.T) {
	var status int
	var contentType, answer string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer receiver.Close()
	for _, x := range []struct {
		status              int
		contentType, answer string
		lost                uint64
		want                string // of what is told
	}{
		{200, "", "", 0, ""},
		{202, "", "", 0, ""},
		{204, "", "", 0, ""},
		{202, "application/x-protobuf", "\x0a\x04\x12\x02ah", 0, "says: ah"},
		{200, "application/json", "", 0, ""},
		{200, "application/json", "{}", 0, ""},
		{200, "application/json; charset=utf-8", `{"partialSuccess":{}}`, 0, ""},
		{200, "application/json", `{"partialSuccess":{"rejectedProfiles":"2","errorMessage":"too old"}}`, 1, "rejected 2 profiles of those that it was sent at once: too old"},
		{200, "application/json", `{"partialSuccess":{"rejectedProfiles":1}}`, 1, "rejected 1 profile"},
		{200, "application/json", `{"partialSuccess":{"errorMessage":"ah\ud800"}}`, 0, "says: ah"},
	} {
		status, contentType, answer = x.status, x.contentType, x.answer
		s := NewSender(client(t, ClientOptions{URL: receiver.URL, Protocol: OTLP}), SenderOptions{Pieces: PieceOptions{Labels: service}})
		err := errors.Join(s.Enqueue(recorded("web", 1)), s.Drain(t.Context()))
		counts := s.Counts()
		if waiting, _ := s.Waiting(); err != nil || waiting != 0 || counts.Sent != 1-x.lost || counts.Lost[Rejected] != x.lost {
			t.Errorf("%d %s %q: %d waiting, %+v, %v", x.status, x.contentType, x.answer, waiting, counts, err)
		}
		if said := fmt.Sprint(counts.LastRejection, counts.LastRemark); !strings.Contains(said, x.want) {
			t.Errorf("%d %s %q: %s", x.status, x.contentType, x.answer, said)
		}
	}
	for _, answer = range []string{"[]", "{", `{"partialSuccess":1}`, `{"partialSuccess":{"rejectedProfiles":"many"}}`} {
		status, contentType = 200, "application/json"
		s := NewSender(client(t, ClientOptions{URL: receiver.URL, Protocol: OTLP}), SenderOptions{Pieces: PieceOptions{Labels: service}})
		err := errors.Join(s.Enqueue(recorded("web", 1)), s.Drain(t.Context()))
		if waiting, _ := s.Waiting(); !errors.Is(err, errAnswer) || waiting != 1 {
			t.Errorf("%q: %d waiting, %v", answer, waiting, err)
		}
	}
}

// TestProtocolsOfSpool: what is in a spool is sent to no store of another protocol.
func TestProtocolsOfSpool(t *testing.T) {
	server := storetest.New(t)
	spool := openSpool(t, t.TempDir(), SpoolOptions{})
	senderOf := func(p Protocol) *Sender {
		return NewSender(client(t, ClientOptions{URL: server.URL, Protocol: p}), SenderOptions{Pieces: PieceOptions{Labels: service}, Spool: spool})
	}
	if err := senderOf(OTLP).Enqueue(recorded("web", 1)); err != nil {
		t.Fatal(err)
	}
	var other *ProtocolError
	if err := senderOf(Pyroscope).Drain(t.Context()); !errors.As(err, &other) || other.Protocol != OTLP || len(server.Pushes()) != 0 {
		t.Errorf("%v, %d pushes", err, len(server.Pushes()))
	}
	if err := senderOf(OTLP).Drain(t.Context()); err != nil || len(server.Pushes()) != 2 {
		t.Errorf("%v, %d pushes", err, len(server.Pushes()))
	}
}

// FuzzPartial: whatever a receiver answers is no answer, or all, some or none taken.
func FuzzPartial(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x0a\x05\x08\x01\x12\x01x"))
	f.Add([]byte("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add(binary.AppendUvarint([]byte("\x0a"), 1<<63))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p *PartialError
		if err := parsePartial(b, cut); errors.As(err, &p) && (p.Rejected < 0 || p.Rejected == 0 && p.Message == "" || len(p.Message) > 2*maxMessage) {
			t.Errorf("%+v", p)
		}
		if len(statusText(b)) > len(b) {
			t.Error("more than there is")
		}
	})
}
