// Package storetest is a store of profiles for tests, with the limits and the errors of
// Grafana Pyroscope; it takes profiles of OpenTelemetry too.
package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fault is what goes wrong with a request.
type Fault int

// Faults.
const (
	None         Fault = iota
	Exhausted          // 429, code resource_exhausted: the tenant sends too much
	Unknown            // 500, code unknown: a writer is down
	Unavailable        // 503 of a proxy, in words
	HalfClosed         // the profile is taken, and the connection closed without an answer
	Dropped            // the connection is closed before the profile is read
	Slow               // the profile is taken, and the answer comes after Server.SlowFor
	TruncatedAns       // the profile is taken, and the answer is cut short
	NumFaults
)

// Push is one profile that was taken.
type Push struct {
	Labels  map[string]string
	ID      string
	Profile *profile.Profile
}

// Server is a store that listens on the loopback interface.
type Server struct {
	*httptest.Server
	// Fault says what goes wrong with the n-th push, from 0; nil for nothing.
	Fault func(n int) Fault
	// Authorized says whether a request has what it takes; nil for all.
	Authorized func(*http.Request) bool
	// Limit refuses what comes faster than 4 MB/s with bursts of 2 MB.
	Limit bool
	// Partial says how many profiles of the n-th request of OTLP are rejected, and why.
	Partial func(n int) (rejected int64, message string)
	SlowFor time.Duration
	// Discard keeps nothing of profiles but their labels, so that a test may send many.
	Discard bool

	mu     sync.Mutex
	n      int
	pushes []Push
	errs   []string // refusals for good
	tokens float64
	filled time.Time
}

// New starts a store that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{tokens: 2e6, filled: time.Now(), SlowFor: time.Second}
	mux := http.NewServeMux()
	mux.HandleFunc("/push.v1.PusherService/Push", s.push)
	mux.HandleFunc("/querier.v1.QuerierService/SelectMergeProfile", s.merge)
	mux.HandleFunc("/querier.v1.QuerierService/LabelValues", s.values)
	mux.HandleFunc("/querier.v1.QuerierService/ProfileTypes", s.types)
	mux.HandleFunc("/v1development/profiles", s.export)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Pushes are those that were taken so far.
func (s *Server) Pushes() []Push {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pushes)
}

// Refusals are why profiles were refused for good.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.errs)
}

// fail answers as Connect does (https://connectrpc.com/docs/protocol).
func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": message})
}

// accept reads a request of the protocol.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return nil, false
	case r.Header.Get("Content-Type") != "application/proto" || r.Header.Get("Connect-Protocol-Version") != "1":
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return nil, false
	case s.Authorized != nil && !s.Authorized(r):
		fail(w, http.StatusUnauthorized, "unauthenticated", "no org id")
		return nil, false
	}
	b, err := io.ReadAll(r.Body)
	return b, err == nil
}

func answer(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", "application/proto")
	_, _ = w.Write(b)
}

// hangUp closes the connection.
func hangUp(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

// refuse does what a fault is that is there before a request is read; answers are those of the
// protocol. False for other faults.
func refuse(w http.ResponseWriter, r *http.Request, fault Fault, answers map[Fault]func()) bool {
	answer := answers[fault]
	switch {
	case fault == Dropped:
		hangUp(w)
		return true
	case fault == Unavailable:
		answer = func() { http.Error(w, "upstream connect error", http.StatusServiceUnavailable) }
	case answer == nil:
		return false
	}
	_, _ = io.Copy(io.Discard, r.Body)
	answer()
	return true
}

func (s *Server) push(w http.ResponseWriter, r *http.Request) {
	fault, _ := s.fault()
	if refuse(w, r, fault, map[Fault]func(){
		Exhausted: func() {
			fail(w, http.StatusTooManyRequests, "resource_exhausted", "the limit of ingestion is reached")
		},
		Unknown: func() { fail(w, http.StatusInternalServerError, "unknown", "no segment writer is there") },
	}) {
		return
	}
	b, ok := s.accept(w, r)
	if !ok {
		return
	}
	if err := s.take(b); err != nil {
		if err.exhausted {
			fail(w, http.StatusTooManyRequests, "resource_exhausted", err.text)
			return
		}
		s.mu.Lock()
		s.errs = append(s.errs, err.text)
		s.mu.Unlock()
		fail(w, http.StatusBadRequest, "invalid_argument", err.text)
		return
	}
	s.finish(w, r, fault, "application/proto", nil)
}

// fault is what goes wrong with the next push, whose number it is.
func (s *Server) fault() (Fault, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.n
	s.n++
	if s.Fault == nil {
		return None, n
	}
	return s.Fault(n), n
}

// finish answers what was taken, unless something goes wrong.
func (s *Server) finish(w http.ResponseWriter, r *http.Request, fault Fault, contentType string, b []byte) {
	w.Header().Set("Content-Type", contentType)
	switch fault {
	case HalfClosed:
		hangUp(w)
		return
	case TruncatedAns:
		w.Header().Set("Content-Length", "10")
		b = []byte{1}
	case Slow:
		select {
		case <-time.After(s.SlowFor):
		case <-r.Context().Done():
		}
	}
	_, _ = w.Write(b)
}

// refusal is why a profile is not taken.
type refusal struct {
	text      string
	exhausted bool
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// take checks a PushRequest as Pyroscope does (pkg/validation/validate.go), and keeps it.
func (s *Server) take(b []byte) *refusal {
	bad := func(format string, args ...any) *refusal { return &refusal{text: fmt.Sprintf(format, args...)} }
	var pushes []Push
	size := 0
	for _, series := range all(b, 1) {
		labels := map[string]string{}
		for _, l := range all(series, 1) {
			name, value := text(l, 1), text(l, 2)
			switch {
			case !labelName.MatchString(name) || len(name) > 1024:
				return bad("invalid label name '%s'", name)
			case len(value) > 2048 || !utf8.ValidString(value):
				return bad("invalid label value of %s", name)
			case labels[name] != "":
				return bad("duplicate label name %s", name)
			}
			labels[name] = value
		}
		if len(labels) > 30 {
			return bad("%d label names; limit 30", len(labels))
		}
		if labels["__name__"] == "" || labels["service_name"] == "" {
			return bad("profile name or service name is not provided")
		}
		for _, sample := range all(series, 2) {
			z, err := gzip.NewReader(strings.NewReader(text(sample, 1)))
			if err != nil {
				return bad("%v", err)
			}
			raw, err := io.ReadAll(z)
			if err != nil {
				return bad("%v", err)
			}
			p, err := profile.ParseUncompressed(raw)
			if err == nil {
				err = p.CheckValid()
			}
			if err != nil {
				return bad("malformed profile: %v", err)
			}
			if err := checkProfile(p, raw); err != nil {
				return err
			}
			size += len(raw)
			pushes = append(pushes, Push{labels, text(sample, 2), p})
		}
	}
	if len(pushes) == 0 {
		return bad("no profiles received")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Limit {
		now := time.Now()
		s.tokens = min(2e6, s.tokens+4e6*now.Sub(s.filled).Seconds())
		s.filled = now
		if float64(size) > s.tokens {
			return &refusal{"ingestion rate limit (4 MB/s) exceeded", true}
		}
		s.tokens -= float64(size)
	}
	s.keep(pushes)
	return nil
}

// keep keeps profiles; s.mu is locked.
func (s *Server) keep(pushes []Push) {
	for _, p := range pushes {
		if s.Discard {
			p.Profile = nil
		}
		s.pushes = append(s.pushes, p)
	}
}

func checkProfile(p *profile.Profile, raw []byte) *refusal {
	bad := func(format string, args ...any) *refusal { return &refusal{text: fmt.Sprintf(format, args...)} }
	age := time.Since(time.Unix(0, p.TimeNanos))
	switch {
	case len(raw) > 4<<20:
		return bad("the profile has %d bytes; limit 4 MiB", len(raw))
	case len(p.Sample) > 16000:
		return bad("the profile has %d samples; limit 16000", len(p.Sample))
	case p.TimeNanos == 0 || age > time.Hour || age < -10*time.Minute:
		return bad("profile with timestamp %d is not in the ingestion window", p.TimeNanos)
	case !utf8.Valid(raw) && !validStrings(p):
		return bad("invalid utf8 string")
	}
	for _, t := range p.SampleType {
		if strings.Contains(t.Type, "-") {
			return bad("sample type contains -")
		}
	}
	for _, x := range p.Sample {
		if len(x.Label)+len(x.NumLabel) > 0 {
			return bad("a label of a sample would be a series")
		}
	}
	return nil
}

func validStrings(p *profile.Profile) bool {
	for _, f := range p.Function {
		if !utf8.ValidString(f.Name + f.SystemName + f.Filename) {
			return false
		}
	}
	for _, m := range p.Mapping {
		if !utf8.ValidString(m.File + m.BuildID) {
			return false
		}
	}
	return true
}

var matcher = regexp.MustCompile(`\s*([a-zA-Z_]\w*)\s*(=~|!=|!~|=)\s*"((?:[^"\\]|\\.)*)"\s*,?`)

// selected are the pushes that a selector and a time choose.
func (s *Server) selected(selector string, start, end int64) ([]Push, error) {
	inner, ok := strings.CutPrefix(selector, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !ok || !closed {
		return nil, fmt.Errorf("parse error: %q", selector)
	}
	if rest := strings.TrimSpace(matcher.ReplaceAllString(inner, "")); rest != "" {
		return nil, fmt.Errorf("parse error at %q", rest)
	}
	var chosen []Push
	for _, p := range s.Pushes() {
		take := p.Profile.TimeNanos/1e6 >= start && p.Profile.TimeNanos/1e6 <= end
		for _, m := range matcher.FindAllStringSubmatch(inner, -1) {
			have, want := p.Labels[m[1]], strings.ReplaceAll(m[3], `\"`, `"`)
			is := have == want
			if strings.HasSuffix(m[2], "~") {
				re, err := regexp.Compile("^(?:" + want + ")$")
				if err != nil {
					return nil, err
				}
				is = re.MatchString(have)
			}
			take = take && is == !strings.HasPrefix(m[2], "!")
		}
		if take {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// typeOf is the type of a column of a push.
func typeOf(p *Push, column int) string {
	period := profile.ValueType{}
	if p.Profile.PeriodType != nil {
		period = *p.Profile.PeriodType
	}
	t := p.Profile.SampleType[column]
	return strings.Join([]string{p.Labels["__name__"], t.Type, t.Unit, period.Type, period.Unit}, ":")
}

func (s *Server) merge(w http.ResponseWriter, r *http.Request) {
	b, ok := s.accept(w, r)
	if !ok {
		return
	}
	pushes, err := s.selected(text(b, 2), number(b, 3), number(b, 4))
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_argument", err.Error())
		return
	}
	var profiles []*profile.Profile
	for i := range pushes {
		p := &pushes[i]
		for c := range p.Profile.SampleType {
			if typeOf(p, c) != text(b, 1) {
				continue
			}
			one := p.Profile.Copy()
			one.SampleType = one.SampleType[c : c+1]
			for _, x := range one.Sample {
				x.Value = x.Value[c : c+1]
			}
			one.DefaultSampleType = ""
			profiles = append(profiles, one)
		}
	}
	if len(profiles) == 0 {
		answer(w, nil)
		return
	}
	merged, err := profile.Merge(profiles)
	if err != nil {
		fail(w, http.StatusInternalServerError, "unknown", err.Error())
		return
	}
	var out bytes.Buffer
	if err := merged.WriteUncompressed(&out); err != nil {
		fail(w, http.StatusInternalServerError, "unknown", err.Error())
		return
	}
	answer(w, out.Bytes())
}

// list is a message of texts in field 1.
func list(values []string) (b []byte) {
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), v)
	}
	return b
}

func (s *Server) values(w http.ResponseWriter, r *http.Request) {
	b, ok := s.accept(w, r)
	if !ok {
		return
	}
	selector := text(b, 2)
	if selector == "" {
		selector = "{}"
	}
	pushes, err := s.selected(selector, number(b, 3), number(b, 4))
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_argument", err.Error())
		return
	}
	var found []string
	for _, p := range pushes {
		if v := p.Labels[text(b, 1)]; v != "" {
			found = append(found, v)
		}
	}
	answer(w, list(found))
}

func (s *Server) types(w http.ResponseWriter, r *http.Request) {
	b, ok := s.accept(w, r)
	if !ok {
		return
	}
	pushes, err := s.selected("{}", number(b, 1), number(b, 2))
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_argument", err.Error())
		return
	}
	var ids []string
	for i := range pushes {
		for c := range pushes[i].Profile.SampleType {
			ids = append(ids, typeOf(&pushes[i], c))
		}
	}
	slices.Sort(ids)
	var out []byte
	for _, id := range slices.Compact(ids) {
		out = protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), list([]string{id}))
	}
	answer(w, out)
}
