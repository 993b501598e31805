package symbols

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
)

// startKernel watches the kernel, until the end of the test.
func startKernel(t *testing.T) (*Kernel, *perfdata.KernelSymbols, error) {
	t.Helper()
	livetest.UseMachine(t)
	if KernelHidden() {
		t.Skip("this kernel shows no addresses")
	}
	k := WatchKernel(true, perfevent.BPFPrograms)
	t.Cleanup(func() { k.Close() })
	start, err := k.Start()
	return k, start, err
}

// TestKernel: what is kept of the kernel is its functions, as grep finds them.
func TestKernel(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Program("grep"))
	k, start, err := startKernel(t)
	if err != nil || start == nil {
		t.Fatalf("%v, %v", start, err)
	}
	// Programs of BPF come and go meanwhile.
	withoutBPF := func(text []byte) (kept []byte) {
		for line := range bytes.Lines(text) {
			if !bytes.HasSuffix(line, []byte("\t[bpf]\n")) {
				kept = append(kept, line...)
			}
		}
		return kept
	}
	want, err := exec.Command("grep", "-E", "^[0-9a-f]+ [tTwW]", "/proc/kallsyms").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := withoutBPF(start.Kallsyms); !bytes.Equal(got, withoutBPF(want)) {
		t.Errorf("%d bytes of functions, want %d", len(got), len(want))
	}
	for range 2 {
		head := make([]byte, 16)
		if n, err := k.Running().Read(head); n != 16 || !bytes.Equal(head, start.Kallsyms[:16]) && !bytes.Contains(head, []byte("00")) {
			t.Errorf("the running kernel begins with %q, %v", head, err)
		}
	}
	if so, err := k.SoFar(); err != nil || so != nil {
		t.Errorf("so far %v, %v, want nothing else", so, err)
	}
	if end, err := k.End(); err != nil || end != nil {
		t.Errorf("nothing changed, but %v, %v", end, err)
	}
}

// mmapRecord is a MMAP2 record of a map.
func mmapRecord(m *abi.Mmap) []byte {
	o := abi.LittleEndian
	b := abi.Header{Type: abi.RecordMmap2, Misc: abi.MiscUser}.AppendTo(nil, o)
	b = o.AppendUint32(o.AppendUint32(b, uint32(m.PID)), uint32(m.TID))
	b = o.AppendUint64(o.AppendUint64(o.AppendUint64(b, m.Addr), m.Len), m.Off)
	b = o.AppendUint32(o.AppendUint32(b, m.Maj), m.Min)
	b = o.AppendUint64(o.AppendUint64(b, m.Ino), m.InoGen)
	b = o.AppendUint32(o.AppendUint32(b, 5), 2)
	b = append(append(b, m.File...), make([]byte, 8-len(m.File)%8)...)
	o.AppendUint16(b[:6], uint16(len(b)))
	return b
}

// TestBuildIDs: the build id of a file that is mapped, once, as file(1) or readelf
// would print it; and the file is retained.
func TestBuildIDs(t *testing.T) {
	livetest.Require(t, livetest.Program("readelf"))
	sh, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/usr/bin/dash", "/usr/bin/bash"} {
		if _, err := os.Stat(path); err == nil {
			sh = path
		}
	}
	out, err := exec.Command("readelf", "-n", sh).Output()
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindSubmatch(out)
	if m == nil {
		t.Skipf("%s has no build id", sh)
	}
	var st unix.Stat_t
	if err := unix.Stat(sh, &st); err != nil {
		t.Fatal(err)
	}
	files := NewFileRetainer()
	defer files.Close()
	b := NewBuildIDs(&abi.Attr{}, files)
	mapped := abi.Mmap{PID: nobody, Addr: 0x1000, Len: 0x1000, Maj: unix.Major(st.Dev), Min: unix.Minor(st.Dev), Ino: st.Ino, File: sh}
	for range 2 {
		b.Take(mmapRecord(&mapped))
	}
	data := mapped
	data.Addr = 0x5000
	rec := mmapRecord(&data)
	abi.LittleEndian.AppendUint16(rec[:4], uint16(abi.MiscUser|abi.MiscMmapData))
	b.Take(rec)
	b.Settle(time.Minute)
	if at, err := files.Retained(nobody, 0x1000, sh); err != nil || at == "" {
		t.Errorf("when it has settled: %q, %v", at, err)
	}
	soFar, err := b.SoFar(t.Context())
	if err != nil || len(soFar) != 1 || soFar[0].Name != sh {
		t.Errorf("so far %+v, %v", soFar, err)
	}
	ids, err := b.All(t.Context())
	if err != nil || len(ids) != 1 || hex.EncodeToString(ids[0].ID) != string(m[1]) || ids[0].Name != sh {
		t.Errorf("%+v, %v; want %s", ids, err, m[1])
	}
	at, err := files.Retained(nobody, 0x1000, sh)
	if err != nil || at == "" {
		t.Fatalf("%q, %v", at, err)
	}
	if got, err := os.Stat(at); err != nil || got.Size() != st.Size {
		t.Errorf("retained %v, %v", got, err)
	}
}

// TestSettleInTime: a file that does not answer is waited for once.
func TestSettleInTime(t *testing.T) {
	b := &BuildIDs{done: make(chan struct{}), unsettled: true}
	b.wake = sync.NewCond(&b.mu)
	b.Settle(time.Millisecond)
	b.unsettled = true
	b.Settle(time.Hour)
	if len(b.queue) != 1 || !b.unsettled {
		t.Errorf("%d are waited for", len(b.queue))
	}
}

// TestBuildIDsInTime: a file that does not answer ends with the context.
func TestBuildIDsInTime(t *testing.T) {
	b := &BuildIDs{done: make(chan struct{})}
	b.wake = sync.NewCond(&b.mu)
	ctx, cancel := context.WithCancelCause(context.Background())
	late := errors.New("late")
	cancel(late)
	if _, err := b.All(ctx); !errors.Is(err, late) {
		t.Errorf("%v, want %v", err, late)
	}
}
