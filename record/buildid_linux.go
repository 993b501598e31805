package record

import (
	"path"
	"strings"

	"kprof/perfevent/abi"
)

// BuildID reads the build id of what a MMAP or MMAP2 record of this machine
// maps, while it is still there: a file, the kernel, a module. It is nil for
// anything else, and where there is none.
func BuildID(m *abi.Mmap) []byte {
	switch {
	case m.PID == -1 && strings.HasPrefix(m.File, "[kernel.kallsyms]"):
		return noteFile("/sys/kernel/notes")
	case m.PID == -1:
		// "[ext4]", or the path of its file, in which "-" may stand for "_".
		name, _, _ := strings.Cut(path.Base(strings.Trim(m.File, "[]")), ".ko")
		return noteFile("/sys/module/" + strings.ReplaceAll(name, "-", "_") + "/notes/.note.gnu.build-id")
	case m.Ino == 0 || !strings.HasPrefix(m.File, "/"):
		return nil
	}
	return readBuildID(int(m.PID), &mapping{
		addr: m.Addr, len: m.Len, file: fileID{m.Maj, m.Min, m.Ino},
		name: []byte(strings.TrimSuffix(m.File, " (deleted)")),
	})
}
