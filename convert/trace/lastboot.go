package trace

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs"
)

// lastBoot says where the kernel and its modules were in the boot that wrote a ring buffer which outlives it
// (reserve_mem, Linux 6.15). What else is known, as /proc/kallsyms, is of the boot that read the buffer, where
// they lie elsewhere. It is tracefs' last_boot_info (kernel/trace/trace.c, l_show):
//
//	trace_clock: local             of later kernels
//	ffffffff9a000000	[kernel]   _text
//	ffffffffc0a01000	usbcore    the text of a module
//
// "# Current" alone is of a buffer that this boot has written.
type lastBoot struct {
	text    uint64
	modules map[string]uint64
}

// placeKernel places the symbols where they were when the buffer was written, by what last_boot_info says of
// buffers. Where there are several, symbols stay, and what is in the buffers of an earlier boot is moved.
func (t *Trace) placeKernel(info map[string]string) {
	if len(t.Rings) == 0 || t.Kernel == nil {
		return
	}
	name := t.Rings[0].Buffer
	several := slices.ContainsFunc(t.Rings, func(r Ring) bool { return r.Buffer != name })
	moves := map[string]func(uint64) uint64{}
	for buffer, text := range info {
		boot, ok := readLastBoot(text)
		switch {
		case !ok:
		case several:
			moves[buffer] = boot.move(t.Kernel)
		case buffer == name:
			t.Kernel = boot.place(t.Kernel)
		}
	}
	for i := range t.Rings {
		t.Rings[i].Move = moves[t.Rings[i].Buffer]
	}
}

func readLastBoot(info string) (b lastBoot, ok bool) {
	b.modules = map[string]uint64{}
	for line := range strings.Lines(info) {
		where, name, found := strings.Cut(strings.TrimRight(line, "\x00\r\n"), "\t")
		addr, err := strconv.ParseUint(where, 16, 64)
		switch {
		case !found || err != nil || addr == 0:
		case name == "[kernel]":
			b.text = addr
		case len(b.modules) < maxModules:
			b.modules[name] = addr
		}
	}
	return b, b.text != 0
}

// now is where the code of the kernel is in the boot that read the buffer, start 0 for nowhere known, and where
// modules are that were there in the boot that wrote it.
func (b *lastBoot) now(k *perfdata.KernelSymbols) (start, end uint64, now map[string]uint64) {
	var text procfs.KernelText
	now = map[string]uint64{}
	_ = procfs.ReadSymbols(bytes.NewReader(k.Kallsyms), func(s *procfs.Symbol) bool {
		if s.Module == nil {
			text.Add(s)
		} else if _, was := b.modules[string(s.Module)]; was && s.Addr != 0 && (s.Type == 't' || s.Type == 'T') {
			page := s.Addr &^ 0xfff
			if at, known := now[string(s.Module)]; !known || page < at {
				now[string(s.Module)] = page
			}
		}
		return true
	})
	modules, _ := procfs.ReadModules(bytes.NewReader(k.Modules))
	for i := range modules {
		if m := &modules[i]; m.Addr != 0 {
			now[m.Name] = m.Addr
		}
	}
	start, end, symbol := text.Range()
	if symbol != "_text" {
		start = 0
	}
	return start, end, now
}

// move returns what makes addresses of the boot that read the buffer of those in it, nil if that is not known. Of
// code that is not there now it is 0.
func (b *lastBoot) move(k *perfdata.KernelSymbols) func(uint64) uint64 {
	start, end, now := b.now(k)
	if start == 0 {
		return nil
	}
	was := slices.Sorted(maps.Values(b.modules))
	is := map[uint64]uint64{}
	for name, at := range b.modules {
		is[at] = now[name]
	}
	return func(addr uint64) uint64 {
		if addr-b.text < end-start {
			return addr - b.text + start
		}
		i, found := slices.BinarySearch(was, addr)
		if !found {
			i--
		}
		if i < 0 || is[was[i]] == 0 {
			return 0
		}
		return addr - was[i] + is[was[i]]
	}
}

// place returns symbols of the boot that read the buffer, placed as they were in the boot that wrote it. Of
// modules that were not there then, or are not now, there are none.
func (b *lastBoot) place(k *perfdata.KernelSymbols) *perfdata.KernelSymbols {
	start, _, now := b.now(k)
	if start == 0 {
		return k
	}
	moved := &perfdata.KernelSymbols{Kallsyms: make([]byte, 0, len(k.Kallsyms))}
	_ = procfs.ReadSymbols(bytes.NewReader(k.Kallsyms), func(s *procfs.Symbol) bool {
		addr, module := s.Addr-start+b.text, ""
		if s.Module != nil {
			was, ok1 := b.modules[string(s.Module)]
			is, ok2 := now[string(s.Module)]
			if !ok1 || !ok2 {
				return true
			}
			addr, module = s.Addr-is+was, "\t["+string(s.Module)+"]"
		}
		if s.Addr != 0 {
			moved.Kallsyms = fmt.Appendf(moved.Kallsyms, "%016x %c %s%s\n", addr, s.Type, s.Name, module)
		}
		return true
	})
	return moved
}
