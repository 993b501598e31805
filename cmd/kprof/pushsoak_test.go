//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kprof/convert/pprof"
	"kprof/convert/stacks"
	"kprof/convert/store/storetest"
	"kprof/perfevent/livetest"
)

// soakTime is how long TestPushSoak goes on, instead of some seconds, and with a recorder
// beside it: testdata/pushsoak.sh.
const soakTime = "KPROF_PUSH_SOAK"

// bulkyProfile writes a profile of a machine that takes some 150 kB to be sent.
func bulkyProfile(t *testing.T, dir, host string) string {
	t.Helper()
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	s.Comments = []string{"host: " + host}
	s.TimeNanos, s.DurationNanos = time.Now().UnixNano(), 10e9
	m := s.AddMapping(stacks.Mapping{Start: 0x400000, Limit: 0x80000000, File: "/bin/x", Kind: stacks.KindUser})
	for i := range 12_000 {
		loc := s.AddLocation(m, uint64(0x400000+16*i), stacks.KindUser)
		name := strconv.FormatUint(rand.Uint64(), 36)
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name, SystemName: name})})
		s.Add(0, s.Intern([]uint32{loc}), 0, 1)
	}
	var b bytes.Buffer
	if err := pprof.Write(&b, s, pprof.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, host+".pb.gz")
	livetest.WriteFile(t, name, b.Bytes())
	return name
}

// soak is a store in which everything goes wrong, and what happened to those who send.
type soak struct {
	t      *testing.T
	dir    string
	server *storetest.Server
	end    time.Time
	phase  time.Duration

	mu       sync.Mutex
	r        *rand.Rand
	faults   map[storetest.Fault]int
	calm     bool
	killed   int
	ended    int
	maxRSS   int64 // kB
	maxSpool int64 // bytes
}

// fault is what goes wrong with a push: in turns of some seconds nothing is taken, half of
// what comes has any error, or nothing goes wrong.
func (s *soak) fault(int) storetest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := storetest.None
	switch phase := time.Until(s.end) / s.phase % 4; {
	case s.calm:
	case phase == 3:
		f = storetest.Unavailable
	case phase > 0:
		f = storetest.Fault(max(0, s.r.IntN(2*int(storetest.NumFaults))-int(storetest.NumFaults)))
	}
	s.faults[f]++
	return f
}

// run runs kprof until it ends, or for at most a random time below limit, and returns
// whether it ended by itself.
func (s *soak) run(limit time.Duration, args ...string) bool {
	cmd := exec.Command("kprof", args...)
	cmd.Dir = s.dir
	if err := cmd.Start(); err != nil {
		s.t.Error(err)
		return true
	}
	s.mu.Lock()
	after := time.Duration(s.r.Int64N(int64(limit)))
	s.mu.Unlock()
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	ended := make(chan struct{})
	go s.watch(cmd.Process.Pid, ended)
	_ = cmd.Wait()
	timer.Stop()
	close(ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	if cmd.ProcessState.ExitCode() >= 0 {
		s.ended++
		return true
	}
	s.killed++
	return false
}

// watch notes the memory of a process until it has ended. What wait4(2) tells is of this
// process too, in whose memory a child begins.
func (s *soak) watch(pid int, ended <-chan struct{}) {
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err == nil && bytes.HasPrefix(b, []byte("Name:\tkprof\n")) {
			_, rest, _ := strings.Cut(string(b), "\nVmHWM:")
			if kb, err := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64); err == nil {
				s.mu.Lock()
				s.maxRSS = max(s.maxRSS, kb)
				s.mu.Unlock()
			}
		}
		select {
		case <-ended:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestPushSoak: while the store has every error in random order and kprof is killed again
// and again, every profile arrives once or more, or is among the losses that are counted;
// the spool is not larger than it may be. Profiles are those of files, and in a long soak
// those of a recorder too.
func TestPushSoak(t *testing.T) {
	lasts := 4 * time.Second
	long := os.Getenv(soakTime) != ""
	if long {
		var err error
		if lasts, err = time.ParseDuration(os.Getenv(soakTime)); err != nil {
			t.Fatal(err)
		}
	}
	s := &soak{t: t, dir: t.TempDir(), server: storetest.New(t), end: time.Now().Add(lasts), phase: min(lasts/4, 1500*time.Millisecond), r: rand.New(rand.NewPCG(3, 4)), faults: map[storetest.Fault]int{}}
	s.server.Discard = true
	s.server.SlowFor = 500 * time.Millisecond
	s.server.Fault = s.fault
	ctx, stop := context.WithDeadline(t.Context(), s.end)
	defer stop()
	sending := []string{"-q", "--retry-for", "100ms", "--timeout", "200ms", "--spool-max", "1M"}

	var all sync.WaitGroup
	const agents = 3
	var given [agents]int // profiles that kprof had in full when it ended, or was killed
	for a := range agents {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := bulkyProfile(t, s.dir, fmt.Sprintf("a%d-%d", a, i))
				args := append([]string{"push", name, "--to", s.server.URL, "--spool", fmt.Sprint("spool", a)}, sending...)
				for limit := 300 * time.Millisecond; !s.run(limit, args...); limit += 300 * time.Millisecond {
					// Killed: who had it sent would do it again.
				}
				given[a] = i + 1
				_ = os.Remove(name)
			}
		})
	}
	seen := map[string]bool{} // files of the recorder's spool
	if long {
		all.Go(func() {
			for ctx.Err() == nil {
				s.run(20*time.Second, append([]string{"record", "-a", "-F", "99", "--every", "500ms", "--push", s.server.URL, "--spool", "recorded"}, sending...)...)
			}
		})
	}
	all.Go(func() { // watches the spools
		for ctx.Err() == nil {
			time.Sleep(2 * time.Millisecond)
			for _, dir := range []string{"spool0", "spool1", "spool2", "recorded"} {
				entries, err := os.ReadDir(filepath.Join(s.dir, dir))
				if err != nil {
					continue // not yet
				}
				size := int64(0)
				for _, e := range entries {
					if info, err := e.Info(); err == nil {
						size += info.Size()
					}
					if dir == "recorded" && strings.HasSuffix(e.Name(), ".push") {
						seen[e.Name()] = true
					}
				}
				s.mu.Lock()
				s.maxSpool = max(s.maxSpool, size)
				s.mu.Unlock()
			}
		}
	})
	all.Wait()

	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	spools := []string{"spool0", "spool1", "spool2"}
	if long {
		spools = append(spools, "recorded")
	}
	for _, dir := range spools {
		if _, stderr, code := outcome(t, s.dir, "push", "--spool", dir, "--to", s.server.URL); code != 0 {
			t.Errorf("%s: exit code %d: %s", dir, code, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(s.dir, dir, "*.push")); len(left) > 0 {
			t.Errorf("left in %s: %q", dir, left)
		}
	}
	arrived := map[string]int{} // by host
	service := 0
	for _, p := range s.server.Pushes() {
		if strings.HasPrefix(p.Labels["host"], "a") && strings.Contains(p.Labels["host"], "-") && p.Labels["kernel_release"] == "" {
			arrived[p.Labels["host"]]++
		} else {
			service++
		}
	}
	again := 0
	for _, n := range arrived {
		again += n - 1
	}
	for a := range agents {
		missing := 0
		for i := range given[a] {
			if arrived[fmt.Sprintf("a%d-%d", a, i)] == 0 {
				missing++
			}
		}
		lost := lossesOf(t, filepath.Join(s.dir, fmt.Sprint("spool", a)))
		t.Logf("spool%d: %d profiles, %d did not arrive, counted as lost: %v", a, given[a], missing, lost)
		if missing > lost["evicted"]+lost["expired"] || lost["rejected"]+lost["unreadable"] > 0 {
			t.Errorf("spool%d: %d of %d profiles did not arrive, and of losses there are %v", a, missing, given[a], lost)
		}
	}
	if long {
		lost := lossesOf(t, filepath.Join(s.dir, "recorded"))
		t.Logf("recorded: %d profiles seen in the spool, %d arrived, counted as lost: %v", len(seen), service, lost)
		if service == 0 || service+lost["evicted"]+lost["expired"] < len(seen) {
			t.Errorf("recorded: %d profiles in the spool, %d arrived, of losses there are %v", len(seen), service, lost)
		}
	}
	t.Logf("killed %d times, ended %d times; %d pushes, %d twice or more, faults %v; at most %d MB of memory, %d kB in a spool",
		s.killed, s.ended, len(s.server.Pushes()), again, s.faults, s.maxRSS>>10, s.maxSpool>>10)
	// What is being written beside what there may be is one request, of each who was killed.
	if s.killed == 0 || s.maxSpool > 3<<20 || s.maxRSS > 512<<10 {
		t.Errorf("killed %d times, %d MB of memory, %d bytes in a spool", s.killed, s.maxRSS>>10, s.maxSpool)
	}
	if refused := s.server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
}

// lossesOf is what a spool counts as lost.
func lossesOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	lost := map[string]int{}
	b, err := os.ReadFile(filepath.Join(dir, "losses"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(count); err == nil && n > 0 {
			lost[name] = n
		}
	}
	return lost
}
