package trace

import (
	"bytes"
	"fmt"
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
// buffers. Where there are several, they stay.
func (t *Trace) placeKernel(info map[string]string) {
	if len(t.Rings) == 0 || t.Kernel == nil {
		return
	}
	name := t.Rings[0].Buffer
	if slices.ContainsFunc(t.Rings, func(r Ring) bool { return r.Buffer != name }) {
		return
	}
	if boot, ok := readLastBoot(info[name]); ok {
		t.Kernel = boot.place(t.Kernel)
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

// place returns symbols of the boot that read the buffer, placed as they were in the boot that wrote it. Of
// modules that were not there then, or are not now, there are none.
func (b *lastBoot) place(k *perfdata.KernelSymbols) *perfdata.KernelSymbols {
	var text procfs.KernelText
	now := map[string]uint64{} // where modules are
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
	start, _, symbol := text.Range()
	if start == 0 || symbol != "_text" {
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
