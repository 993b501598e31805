package record

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	ksyms "kprof/symbolize/kallsyms"
)

// TestKprobeSamples records calls of one function by one thread: as many samples
// as calls, with the callers that it has.
func TestKprobeSamples(t *testing.T) {
	livetest.RequireKernel(t, livetest.PMU("kprobe"))
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	const calls = 200
	f := livetest.Open(t, os.Open, "/proc/kallsyms")
	symbols, err := ksyms.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	zero := livetest.Open(t, os.Open, "/dev/zero")
	const entry = "vfs_read ksys_read"
	for _, tt := range []struct {
		arg  string
		via  event.ProbeVia
		want string // start of the callchain
	}{
		{"kprobe:vfs_read", event.ProbePMU, entry},
		{"kprobe:vfs_read", event.ProbeTracefs, entry},
		{"kretprobe:vfs_read", event.ProbePMU, "ksys_read"},
		{"kretprobe:vfs_read", event.ProbeTracefs, "ksys_read"},
		{"kprobe:vfs_read file=$arg1 size=$arg3:u64", event.ProbeAuto, entry},
		{"r:ret vfs_read got=$retval:s64", event.ProbeAuto, "ksys_read"},
	} {
		name := fmt.Sprintf("%s via %d", tt.arg, tt.via)
		runtime.LockOSThread()
		s := open(t, Options{Specs: specs(t, tt.arg), Target: Target{TIDs: []int{unix.Gettid()}}, ProbeVia: tt.via})
		to := newSink(t)
		layout := abi.NewLayout(&s.Events()[0].Attr, abi.LittleEndian)
		chains := map[string]int{}
		to.each = func(h abi.Header, rec []byte) {
			if h.Type != abi.RecordSample {
				return
			}
			var sample abi.Sample
			if err := layout.DecodeSample(&sample, h.Misc, rec[abi.HeaderSize:]); err != nil {
				t.Error(err)
			}
			chains[kernelChain(symbols, sample.Callchain, len(strings.Fields(tt.want)))]++
		}
		// The load runs on this thread, the session on another one.
		done := make(chan Stats)
		begin := make(chan struct{})
		end := make(chan struct{})
		go func() {
			done <- runWhile(t, s, to, func() {
				close(begin)
				<-end
			})
		}()
		<-begin
		for range calls {
			if _, err := unix.Read(int(zero.Fd()), make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		close(end)
		st := <-done
		runtime.UnlockOSThread()
		e := st.Events[0]
		// What wakes this thread up reads too, but not with vfs_read.
		if e.Hits != calls || e.Samples != calls || e.Lost != 0 || !e.Probe {
			t.Errorf("%s: %+v, want %d hits and samples", name, e, calls)
		}
		if e.MissedKnown != (tt.via != event.ProbePMU) || e.Missed != 0 {
			t.Errorf("%s: misses %+v", name, e)
		}
		// Other threads read too, which their task keeps out.
		if k := e.Kernel; e.MissedKnown && (k.Hits < calls || k.Hits-k.Filtered != calls) || !e.MissedKnown && k != (KernelHits{}) {
			t.Errorf("%s: the kernel's counts %+v, want %d that are not filtered", name, k, calls)
		}
		if len(chains) != 1 || chains[tt.want] != calls {
			t.Errorf("%s: callchains %v; want %q", name, chains, tt.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		fs := livetest.TracefsMounted(t)
		if left, err := fs.Probes(); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}

// kernelChain names the first n frames of the kernel's part. The first one, on
// arm64 tracepoints, is there twice.
func kernelChain(symbols *ksyms.Table, chain []uint64, n int) string {
	var names []string
	for i, addr := range chain {
		if addr >= abi.ContextMax {
			if addr == abi.ContextUser {
				break
			}
			continue
		}
		if i > 1 {
			addr-- // a return address
		}
		sym, ok := symbols.Lookup(addr)
		if !ok {
			sym.Name = fmt.Sprintf("%#x", addr)
		}
		names = append(names, sym.Name)
	}
	names = slices.Compact(names)
	return strings.Join(names[:min(n, len(names))], " ")
}
