package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"

	"github.com/google/go-cmp/cmp"
)

func openSpool(t *testing.T, dir string, o SpoolOptions) *Spool {
	t.Helper()
	s, err := OpenSpool(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func spooled(text string) *request {
	return &request{time: time.Unix(1700000000, 5), size: 9, samples: 3, message: []byte(text)}
}

// messages are those of the requests in a spool, oldest first.
func messages(t *testing.T, s *Spool) (all []string) {
	t.Helper()
	names, err := s.names()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		r, err := s.read(n)
		if err != nil {
			t.Fatal(err)
		}
		if r.size != 9 || r.samples != 3 || !r.time.Equal(spooled("").time) {
			t.Errorf("%+v", r)
		}
		all = append(all, string(r.message))
	}
	return all
}

// TestSpoolIsBounded: the oldest go first, counted, also by who opens the spool next.
func TestSpoolIsBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	body := strings.Repeat("x", 1000)
	s := openSpool(t, dir, SpoolOptions{MaxBytes: 3500})
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		if err := s.add(spooled(n + body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.add(spooled(strings.Repeat("x", 4000))); err != nil { // more than all of it
		t.Fatal(err)
	}
	s = openSpool(t, dir, SpoolOptions{MaxBytes: 3500})
	if diff := cmp.Diff([]string{"3" + body, "4" + body, "5" + body}, messages(t, s)); diff != "" {
		t.Error(diff)
	}
	losses := s.Losses()
	if losses[Evicted] != 3 || losses.String() != "3 evicted" {
		t.Errorf("%v", losses)
	}
	var size int64
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
		size += info.Size()
	}
	if size > 3600 {
		t.Errorf("%d bytes on disk", size)
	}
}

// TestSpoolAfterKills: what a process that was killed had begun to write is not sent, and
// is removed when it is old, or when nobody has locked it; what is damaged is counted.
func TestSpoolAfterKills(t *testing.T) {
	dir := t.TempDir()
	s := openSpool(t, dir, SpoolOptions{})
	if err := s.add(spooled("whole")); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"tmp-old": time.Hour, "tmp-new": 0, "tmp-killed": time.Minute, "tmp-slow": time.Minute} {
		path := filepath.Join(dir, name)
		livetest.WriteFile(t, path, "half")
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	livetest.WriteFile(t, filepath.Join(dir, "00000000000000000001-0-damaged.push"), "half")
	if err := os.Mkdir(filepath.Join(dir, "00000000000000000002-directory.push"), 0o700); err != nil {
		t.Fatal(err)
	}
	slow, err := os.Open(filepath.Join(dir, "tmp-slow"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if err := lockFile(slow, false); err != nil {
		t.Fatal(err)
	}
	s = openSpool(t, dir, SpoolOptions{})
	if err := s.add(spooled("after")); err != nil {
		t.Fatal(err)
	}
	sender := NewSender(nil, SenderOptions{Spool: s})
	var got []string
	for {
		r, err := sender.next()
		if err != nil {
			t.Fatal(err)
		}
		if r == nil {
			break
		}
		got = append(got, string(r.message))
		if err := sender.done(r); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"whole", "after"}, got); diff != "" {
		t.Error(diff)
	}
	if l := sender.Counts().Lost; l[Unreadable] != 2 || l.Total() != 2 {
		t.Errorf("%v", l)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "tmp-*"))
	want := []string{filepath.Join(dir, "tmp-new"), filepath.Join(dir, "tmp-slow")}
	if !canLock {
		want = slices.Insert(want, 0, filepath.Join(dir, "tmp-killed"))
	}
	if !slices.Equal(left, want) {
		t.Errorf("left %q", left)
	}
}

// TestSpoolLosses: counts that somebody else wrote are no reason to lose them.
func TestSpoolLosses(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		livetest.WriteFile(t, filepath.Join(dir, "losses"), text)
	}
	write("evicted 3\nsomething 4\nrejected 2\n")
	s := openSpool(t, dir, SpoolOptions{})
	if l := s.Losses(); l[Evicted] != 3 || l[Rejected] != 2 || l.Total() != 5 || l.String() != "3 evicted, 2 rejected" {
		t.Errorf("%v", l)
	}
	write("evicted many\n")
	if _, err := OpenSpool(dir, SpoolOptions{}); err == nil {
		t.Error("no error")
	}
}

// TestSpoolsOfSeveral: of those who send from one spool at a time all but one leave it to
// that one; what they add and lose is there for all of them.
func TestSpoolsOfSeveral(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is locked there")
	}
	dir := t.TempDir()
	a, b := openSpool(t, dir, SpoolOptions{}), openSpool(t, dir, SpoolOptions{})
	unlock, err := a.lock(sendLock, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.add(spooled("one")); err != nil {
		t.Fatal(err)
	}
	sender := NewSender(nil, SenderOptions{Spool: b})
	if err := sender.Drain(t.Context()); !errors.Is(err, ErrSending) {
		t.Error(err)
	}
	if n, err := sender.Waiting(); n != 1 || err != nil {
		t.Errorf("%d waiting, %v", n, err)
	}
	unlock()
	if err := sender.Drain(t.Context()); err != nil { // it is older than any store takes
		t.Error(err)
	}
	if err := a.lose(Evicted); err != nil {
		t.Error(err)
	}
	if l := a.Losses(); l[Expired] != 1 || l[Evicted] != 1 || l.Total() != 2 {
		t.Errorf("lost %v", l)
	}
}

func FuzzSpooled(f *testing.F) {
	dir := f.TempDir()
	s, err := OpenSpool(dir, SpoolOptions{})
	if err != nil {
		f.Fatal(err)
	}
	if err := s.add(spooled("message")); err != nil {
		f.Fatal(err)
	}
	names, _ := s.names()
	good, err := os.ReadFile(filepath.Join(dir, names[0]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseSpooled(b); err == nil && len(r.message) > len(b) {
			t.Error("more than there is")
		}
	})
}
