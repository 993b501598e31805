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
		{"a machine", fstest.MapFS{"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/\n")}, 24689764 << 10, 0},
		{"a container, in a namespace of its cgroup", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.max": file("536870912\n"),
		}, 24689764 << 10, 512 << 20},
		{"a service of a container", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file(service),
			"sys/fs/cgroup/system.slice/kprof.service/memory.max": file("max\n"), "sys/fs/cgroup/memory.max": file("536870912\n"),
		}, 24689764 << 10, 512 << 20},
		{"a service", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("1:name=systemd:/x\n" + service),
			"sys/fs/cgroup/system.slice/kprof.service/memory.max": file("536870912\n"), "sys/fs/cgroup/system.slice/memory.max": file("max\n"),
		}, 24689764 << 10, 512 << 20},
		{"its slice has less", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file(service),
			"sys/fs/cgroup/system.slice/kprof.service/memory.max": file("536870912\n"), "sys/fs/cgroup/system.slice/memory.max": file("268435456\n"),
		}, 24689764 << 10, 256 << 20},
		{"a service, version 1", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("11:cpu,cpuacct:/y\n9:memory:/system.slice/kprof.service\n0::/z\n"),
			"sys/fs/cgroup/memory/system.slice/kprof.service/memory.limit_in_bytes": file("536870912\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":                            file("9223372036854771712\n"), // PAGE_COUNTER_MAX of 4 KiB
			"sys/fs/cgroup/cpu,cpuacct/y/memory.limit_in_bytes":                     file("5\n"),
		}, 24689764 << 10, 512 << 20},
		{"a container, version 1", fstest.MapFS{ // whose path is that outside of it
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("9:memory:/docker/0123\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes": file("536870912\n"),
		}, 24689764 << 10, 512 << 20},
		{"no limit, version 1", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("9:memory:/\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854710272\n"),
		}, 24689764 << 10, 0},
		{"version 1 without files", fstest.MapFS{"proc/meminfo": file(meminfo), "proc/self/cgroup": file("9:memory:/x\n")}, 24689764 << 10, 0},
		{"a path that leads out", fstest.MapFS{"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/../../x\n"), "sys/x/memory.max": file("5\n")}, 24689764 << 10, 0},
		{"damage", fstest.MapFS{"proc/meminfo": file("MemTotal: x kB\n"), "proc/self/cgroup": file("0::/a\n"), "sys/fs/cgroup/a/memory.max": file("-1\n")}, 0, 0},
	} {
		if machine, limit := Memory(tt.root); machine != tt.machine || limit != tt.limit {
			t.Errorf("%s: %d and %d, want %d and %d", tt.what, machine, limit, tt.machine, tt.limit)
		}
	}
}
