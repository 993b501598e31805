//go:build linux

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/pprof"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/convert/store/storetest"
	"kprof/perfevent/livetest"
)

// machineProfile writes the profile of a machine, in which work costs so many times 10 ms.
func machineProfile(t *testing.T, dir, host string, work int64) string {
	t.Helper()
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}})
	s.Comments = []string{"host: " + host, "kernel: 6.12.1 x86_64"}
	s.TimeNanos, s.DurationNanos = time.Now().Add(-time.Minute).UnixNano(), 10e9
	m := s.AddMapping(stacks.Mapping{Start: 0x400000, Limit: 0x800000, File: "/bin/x", BuildID: "1234", Kind: stacks.KindUser})
	for i, n := range []int64{work, 100} {
		loc := s.AddLocation(m, uint64(0x400000+16*i), stacks.KindUser)
		name := []string{"work", "rest"}[i]
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name, SystemName: name})})
		l := s.InternLabels([]stacks.Label{{Key: "comm", Str: "prog"}, {Key: "pid", Num: 7}})
		s.Add(0, s.Intern([]uint32{loc}), l, n, n*1e7)
	}
	name := filepath.Join(dir, host+".pb.gz")
	var b bytes.Buffer
	if err := pprof.Write(&b, s, pprof.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, name, b.Bytes())
	return name
}

// outcome runs kprof in a directory, and returns what it wrote and its exit code.
func outcome(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("kprof", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	err := cmd.Run()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestPushAndFetch: what was pushed comes back by every way to ask for it.
func TestPushAndFetch(t *testing.T) {
	server := storetest.New(t)
	server.Limit = true
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	livetest.WriteFile(t, token, "hush\n")
	server.Authorized = func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "Bearer hush" && r.Header.Get("X-Scope-OrgID") == "team"
	}
	web1, web2 := machineProfile(t, dir, "web1", 300), machineProfile(t, dir, "web2", 500)
	auth := []string{"--bearer-file", token, "--tenant", "team"}
	_, stderr, code := outcome(t, dir, append(auth, "push", "--to", server.URL, "--service", "web", "--set-label", "zone=(w)eb", web1, web2)...)
	if code != 0 || !strings.Contains(stderr, "sent 2 profiles (1000 samples, ") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, p := range server.Pushes() {
		if p.Labels["service_name"] != "web" || p.Labels["zone"] != "w" || p.Labels["arch"] != "x86_64" {
			t.Errorf("labels %v", p.Labels)
		}
	}
	out, stderr, code := outcome(t, dir, append(auth, "fetch", "--from", server.URL, "--query", `{host="web2"}`, "-f", "folded")...)
	if code != 0 || !slices.Equal(strings.Split(strings.TrimSpace(out), "\n"), []string{"prog;rest 1000000000", "prog;work 5000000000"}) {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if _, stderr, code := outcome(t, dir, append(auth, "fetch", "--from", server.URL, "--by", "host", "-o", "all.pb.gz")...); code != 0 {
		t.Fatal(stderr)
	}
	p := stackstest.ReadPprof(t, filepath.Join(dir, "all.pb.gz"))
	sums := map[string]int64{}
	for _, s := range p.Sample {
		sums[s.Label["host"][0]] += s.Value[1]
	}
	if diff := cmp.Diff(map[string]int64{"web1": 4e9, "web2": 6e9}, sums); diff != "" || p.Mapping[0].BuildID != "1234" {
		t.Errorf("%s%v", diff, p.Mapping[0])
	}
	url := server.URL + "/?query={host=~\"web.*\"}&by=host&tenant=team&bearer-file=" + token
	if out, stderr, code := outcome(t, dir, "report", "--by", "host", url); code != 0 || !strings.Contains(out, "60.00%  web2") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	// A + of a query (RFC 3986, 3.4) is one, of a pattern and of a time zone.
	url = server.URL + `/?query={host=~"web[0-9]+"}&since=2006-01-02T15:04:05+02:00&tenant=team&bearer-file=` + token
	if out, stderr, code := outcome(t, dir, "convert", url, "-f", "folded"); code != 0 || !slices.Equal(strings.Split(strings.TrimSpace(out), "\n"), []string{"prog;rest 2000000000", "prog;work 8000000000"}) {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	// Mistakes.
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{1, "the store answers unauthenticated: no org id", []string{"fetch", "--from", server.URL, "-f", "folded"}},
		{1, "the store answers unauthenticated: no org id; 1 profile stays in spool", []string{"push", "--spool", "spool", "--to", server.URL, web1}},
		{1, "the store answers unauthenticated: no org id; 1 more inputs were not sent", []string{"push", "--to", server.URL, web1, web2}},
		{1, `the store has no profile {host="web3"}`, append(auth, "fetch", "--from", server.URL, "--query", `{host="web3"}`, "-f", "folded")},
		{1, "the store answers invalid_argument: parse error", append(auth, "fetch", "--from", server.URL, "--query", `{host}`, "-f", "folded")},
		{2, "is no selector", []string{"fetch", "--from", server.URL, "--query", "host", "-f", "folded"}},
		{2, "--since", []string{"fetch", "--from", server.URL, "--since", "yesterday", "-f", "folded"}},
		{2, "before it starts", []string{"fetch", "--from", server.URL, "--until", "2h", "-f", "folded"}},
		{2, "--from URL", []string{"fetch", "-f", "folded"}},
		{2, "--to URL", []string{"push", web1}},
		{2, "name the profiles", []string{"push", "--to", server.URL}},
		{2, `has no parameter "querry"`, []string{"report", server.URL + "/?querry={}"}},
		{2, `has two parameters "query"`, []string{"report", server.URL + "/?query={a=\"b\"}&query={}"}},
		{1, "no single events", []string{"script", server.URL + "/?query={}"}},
		{1, "is no address of a store", []string{"push", "--to", "localhost:4040", web1}},
		{1, "connection refused", []string{"push", "--to", "http://127.0.0.1:1", "--retry-for", "10ms", web1}},
	} {
		out, stderr, code := outcome(t, dir, c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) || out != "" || strings.Contains(stderr, "hush") {
			t.Errorf("kprof %q: exit code %d: %s%s", c.args, code, out, stderr)
		}
	}
	// What stayed is sent by the next one.
	_, stderr, code = outcome(t, dir, append(auth, "push", "--spool", "spool", "--to", server.URL)...)
	if code != 0 || !strings.Contains(stderr, "sent 1 profile (400 samples, ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestPushOTLP: a receiver of OpenTelemetry is sent the same, by the flag or by its address.
func TestPushOTLP(t *testing.T) {
	server := storetest.New(t)
	server.Partial = func(n int) (int64, string) { return int64(n % 2), []string{"as it is", "too many names"}[n%2] }
	dir := t.TempDir()
	web1, web2 := machineProfile(t, dir, "web1", 300), machineProfile(t, dir, "web2", 500)
	_, stderr, code := outcome(t, dir, "push", "--protocol", "otlp", "--to", server.URL, "--service", "web", web1)
	if code != 0 || !strings.Contains(stderr, "sent 1 profile (400 samples, ") || !strings.Contains(stderr, "the store took it and says: as it is") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	_, stderr, code = outcome(t, dir, "push", "--to", server.URL+"/v1development/profiles", web2)
	if code != 1 || !strings.Contains(stderr, "lost: 1 rejected; the store rejected 1 profile of those that it was sent at once: too many names") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	sums := map[string]int64{}
	for _, p := range server.Pushes() {
		for _, s := range p.Profile.Sample {
			sums[p.Labels["service.name"]+" "+p.Labels["host.name"]+" "+p.Profile.SampleType[0].Type] += s.Value[0]
		}
	}
	if diff := cmp.Diff(map[string]int64{"web web1 samples": 400, "web web1 cpu": 4e9, "kprof web2 samples": 600}, sums); diff != "" {
		t.Error(diff)
	}
	server.Fault = func(int) storetest.Fault { return storetest.Unavailable }
	if _, stderr, code := outcome(t, dir, "push", "--protocol", "otlp", "--to", server.URL, "--retry-for", "10ms", "--spool", "spool", web1); code != 1 || !strings.Contains(stderr, "1 profile stays in spool") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{1, "the spool has profiles for a store that speaks otlp; --protocol otlp and its address send them; 1 profile stays in spool", []string{"push", "--to", server.URL, "--spool", "spool"}},
		{2, "use pyroscope or otlp", []string{"push", "--to", server.URL, "--protocol", "grpc", web1}},
		{2, "is the address of a receiver", []string{"push", "--to", server.URL + "/v1development/profiles", "--protocol", "pyroscope", web1}},
		{1, "answer no questions", []string{"fetch", "--from", server.URL + "/v1development/profiles", "-f", "folded"}},
	} {
		if _, stderr, code := outcome(t, dir, c.args...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("kprof %q: exit code %d: %s", c.args, code, stderr)
		}
	}
}

// TestPushOld: what is too old for a store is not sent, unless as new.
func TestPushOld(t *testing.T) {
	server := storetest.New(t)
	dir := t.TempDir()
	name := machineProfile(t, dir, "web1", 1)
	_, stderr, code := outcome(t, dir, "push", "--to", server.URL, "--spool-age", "10s", name)
	if code != 1 || !strings.Contains(stderr, "it was recorded 1m") || !strings.Contains(stderr, "--now") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	_, stderr, code = outcome(t, dir, "push", "--to", server.URL, "--spool-age", "10s", "--now", name)
	if code != 0 || len(server.Pushes()) != 1 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestPushFailingAtOne: of what is in a spool, one profile at which the store fails does not
// hold the others, and stays.
func TestPushFailingAtOne(t *testing.T) {
	server := storetest.New(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("bad")) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.Config.Handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	dir := t.TempDir()
	push := []string{"push", "--spool", "spool", "--retry-for", "1s"}
	_, stderr, code := outcome(t, dir, append(push, "--to", "http://127.0.0.1:1",
		machineProfile(t, dir, "bad", 1), machineProfile(t, dir, "web1", 1), machineProfile(t, dir, "web2", 1))...)
	if code == 0 || !strings.Contains(stderr, "3 profiles stay in spool") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	_, stderr, code = outcome(t, dir, append(push, "--to", front.URL)...)
	for _, want := range []string{"sent 2 profiles", "1 profile waits behind the others: the store answers 500", "1 profile stays in spool"} {
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, wanted %q: %s", code, want, stderr)
		}
	}
	if _, stderr, code = outcome(t, dir, append(push, "--to", server.URL)...); code != 0 || len(server.Pushes()) != 3 {
		t.Errorf("exit code %d, %d profiles: %s", code, len(server.Pushes()), stderr)
	}
}
