package symbolize

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
)

// debugKernel returns a vmlinux with debug information, its mapping as recorded
// after a start at another address, and n addresses in its functions.
func debugKernel(t testing.TB, n int) (path string, m Mapping, addrs []uint64) {
	t.Helper()
	path = livetest.DebugKernel(t)
	file, err := elfsym.Open(path, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m = Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_stext", BuildID: hex.EncodeToString(file.BuildID())}
	for _, s := range elfSymbols(t, path) {
		switch {
		case s.Name == "_stext":
			m.Offset = s.Value + kaslr
		case elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0:
			for off := uint64(1); off < s.Size; off += 7 {
				addrs = append(addrs, s.Value+off+kaslr)
			}
		}
	}
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	for i := range n {
		addrs[i] = addrs[i*(len(addrs)/n)]
	}
	return path, m, addrs[:n]
}

const kaslr = 0x33e00000

// linked are the addresses as a tool is asked for them.
func linked(addrs []uint64) string {
	var b strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&b, "%#x\n", a-kaslr)
	}
	return b.String()
}

// TestDebugKernel names 10,000 addresses of a kernel that was moved, and compares
// with addr2line, and without inlined frames with what the same names are.
func TestDebugKernel(t *testing.T) {
	path, m, addrs := debugKernel(t, 10000)
	livetest.RequirePrograms(t, "addr2line")
	cmd := exec.Command("addr2line", "-a", "-f", "-i", "-e", path)
	cmd.Stdin = strings.NewReader(linked(addrs))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(opts Options) [][]Frame {
		opts.Vmlinux, opts.Foreign = path, true
		s := New(opts)
		defer s.Close()
		frames, err := s.Resolve(context.Background(), m, addrs)
		if err != nil {
			t.Fatal(err)
		}
		return frames
	}
	inlined, plain, lines := resolve(Options{Inline: true}), resolve(Options{}), resolve(Options{Lines: true})
	bad, calls := 0, 0
	for i, answer := range bytes.Split(out, []byte("\n0x")) {
		list := strings.Split(strings.TrimSpace(string(answer)), "\n")[1:]
		frames := inlined[i]
		calls += len(frames) - 1
		ok := len(list) == 2*len(frames)
		for k := 0; ok && k < len(frames); k++ {
			_, line, _ := strings.Cut(list[2*k+1][strings.LastIndexByte(list[2*k+1], '/')+1:], ":")
			line, _, _ = strings.Cut(line, " ")
			outermost := k == len(frames)-1 // has a name of the symbol table
			ok = (outermost || frames[k].Name == list[2*k]) && fmt.Sprint(frames[k].Line) == strings.Replace(line, "?", "0", 1)
		}
		if !ok {
			if bad++; bad < 5 {
				t.Errorf("%#x: %+v, addr2line says %q", addrs[i], frames, list)
			}
		}
		last := frames[len(frames)-1]
		if p := plain[i]; len(p) != 1 || p[0].Name != last.Name || p[0].File != "" {
			t.Fatalf("%#x: %+v without lines, %+v with them", addrs[i], p, last)
		}
		if l := lines[i]; len(l) != 1 || l[0] != last {
			t.Fatalf("%#x: %+v without inlined frames, %+v with them", addrs[i], l, last)
		}
	}
	if again := resolve(Options{Inline: true}); !slices.EqualFunc(again, inlined, slices.Equal[[]Frame]) {
		t.Error("the second time frames differ")
	}
	t.Logf("%d addresses with %d inlined calls, %d differ", len(addrs), calls, bad)
}

// BenchmarkDebugKernel names 10,000 addresses of a kernel with their inlined
// frames. peak-MB is the most memory the process had, mapped parts of the file
// included.
func BenchmarkDebugKernel(b *testing.B) {
	path, m, addrs := debugKernel(b, 10000)
	b.Run("kprof", func(b *testing.B) {
		forget(b)
		for b.Loop() {
			s := New(Options{Vmlinux: path, Foreign: true, Inline: true})
			if _, err := s.Resolve(context.Background(), m, addrs); err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
		b.ReportMetric(peak(b, "/proc/self/status"), "peak-MB")
	})
	b.Run("kprof-names", func(b *testing.B) {
		for b.Loop() {
			s := New(Options{Vmlinux: path, Foreign: true})
			if _, err := s.Resolve(context.Background(), m, addrs); err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	for _, tool := range []string{"addr2line", "llvm-addr2line"} {
		b.Run(tool, func(b *testing.B) {
			livetest.RequirePrograms(b, tool)
			for b.Loop() {
				cmd := exec.Command(tool, "-f", "-i", "-e", path)
				cmd.Stdin = strings.NewReader(linked(addrs))
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// forget resets the highest use of memory that the kernel keeps for this
// process (Documentation/filesystems/proc.rst, clear_refs).
func forget(b *testing.B) {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Logf("peak memory includes what was used before: %v", err)
	}
}

func peak(b *testing.B, status string) float64 {
	data, err := os.ReadFile(status)
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	var kb float64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
