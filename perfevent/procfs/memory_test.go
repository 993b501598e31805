package procfs

import (
	"testing"
	"testing/fstest"
)

// TestMemory: what the machine has, and the least of what cgroups allow.
func TestMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const (
		meminfo = "MemTotal:       24689764 kB\nMemFree:          123456 kB\n"
		service = "0::/system.slice/kprof.service\n"
	)
	for _, tt := range []struct {
		what           string
		root           fstest.MapFS
		machine, limit int64
	}{
		{"nothing", fstest.MapFS{}, 0, 0},
		{"a machine", fstest.MapFS{"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("7\n")}, 24689764 << 10, 0},
		{"a service", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("1:name=systemd:/x\n" + service),
			"sys/fs/cgroup/system.slice/kprof.service/memory.max": file("536870912\n"), "sys/fs/cgroup/system.slice/memory.max": file("max\n"),
		}, 24689764 << 10, 512 << 20},
		{"its slice has less", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file(service),
			"sys/fs/cgroup/system.slice/kprof.service/memory.max": file("536870912\n"), "sys/fs/cgroup/system.slice/memory.max": file("268435456\n"),
		}, 24689764 << 10, 256 << 20},
		{"version 1 alone", fstest.MapFS{"proc/meminfo": file(meminfo), "proc/self/cgroup": file("9:memory:/x\n")}, 24689764 << 10, 0},
		{"a path that leads out", fstest.MapFS{"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/../../x\n"), "sys/x/memory.max": file("5\n")}, 24689764 << 10, 0},
		{"damage", fstest.MapFS{"proc/meminfo": file("MemTotal: x kB\n"), "proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/memory.max": file("-1\n")}, 0, 0},
	} {
		if machine, limit := Memory(tt.root); machine != tt.machine || limit != tt.limit {
			t.Errorf("%s: %d and %d, want %d and %d", tt.what, machine, limit, tt.machine, tt.limit)
		}
	}
}
