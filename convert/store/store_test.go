package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
	"kprof/convert/store/storetest"
)

var cpuColumns = []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}

// recorded makes a profile of a machine with n different stacks.
func recorded(host string, n int) *stacks.Set {
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: cpuColumns})
	s.Comments = []string{"host: " + host, "kernel: 6.12.1 x86_64", "command: secret"}
	s.TimeNanos, s.DurationNanos = time.Now().Add(-time.Minute).UnixNano(), 10e9
	s.PeriodType, s.Period = cpuColumns[1], 10101010
	kernel := s.AddMapping(stacks.Mapping{Start: 0xffffffff81000000, Limit: 0xffffffff82000000, File: "[kernel.kallsyms]", BuildID: "abcdef", Kind: stacks.KindKernel})
	user := s.AddMapping(stacks.Mapping{Start: 0x400000, Limit: 0x800000, File: "/bin/x", BuildID: "1234", Kind: stacks.KindUser})
	add := func(m int32, addr uint64, name string) uint32 {
		loc := s.AddLocation(m, s.Mappings[m].Start+addr, s.Mappings[m].Kind)
		if name != "" {
			s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name, SystemName: name})})
		}
		return loc
	}
	read, unnamed := add(kernel, 16, "vfs_read"), add(user, 24, "")
	for i := range n {
		f := add(user, uint64(32+8*i), fmt.Sprint("f", i))
		chain := []uint32{read, f}
		if i%5 == 4 {
			chain = []uint32{unnamed, f}
		}
		for pid := range int64(2) {
			l := s.InternLabels([]stacks.Label{{Key: "comm", Str: fmt.Sprint("c", i%3)}, {Key: "pid", Num: pid + 1}})
			s.Add(0, s.Intern(chain), l, 1, 10101010+int64(i))
		}
	}
	return s
}

// byName sums the rows of a Set by the names of their frames.
func byName(s *stacks.Set) map[string][]int64 {
	names := s.Names()
	sums := map[string][]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		var b strings.Builder
		for _, l := range s.Stack(x.Stack) {
			for _, f := range names.Of(l) {
				b.WriteString(names.Names[f] + ";")
			}
			if m := s.Locations[l].Mapping; m >= 0 {
				fmt.Fprintf(&b, "(%s %s %#x)", s.Mappings[m].File, s.Mappings[m].BuildID, s.Locations[l].Addr)
			}
		}
		sum := sums[b.String()]
		if sum == nil {
			sum = make([]int64, len(x.Values))
			sums[b.String()] = sum
		}
		for c, v := range x.Values {
			sum[c] += v
		}
	}
	return sums
}

func client(t *testing.T, o ClientOptions) *Client {
	t.Helper()
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

var service = []Label{{"service_name", "test"}}

func lastHour() Query {
	return Query{Start: time.Now().Add(-time.Hour), End: time.Now().Add(time.Minute)}
}

// TestRoundTrip: what a store gives back is what was sent: names, build ids, totals of all
// columns, and per label.
func TestRoundTrip(t *testing.T) {
	server := storetest.New(t)
	c := client(t, ClientOptions{URL: server.URL})
	sets := map[string]*stacks.Set{"web1": recorded("web1", 20), "web2": recorded("web2", 30)}
	s := NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: service}})
	for _, set := range sets {
		if err := errors.Join(s.Enqueue(set), s.Drain(context.Background())); err != nil {
			t.Fatal(err)
		}
	}
	want := Label{"arch", "x86_64"}
	for _, p := range server.Pushes() {
		got := p.Labels
		if got[want.Name] != want.Value || got["kernel_release"] != "6.12.1" || got["kernel_build_id"] != "abcdef" || got["event"] != "cpu-clock" || got["__name__"] != "process_cpu" {
			t.Errorf("labels %v", got)
		}
		if strings.Contains(p.Profile.String(), "secret") {
			t.Error("the recorded command is sent")
		}
	}
	for host, set := range sets {
		q := lastHour()
		q.Selector = fmt.Sprintf(`{host=%q}`, host)
		got, err := c.Fetch(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		// Frames without a name are called by their mapping on both sides.
		if diff := cmp.Diff(byName(set), byName(got)); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
		if diff := cmp.Diff(set.Events, got.Events); diff != "" {
			t.Error(diff)
		}
	}
	q := lastHour()
	q.By = "host"
	got, err := c.Fetch(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for i := range got.NumSamples() {
		x := got.Sample(i)
		l, _ := got.Label(x.Labels, "host")
		sums[l.Str] += x.Values[1]
	}
	if diff := cmp.Diff(map[string]int64{"web1": sets["web1"].Totals(0)[1], "web2": sets["web2"].Totals(0)[1]}, sums); diff != "" {
		t.Error(diff)
	}

	// Profiles of other tools may lack the label.
	bare := recorded("", 7)
	bare.Comments = nil
	if err := errors.Join(s.Enqueue(bare), s.Drain(context.Background())); err != nil {
		t.Fatal(err)
	}
	if got, err = c.Fetch(context.Background(), q); err != nil {
		t.Fatal(err)
	}
	clear(sums)
	for i := range got.NumSamples() {
		x := got.Sample(i)
		if l, has := got.Label(x.Labels, "host"); !has {
			sums["none"] += x.Values[1]
		} else {
			sums[l.Str] += x.Values[1]
		}
	}
	if diff := cmp.Diff(map[string]int64{"web1": sets["web1"].Totals(0)[1], "web2": sets["web2"].Totals(0)[1], "none": bare.Totals(0)[1]}, sums); diff != "" {
		t.Error(diff)
	}
	other := q
	other.By = "zone"
	var unlabelled *NoLabelError
	if _, err := c.Fetch(context.Background(), other); !errors.As(err, &unlabelled) || unlabelled.Label != "zone" {
		t.Errorf("%v", err)
	}
	var none *NoProfilesError
	q.Selector = `{host="web3"}`
	if _, err := c.Fetch(context.Background(), q); !errors.As(err, &none) || len(none.Types) != 2 {
		t.Errorf("%v", err)
	}
}

// TestPiecesAreWithinLimits: a profile of more stacks and bytes than a store takes is sent
// in parts that are the whole.
func TestPiecesAreWithinLimits(t *testing.T) {
	server := storetest.New(t)
	c := client(t, ClientOptions{URL: server.URL})
	set := recorded("web", 40_000)
	s := NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: service, Limits: Limits{BytesPerSecond: 1 << 30}}})
	if err := errors.Join(s.Enqueue(set), s.Drain(context.Background())); err != nil {
		t.Fatal(err)
	}
	if r := server.Refusals(); len(r) > 0 {
		t.Errorf("refused: %q", r)
	}
	pushes := server.Pushes()
	if len(pushes) < 3 {
		t.Errorf("%d pushes", len(pushes))
	}
	ids := map[string]bool{}
	for _, p := range pushes {
		ids[p.ID] = true
	}
	if len(ids) != len(pushes) {
		t.Errorf("%d ids of %d pushes", len(ids), len(pushes))
	}
	got, err := c.Fetch(context.Background(), lastHour())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(set.Totals(0), got.Totals(0)); diff != "" {
		t.Error(diff)
	}
	if a, b := len(byName(set)), len(byName(got)); a != b {
		t.Errorf("%d stacks of %d", b, a)
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
}

// TestHostilePieces: names, labels and events of any bytes make profiles that a store takes.
func TestHostilePieces(t *testing.T) {
	server := storetest.New(t)
	c := client(t, ClientOptions{URL: server.URL})
	e := stacks.Event{Name: "sched:x-y\xff", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "sched:x-y\xff", Unit: "a-b"}}}
	s := stacks.New(e)
	loc := s.AddLocation(s.AddMapping(stacks.Mapping{File: "/bin/\xff", BuildID: "\xfe"}), 5, stacks.KindUser)
	s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "a\xc0b", File: "\xc0"})})
	s.Add(0, s.Intern([]uint32{loc}), s.InternLabels([]stacks.Label{{Key: "field.x", Str: strings.Repeat("v\xff", 3000)}}), 1, 2)
	s.Add(0, s.Intern([]uint32{loc, loc}), 0, 1, 2)
	sender := NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: append(service, Label{"9 é", "x"}), Series: []string{"field.x"}}})
	if err := errors.Join(sender.Enqueue(s), sender.Drain(context.Background())); err != nil {
		t.Fatal(err)
	}
	if n, refused := len(server.Pushes()), server.Refusals(); n != 2 || len(refused) > 0 {
		t.Errorf("%d pushes, refused %q", n, refused)
	}
}

// TestSeriesAreBounded: a label of many values makes no more series than were allowed, and
// all samples are sent.
func TestSeriesAreBounded(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "e", Values: cpuColumns[:1]})
	for i := range 50 {
		s.Add(0, s.Intern(nil), s.InternLabels([]stacks.Label{{Key: "n", Num: int64(i)}}), 2)
	}
	var samples int64
	values := map[string]bool{}
	err := Pieces(s, PieceOptions{Labels: service, Series: []string{"n"}, MaxSeries: 8}, func(p Piece) error {
		samples += p.Samples
		i := slices.IndexFunc(p.Labels, func(l Label) bool { return l.Name == "n" })
		values[p.Labels[i].Value] = true
		return nil
	})
	if err != nil || samples != 100 || len(values) != 9 || !values[otherSeries] {
		t.Errorf("%v, %d samples of %v", err, samples, values)
	}
	many := append([]Label{}, service...)
	for i := range 40 {
		many = append(many, Label{fmt.Sprint("l", i), "x"})
	}
	for _, labels := range [][]Label{nil, many, {{"service_name", "x"}, {"__other__", "x"}}} {
		if err := Pieces(s, PieceOptions{Labels: labels}, func(Piece) error { return nil }); err == nil {
			t.Errorf("%v: no error", labels)
		}
	}
}

// TestTooLarge: of a stack that is larger than any profile may be, the samples are counted.
func TestTooLarge(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "e", Values: cpuColumns[:1]})
	f := s.AddFunction(stacks.Function{Name: strings.Repeat("x", 3000)})
	loc := s.AddLocation(stacks.NoMapping, 1, stacks.KindUser)
	s.SetLines(loc, stacks.Line{Function: f})
	s.Add(0, s.Intern([]uint32{loc}), 0, 7)
	s.Add(0, s.Intern(nil), 0, 3)
	var sent int64
	err := Pieces(s, PieceOptions{Labels: service, Limits: Limits{Bytes: 2000}}, func(p Piece) error { sent += p.Samples; return nil })
	var large *TooLargeError
	if !errors.As(err, &large) || large.Samples != 7 || sent != 3 {
		t.Errorf("%v, sent %d", err, sent)
	}
}

// TestEveryFault: with every error in random order, and senders that end at any time and
// begin again from what is on the disk, every profile arrives once or more.
func TestEveryFault(t *testing.T) {
	for _, spooled := range []bool{false, true} {
		t.Run(fmt.Sprint("spool ", spooled), func(t *testing.T) {
			t.Parallel()
			server := storetest.New(t)
			r := rand.New(rand.NewPCG(7, 7))
			seen := map[storetest.Fault]bool{}
			server.SlowFor = 600 * time.Millisecond
			server.Fault = func(n int) storetest.Fault {
				f := storetest.Fault(r.IntN(int(storetest.NumFaults)))
				seen[f] = true
				return f
			}
			c := client(t, ClientOptions{URL: server.URL, Timeout: 400 * time.Millisecond})
			dir := filepath.Join(t.TempDir(), "spool")
			const profiles = 40
			want := map[string]bool{}
			o := SenderOptions{Pieces: PieceOptions{Labels: service}, MaxWait: 20 * time.Millisecond, TryFor: time.Minute}
			var s *Sender
			for i := range profiles {
				if spooled && i%5 == 0 || s == nil { // as after a crash: only the disk is left
					if spooled {
						spool, err := OpenSpool(dir, SpoolOptions{})
						if err != nil {
							t.Fatal(err)
						}
						defer spool.Close()
						o.Spool = spool
					}
					s = NewSender(c, o)
				}
				host := fmt.Sprint("h", i)
				want[host] = true
				if err := s.Enqueue(recorded(host, 3)); err != nil {
					t.Fatal(err)
				}
				if !spooled || i%7 == 3 {
					ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
					if err := s.Drain(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v", err)
					}
					cancel()
				}
			}
			if err := s.Drain(context.Background()); err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, p := range server.Pushes() {
				got[p.Labels["host"]] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if n, err := s.Waiting(); n != 0 || err != nil {
				t.Errorf("%d waiting, %v", n, err)
			}
			if c := s.Counts(); c.Lost.Total() != 0 {
				t.Errorf("lost %v", c.Lost)
			}
			if len(seen) != int(storetest.NumFaults) {
				t.Errorf("only the faults %v", seen)
			}
		})
	}
}

// TestRefusedForGood: what a store refuses is counted and holds up nothing; that we may
// not send loses nothing.
func TestRefusedForGood(t *testing.T) {
	server := storetest.New(t)
	c := client(t, ClientOptions{URL: server.URL})
	s := NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: service}, MaxAge: 3 * time.Hour, TryFor: time.Second})
	old := recorded("old", 1)
	old.TimeNanos = time.Now().Add(-2 * time.Hour).UnixNano() // too old for the store, which we do not know
	if err := errors.Join(s.Enqueue(old), s.Enqueue(recorded("new", 1)), s.Drain(context.Background())); err != nil {
		t.Fatal(err)
	}
	if counts := s.Counts(); counts.Sent != 1 || counts.Lost[Rejected] != 1 || counts.Lost.Total() != 1 || !strings.Contains(fmt.Sprint(counts.LastRejection), "ingestion window") {
		t.Errorf("%+v", counts)
	}
	old.TimeNanos = time.Now().Add(-4 * time.Hour).UnixNano()
	var age *TooOldError
	if err := s.Enqueue(old); !errors.As(err, &age) {
		t.Error(err)
	}
	server.Authorized = func(*http.Request) bool { return false }
	if err := s.Enqueue(recorded("later", 1)); err != nil {
		t.Fatal(err)
	}
	var answer *Error
	if err := s.Drain(context.Background()); !errors.As(err, &answer) || answer.Code != "unauthenticated" {
		t.Error(err)
	}
	server.Authorized = nil
	if err := s.Drain(context.Background()); err != nil || s.Counts().Sent != 2 {
		t.Error(err, s.Counts())
	}
}

// TestRetryStops: while a store does not answer, Drain ends after TryFor, with the profile
// still waiting; the waits are random and have a ceiling.
func TestRetryStops(t *testing.T) {
	server := storetest.New(t)
	server.Fault = func(int) storetest.Fault { return storetest.Unknown }
	c := client(t, ClientOptions{URL: server.URL})
	var waits []time.Duration
	s := NewSender(c, SenderOptions{
		Pieces: PieceOptions{Labels: service}, TryFor: time.Second, MaxWait: 50 * time.Millisecond,
		Retrying: func(_ error, d time.Duration) { waits = append(waits, d) },
	})
	var answer *Error
	if err := errors.Join(s.Enqueue(recorded("h", 1)), s.Drain(context.Background())); !errors.As(err, &answer) || answer.Code != "unknown" || answer.Status != 500 {
		t.Error(err)
	}
	if n, _ := s.Waiting(); n != 1 {
		t.Errorf("%d waiting", n)
	}
	if len(waits) < 2 || slices.Max(waits) > 50*time.Millisecond || slices.Min(waits) == slices.Max(waits) {
		t.Errorf("waits %v", waits)
	}
}

// TestGrace: a request that is under way when the context ends is not broken off: else
// what the store has taken would be sent again.
func TestGrace(t *testing.T) {
	server := storetest.New(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server.SlowFor = 300 * time.Millisecond
	server.Fault = func(int) storetest.Fault {
		cancel()
		return storetest.Slow
	}
	o := SenderOptions{Pieces: PieceOptions{Labels: service}}
	o.Pieces.Limits.BytesPerSecond = math.MaxInt // nothing waits for its turn
	s := NewSender(client(t, ClientOptions{URL: server.URL}), o)
	if err := errors.Join(s.Enqueue(recorded("h1", 1)), s.Enqueue(recorded("h2", 1))); err != nil {
		t.Fatal(err)
	}
	if err := s.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n, _ := s.Waiting(); n != 1 || len(server.Pushes()) != 1 {
		t.Errorf("%d waiting, %d pushes", n, len(server.Pushes()))
	}
}

// TestMemoryIsBounded: without a spool the oldest are lost, counted.
func TestMemoryIsBounded(t *testing.T) {
	server := storetest.New(t)
	s := NewSender(client(t, ClientOptions{URL: server.URL}), SenderOptions{Pieces: PieceOptions{Labels: service}, MaxMemory: 3000})
	for i := range 20 {
		if err := s.Enqueue(recorded(fmt.Sprint("h", i), 2)); err != nil {
			t.Fatal(err)
		}
	}
	n, _ := s.Waiting()
	if lost := s.Counts().Lost[Evicted]; n == 0 || n+int(lost) != 20 || s.held > 3000 {
		t.Errorf("%d waiting, %d lost, %d bytes", n, lost, s.held)
	}
	if err := s.Drain(context.Background()); err != nil || len(server.Pushes()) != n || server.Pushes()[n-1].Labels["host"] != "h19" || s.held != 0 {
		t.Errorf("%v, %d pushes of %d", err, len(server.Pushes()), n)
	}
}

// TestRate: what is sent is no more than the rate allows.
func TestRate(t *testing.T) {
	server := storetest.New(t)
	c := client(t, ClientOptions{URL: server.URL})
	s := NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: service, Limits: Limits{BytesPerSecond: 1000}}})
	clock := time.Now()
	var slept time.Duration
	s.now = func() time.Time { return clock }
	s.sleep = func(_ context.Context, d time.Duration) error { slept += d; clock = clock.Add(d); return nil }
	size := 0
	for i := range 5 {
		set := recorded(fmt.Sprint("h", i), 2)
		if err := s.Enqueue(set); err != nil {
			t.Fatal(err)
		}
		if i < 4 {
			size += s.memory[len(s.memory)-1].size
		}
	}
	if err := s.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
	if want := time.Duration(size) * time.Millisecond; slept < want-time.Millisecond || slept > want+time.Millisecond {
		t.Errorf("waited %v for %d bytes", slept, size)
	}
}
