//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/compare"
	"kprof/convert/diff"
	"kprof/convert/stacks"
	"kprof/convert/store"
	"kprof/convert/store/storetest"
)

// fleetMachine is the profile of a machine that has work of its own: each of 30 functions
// costs up to a fifth more or less than elsewhere, and the machine does up to a fifth more
// or less in all. What is added to the first function is in parts of the total.
func fleetMachine(r *rand.Rand, host, release string, added float64) *stacks.Set {
	return machineWith(r, host, release, added, stacks.ValueType{Type: "samples", Unit: "count"})
}

// machineWith is fleetMachine with these columns, each of which has the samples as its values.
func machineWith(r *rand.Rand, host, release string, added float64, columns ...stacks.ValueType) *stacks.Set {
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: columns})
	s.Comments = []string{"host: " + host, "kernel: " + release + " x86_64"}
	s.TimeNanos, s.DurationNanos = time.Now().Add(-time.Minute).UnixNano(), 10e9
	m := s.AddMapping(stacks.Mapping{Start: 0x400000, Limit: 0x800000, File: "/bin/x", BuildID: "1234", Kind: stacks.KindUser})
	const functions = 30
	vary := func() float64 { return 0.8 + 0.4*r.Float64() }
	total := 30_000 * vary()
	for i := range functions {
		loc := s.AddLocation(m, uint64(0x400000+16*i), stacks.KindUser)
		name := fmt.Sprint("work", i)
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name, SystemName: name})})
		share := vary() / functions
		if i == 0 {
			share += added
		}
		n := int64(total * share)
		s.Add(0, s.Intern([]uint32{loc}), 0, slices.Repeat([]int64{n}, len(columns))...)
	}
	return s
}

// TestFleetVerdicts: of two groups of 20 machines that differ by a fifth among themselves,
// as a store has them, a function that takes 2 % of the total more is found; of groups
// that are equal, few have something. KPROF_TRIALS is how often it is tried, 20 times
// otherwise.
func TestFleetVerdicts(t *testing.T) {
	ctx := context.Background()
	found := map[float64]int{}
	trials := 20
	if n, err := strconv.Atoi(os.Getenv("KPROF_TRIALS")); err == nil {
		trials = n
	}
	for _, added := range []float64{0.02, 0} {
		for trial := range trials {
			r := rand.New(rand.NewPCG(uint64(trial), uint64(added*100)))
			server := storetest.New(t)
			sender := webSender(t, server.URL, store.Limits{BytesPerSecond: 1 << 30})
			for i := range 40 {
				set := fleetMachine(r, fmt.Sprint("h", i), []string{"6.1", "6.12"}[i%2], added*float64(i%2))
				if err := sender.Enqueue(set); err != nil {
					t.Fatal(err)
				}
			}
			if err := sender.Drain(ctx); err != nil {
				t.Fatal(err)
			}
			f := fleetFlags{from: server.URL, store: storeFlags{timeout: time.Minute}, query: querying{since: "1h", until: "0s", by: "host"}}
			queries, err := f.queries([2][]string{{`{kernel_release="6.1"}`}, {`{kernel_release="6.12"}`}}, nil, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			profiles, err := f.load(ctx, queries, convert.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(profiles[0]) != 20 || len(profiles[1]) != 20 || profiles[0][0].Source != "h0" {
				t.Fatalf("%d and %d runs, %s", len(profiles[0]), len(profiles[1]), profiles[0][0].Source)
			}
			c, err := compare.New(profiles, compare.Options{Diff: diff.Defaults})
			if err != nil {
				t.Fatal(err)
			}
			result, err := c.Compare()
			if err != nil {
				t.Fatal(err)
			}
			for _, fn := range result.Functions {
				if fn.Verdict != diff.Noise && (added == 0 || fn.Name == "work0") {
					found[added]++
					break
				}
			}
			server.Close()
		}
	}
	t.Logf("found in %d of %d trials, in %d of equal groups", found[0.02], trials, found[0])
	if found[0.02]*50 < trials*45 || found[0]*50 > trials*6 {
		t.Errorf("found in %d of %d trials, and in %d of equal groups", found[0.02], trials, found[0])
	}
}

// webSender sends profiles of the service web to a store, until the end of the test.
func webSender(t *testing.T, url string, limits store.Limits) *store.Sender {
	t.Helper()
	client, err := store.NewClient(store.ClientOptions{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return store.NewSender(client, store.SenderOptions{Pieces: store.PieceOptions{Labels: []store.Label{{Name: "service_name", Value: "web"}}, Limits: limits}})
}

// TestDiffOfStore: a store is asked for both sides, by labels and by time.
func TestDiffOfStore(t *testing.T) {
	server := storetest.New(t)
	sender := webSender(t, server.URL, store.Limits{})
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 12 {
		set := fleetMachine(r, fmt.Sprint("h", i), []string{"6.1", "6.12"}[i%2], 0.05*float64(i%2))
		if i%2 == 0 {
			set.TimeNanos = time.Now().Add(-40 * time.Minute).UnixNano()
		}
		if err := sender.Enqueue(set); err != nil {
			t.Fatal(err)
		}
	}
	if err := sender.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--from", server.URL, "--base", `{kernel_release="6.1"}`, "--new", `{kernel_release="6.12"}`},
		{"--from", server.URL, "--base-time", "50m..30m", "--new-time", "10m..0s"},
		{"--from", server.URL, "--base", `{service_name="web"}`, "--base-time", "50m..30m", "--new-time", "10m..0s"},
	} {
		out, stderr, code := outcome(t, dir, append([]string{"diff"}, args...)...)
		if code != 0 || !strings.Contains(out, "Verdict: Changed") || !strings.Contains(out, "work0") || !strings.Contains(out, "h0") {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, stderr)
		}
	}
	url := server.URL + `/?query={kernel_release="6.1%s"}`
	if out, stderr, code := outcome(t, dir, "diff", fmt.Sprintf(url, ""), fmt.Sprintf(url, "2")); code != 0 && code != exitUndecided || !strings.Contains(out, "work0") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "--from wants two sides", []string{"--from", server.URL}},
		{2, "go together", []string{"--from", server.URL, "--base", "{}"}},
		{2, "wants FROM..TO", []string{"--from", server.URL, "--base-time", "2h", "--new-time", "1h..0s"}},
		{2, "the sides are --base", []string{"--from", server.URL, "x"}},
		{2, "--tenant is for a store", []string{"--tenant", "x", "a", "b"}},
		{2, "is no selector", []string{"--from", server.URL, "--base", "x", "--new", "{}"}},
		{1, "none of these profiles has a label \"zone\", by which they were to be told apart: --by names another", []string{"--from", server.URL, "--by", "zone", "--base", `{kernel_release="6.1"}`, "--new", "{}"}},
		{1, "the store has no profile {kernel_release=\"7\"}", []string{"--from", server.URL, "--base", `{kernel_release="7"}`, "--new", "{}"}},
	} {
		if out, stderr, code := outcome(t, dir, append([]string{"diff"}, c.args...)...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("kprof diff %q: exit code %d: %s%s", c.args, code, out, stderr)
		}
	}
}

// TestPeriodsAsRuns: where a side has few machines, each period of one is a run; where it has
// more, each machine is, as without.
func TestPeriodsAsRuns(t *testing.T) {
	server := storetest.New(t)
	sender := webSender(t, server.URL, store.Limits{BytesPerSecond: 1 << 30})
	const periods = 6
	now := time.Now()
	push := func(hosts int, service string) {
		for i := range hosts {
			for period := range periods {
				r := rand.New(rand.NewPCG(uint64(i/2), 1)) // what a machine does is the same in all periods
				set := fleetMachine(r, fmt.Sprint("h", i), []string{"6.1", "6.12"}[i%2], 0.03*float64(i%2)+0.001*float64(period%3))
				// In the middle of each period, as kprof counts them from a later time.
				set.TimeNanos = now.Add(time.Duration(period-periods)*8*time.Minute + 4*time.Minute).UnixNano()
				if err := sender.Enqueue(set, store.Label{Name: "service_name", Value: service}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	push(2, "one")
	push(8, "four")
	if err := sender.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		service, every string
		runs, noted    int
		code           int
	}{
		{"one", "8m", periods, 1, 0},
		{"one", "16m", periods / 2, 1, 0},
		{"four", "8m", 4, 0, -1},
		{"four", "0s", 4, 0, -1},
	} {
		out, stderr, code := outcome(t, dir, "diff", "--from", server.URL, "--since", "48m", "--every", c.every, "--json",
			"--base", fmt.Sprintf(`{kernel_release="6.1", service_name=%q}`, c.service), "--new", fmt.Sprintf(`{kernel_release="6.12", service_name=%q}`, c.service))
		var told struct{ Base, New struct{ Inputs []any } }
		if err := json.Unmarshal([]byte(out), &told); err != nil || c.code >= 0 && code != c.code || code != 0 && code != exitUndecided {
			t.Errorf("%+v: exit code %d, %v: %.500s%s", c, code, err, out, stderr)
		}
		if len(told.Base.Inputs) != c.runs || len(told.New.Inputs) != c.runs || strings.Count(stderr, "is a run: a verdict is on these machines") != c.noted {
			t.Errorf("%+v: %d and %d runs: %.300s%s", c, len(told.Base.Inputs), len(told.New.Inputs), out, stderr)
		}
		if c.noted > 0 && (!strings.Contains(out, `"h0 20`) || !strings.Contains(out, "work0")) {
			t.Errorf("%+v: %.500s", c, out)
		}
	}
	for want, args := range map[string][]string{
		"wants at least 1s":         {"--every", "1ms"},
		"has more than 1000 of":     {"--every", "1s"},
		"the store has no profile ": {"--every", "30m", "--base", `{host="nobody"}`},
	} {
		args = append([]string{"diff", "--from", server.URL, "--new", "{}", "--base", "{}"}, args...)
		if args[len(args)-2] == "--base" { // else both are there
			args = append(args[:5:5], args[7:]...)
		}
		if _, stderr, code := outcome(t, dir, args...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("kprof %q: exit code %d: %s", args, code, stderr)
		}
	}
}
