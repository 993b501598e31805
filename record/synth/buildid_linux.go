package synth

import (
	"os"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/procfs"
)

// BuildID reads the build id of what a MMAP or MMAP2 record of this machine
// maps, while it is still there: a file, the kernel, a module. It is nil for
// anything else, and where there is none.
func BuildID(m *abi.Mmap) []byte {
	switch {
	case m.PID == -1 && strings.HasPrefix(m.File, "[kernel.kallsyms]"):
		return procfs.ReadBuildID(os.DirFS("/sys"), procfs.KernelNotes)
	case m.PID == -1:
		if name := procfs.ModuleName(m.File); name != "" {
			return procfs.ReadBuildID(os.DirFS("/sys"), procfs.ModuleNotes(name))
		}
		return nil
	case m.Ino == 0 || !strings.HasPrefix(m.File, "/"):
		return nil
	}
	return readBuildID("", int(m.PID), &mapping{
		addr: m.Addr, len: m.Len, file: fileID{m.Maj, m.Min, m.Ino},
		name: []byte(strings.TrimSuffix(m.File, " (deleted)")),
	})
}
