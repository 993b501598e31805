package replay

import (
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// TestKernelByVmlinux: perf lists the kernel by the vmlinux that it found where it recorded.
func TestKernelByVmlinux(t *testing.T) {
	const vmlinux = "/usr/lib/debug/lib/modules/6.8.0/vmlinux"
	entry := func(mode abi.Misc, name string, id byte) perfdata.BuildID {
		return perfdata.BuildID{Misc: mode, PID: -1, Name: name, ID: []byte{id, id}}
	}
	for _, c := range []struct {
		name string
		ids  []perfdata.BuildID
		want string
	}{
		{"its path", []perfdata.BuildID{entry(abi.MiscKernel, vmlinux, 0xaa)}, "aaaa"},
		{"its own name before a path", []perfdata.BuildID{entry(abi.MiscKernel, vmlinux, 0xaa), entry(abi.MiscKernel, "[kernel.kallsyms]", 0xbb)}, "bbbb"},
		{"two paths", []perfdata.BuildID{entry(abi.MiscKernel, vmlinux, 0xaa), entry(abi.MiscKernel, "/boot/vmlinux", 0xbb)}, ""},
		{"two names of one", []perfdata.BuildID{entry(abi.MiscKernel, vmlinux, 0xaa), entry(abi.MiscKernel, "/boot/vmlinux", 0xaa)}, "aaaa"},
		{"modules", []perfdata.BuildID{entry(abi.MiscKernel, "[ext4]", 1), entry(abi.MiscKernel, "/lib/modules/6.8.0/fat.ko.xz", 2)}, ""},
		{"of a guest", []perfdata.BuildID{entry(abi.MiscGuestKernel, vmlinux, 0xaa)}, ""},
		{"of a program that has it mapped", []perfdata.BuildID{entry(abi.MiscUser, vmlinux, 0xaa)}, ""},
	} {
		set := stacks.Set{Mappings: []stacks.Mapping{
			{File: "[kernel.kallsyms]", Kind: stacks.KindKernel}, {File: "[fuse]", Kind: stacks.KindModule}, {File: "/bin/sh", Kind: stacks.KindUser},
		}}
		SetBuildIDs(&set, c.ids)
		if got := set.Mappings[0].BuildID; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, m := range set.Mappings[1:] {
			if m.BuildID != "" {
				t.Errorf("%s: %s has %s", c.name, m.File, m.BuildID)
			}
		}
	}
}
