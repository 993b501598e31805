package elfsym

import (
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
)

// TestModulesOfMachines: the debug information of modules is relocated as each machine has it: of i386 the
// addends are in the sections, of RISC-V lengths are differences of symbols. Lines are those of the source.
func TestModulesOfMachines(t *testing.T) {
	want := map[string]int{"ext4_map": 10, "ext4_error": 15, "ext4_init": 20}
	for name, command := range map[string][]string{
		"x86-64":  {"gcc"},
		"i386":    {"gcc", "-m32"},
		"RISC-V":  {"clang", "--target=riscv64-linux-gnu"},
		"AArch64": {"clang", "--target=aarch64-linux-gnu"},
		"ARM":     {"clang", "--target=arm-linux-gnueabihf"},
	} {
		t.Run(name, func(t *testing.T) {
			livetest.RequirePrograms(t, command[0])
			ko := filepath.Join(t.TempDir(), "ext4.ko")
			livetest.Run(t, command[0], append(command[1:], "-O2", "-g", "-c", "-ffreestanding", "-fno-pie", "-o", ko, "../testdata/module.c")...)
			f := open(t, ko, Options{Module: true, DWARF: true})
			seen := 0
			for s := range f.Functions() {
				line, ok := want[s.Name]
				if !ok {
					continue
				}
				seen++
				for vaddr := s.Start; vaddr < s.End; vaddr++ {
					chain := f.AppendFunctions(nil, vaddr, true)
					if len(chain) == 0 {
						t.Errorf("%s+%#x: no frames", s.Name, vaddr-s.Start)
						break
					}
					if outer := chain[len(chain)-1]; outer.Name != s.Name || outer.StartLine != line || outer.Line < line || outer.Line > line+3 {
						t.Errorf("%s+%#x: %+v", s.Name, vaddr-s.Start, chain)
						break
					}
				}
			}
			if seen != len(want) || f.DebugErr() != nil {
				t.Errorf("%d functions, %v", seen, f.DebugErr())
			}
		})
	}
}

// TestLargeModule: graphics drivers have megabytes of code, behind which the kernel puts the rest.
func TestLargeModule(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	dir := t.TempDir()
	source, ko := filepath.Join(dir, "large.c"), filepath.Join(dir, "large.ko")
	livetest.WriteFile(t, source, `
		__asm__(".text; .skip 0x300000");
		int last(void) { return 1; }
		__attribute__((section(".text.unlikely"))) int unlikely(void) { return 2; }`)
	livetest.Run(t, "gcc", "-O2", "-c", "-o", ko, source)
	f := open(t, ko, Options{Module: true})
	starts := map[string]uint64{}
	for s := range f.Functions() {
		starts[s.Name] = s.Start
	}
	if starts["last"] < 0x300000 || starts["unlikely"] <= starts["last"] {
		t.Errorf("functions start at %#x", starts)
	}
}
