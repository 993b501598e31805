package procfs

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Memory returns how many bytes of memory the machine has, 0 where that is not known, and how many
// this process may have, as its cgroup or one above that is limited, 0 for no limit: memory.max of
// version 2 (Documentation/admin-guide/cgroup-v2.rst) or memory.limit_in_bytes of version 1
// (Documentation/admin-guide/cgroup-v1/memory.rst). The root is that of the file system, with
// /proc and /sys in it. In a container the uppermost cgroup that is seen is the container's, which
// has a limit; that of the machine has no memory.max.
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
		hierarchy := strings.SplitN(strings.TrimSpace(line), ":", 3) // its number, its controllers, the path (cgroups(7))
		if len(hierarchy) < 3 {
			continue
		}
		top, file := "sys/fs/cgroup", "memory.max"
		if hierarchy[0] != "0" {
			if !slices.Contains(strings.Split(hierarchy[1], ","), "memory") {
				continue
			}
			top, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Join(top, hierarchy[2]); dir == top || strings.HasPrefix(dir, top+"/"); dir = path.Dir(dir) {
			most, _ := fs.ReadFile(root, path.Join(dir, file))
			// No limit is "max", or the largest number of whole pages in version 1: both are errors.
			if n, err := strconv.ParseInt(strings.TrimSpace(string(most)), 10, 62); err == nil && n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
		}
	}
	return machine, limit
}
