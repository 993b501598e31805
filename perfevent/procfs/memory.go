package procfs

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Memory returns how many bytes of memory the machine has, 0 where that is not known, and how many
// this process may have, as its cgroup or one above that is limited (memory.max of version 2,
// Documentation/admin-guide/cgroup-v2.rst), 0 for no limit. The root is that of the file system, with
// /proc and /sys in it.
func Memory(root fs.FS) (machine, limit int64) {
	b, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if kB, ok := strings.CutPrefix(line, "MemTotal:"); ok { // the unit is fs/proc/meminfo.c's
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kB), "kB")), 10, 52)
			machine = max(n, 0) << 10
			break
		}
	}
	b, _ = fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(b)) {
		at, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok {
			continue
		}
		for dir := path.Join("sys/fs/cgroup", at); strings.HasPrefix(dir, "sys/fs/cgroup/"); dir = path.Dir(dir) {
			most, _ := fs.ReadFile(root, dir+"/memory.max") // "max" for none
			if n, _ := strconv.ParseInt(strings.TrimSpace(string(most)), 10, 62); n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
		}
	}
	return machine, limit
}
