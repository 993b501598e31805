package elfsym

import (
	"debug/elf"
	"encoding/binary"
	"kprof/perfevent/livetest"
	"slices"
	"strings"
	"testing"
)

// embeddedKallsyms decodes the symbols that a kernel keeps of itself, which are
// what it prints in /proc/kallsyms: name and type in tokens, addresses counted
// from a base, or absolute for the offsets of per-cpu variables.
func embeddedKallsyms(t *testing.T, f *File) []KernelSymbol {
	t.Helper()
	syms, err := f.elf.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) []byte {
		for _, s := range syms {
			if s.Name != name {
				continue
			}
			sec := f.elf.Sections[s.Section]
			data, err := sec.Data()
			if err != nil {
				t.Fatal(err)
			}
			return data[s.Value-sec.Addr:]
		}
		t.Fatalf("no symbol %s", name)
		return nil
	}
	le := binary.LittleEndian
	tokens, index, names, offsets := at("kallsyms_token_table"), at("kallsyms_token_index"), at("kallsyms_names"), at("kallsyms_offsets")
	base := le.Uint64(at("kallsyms_relative_base"))
	count := le.Uint32(at("kallsyms_num_syms"))
	var list []KernelSymbol
	for i := range count {
		n := int(names[0])
		names = names[1:]
		if n&0x80 != 0 {
			n = n&0x7f | int(names[0])<<7
			names = names[1:]
		}
		var b strings.Builder
		for _, token := range names[:n] {
			text := tokens[le.Uint16(index[2*int(token):]):]
			b.Write(text[:slices.Index(text, 0)])
		}
		names = names[n:]
		addr := uint64(int64(int32(le.Uint32(offsets[4*i:]))))
		if f.elf.Machine == elf.EM_X86_64 {
			if int64(addr) < 0 {
				addr = base - 1 - addr
			}
		} else {
			addr = base + uint64(le.Uint32(offsets[4*i:]))
		}
		list = append(list, KernelSymbol{addr, b.String()[0], b.String()[1:]})
	}
	return list
}

// TestKernelSymbolsAgainstKallsyms compares with the list that the kernel itself
// carries, in the order in which it prints it.
func TestKernelSymbolsAgainstKallsyms(t *testing.T) {
	f := open(t, livetest.DebugKernel(t), Options{})
	want := embeddedKallsyms(t, f)
	got, err := f.KernelSymbols()
	if err != nil {
		t.Fatal(err)
	}
	code := func(list []KernelSymbol) (out []KernelSymbol) {
		for _, s := range list {
			for _, sec := range f.elf.Sections {
				if sec.Flags&elf.SHF_EXECINSTR != 0 && s.Addr >= sec.Addr && s.Addr < sec.Addr+sec.Size {
					out = append(out, s)
					break
				}
			}
		}
		return out
	}
	want, got = code(want), code(got)
	if len(want) < 10000 {
		t.Fatalf("the kernel lists %d functions", len(want))
	}
	bad := 0
	for i := 0; i < len(want) && i < len(got); i++ {
		if got[i] != want[i] {
			if bad++; bad <= 10 {
				t.Errorf("symbol %d: %x %c %s, kernel has %x %c %s", i, got[i].Addr, got[i].Type, got[i].Name, want[i].Addr, want[i].Type, want[i].Name)
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d symbols, kernel has %d", len(got), len(want))
	}
	t.Logf("%d symbols compared, %d differ", len(want), bad)
}
