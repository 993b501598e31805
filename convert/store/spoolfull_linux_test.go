package store

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// TestSpoolOnFullDisk: a spool that has filled its disk while the store was down is emptied when the
// store is back, although what has become too old is to be counted, for which there is no room.
func TestSpoolOnFullDisk(t *testing.T) {
	livetest.Require(t, livetest.Root)
	disk := t.TempDir()
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	}()
	spool, err := OpenSpool(filepath.Join(disk, "spool"), SpoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	body := strings.Repeat("x", 4096-spoolHead) // a page of the disk
	n := 0
	for ; err == nil; n++ {
		r := spooled(body)
		if r.time = time.Now().Add(-2 * time.Hour); n%2 > 0 {
			r.time = time.Now()
		}
		err = spool.add(r)
	}
	n--
	zeros, full := os.Create(filepath.Join(disk, "zeros"))
	if full == nil {
		_, full = zeros.Write(make([]byte, 1<<20))
		full = errors.Join(full, zeros.Close())
	}
	if !errors.Is(err, unix.ENOSPC) || !errors.Is(full, unix.ENOSPC) || n < 10 {
		t.Fatalf("after %d: %v, %v", n, err, full)
	}
	taken := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		taken++
		w.Header().Set("Content-Type", "application/proto")
	}))
	defer server.Close()
	s := NewSender(client(t, ClientOptions{URL: server.URL}), SenderOptions{Pieces: PieceOptions{Labels: service, Limits: Limits{BytesPerSecond: 1 << 30}}, Spool: spool})
	if err := s.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	left, err := spool.Len()
	if c := s.Counts(); err != nil || left != 0 || int(c.Sent) != n/2 || taken != n/2 || int(c.Lost[Expired]) != n-n/2 || c.Lost.Total() != c.Lost[Expired] {
		t.Errorf("of %d, %d are left and %d taken; counted: %+v, %v", n, left, taken, c, err)
	}
}
