package procfs

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Memory returns how many bytes of memory this process may have at most: what the machine has, or
// what its cgroup or one above that is limited to (memory.max of version 2,
// Documentation/admin-guide/cgroup-v2.rst). The root is that of the file system, with /proc and
// /sys in it. 0 stands for not known.
func Memory(root fs.FS) (most int64) {
	least := func(n int64) {
		if n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	b, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(b)) {
		if kB, ok := strings.CutPrefix(line, "MemTotal:"); ok { // the unit is fs/proc/meminfo.c's
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kB), "kB")), 10, 52)
			least(n << 10)
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
			limit, _ := fs.ReadFile(root, dir+"/memory.max") // "max" for none
			n, _ := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 62)
			least(n)
		}
	}
	return most
}
