package synth

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/procfs/procfstest"
)

// machine is a directory with what Describe reads of a machine.
func machine(t testing.TB) string {
	t.Helper()
	const kernelID, moduleID, fileID = "kkkkkkkkkkkkkkkkkkkk", "mmmmmmmmmmmmmmmmmmmm", "ffffffffffffffffffff"
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/kallsyms": "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff82000000 T _etext\n" +
			"ffffffffc0001000 t bpf_prog_a\t[bpf]\nffffffffc0001040 t bpf_prog_b\t[bpf]\n",
		"proc/modules":                               "nf_nat 4096 1 xt_nat, Live 0xffffffffc0300000\nother 8192 0 - Live 0xffffffffc0400000\n",
		"proc/sys/kernel/osrelease":                  "6.1.0-test\n",
		"lib/modules/6.1.0-test/modules.dep":         "kernel/net/nf-nat.ko.xz: kernel/net/x.ko\n",
		"sys/kernel/notes":                           procfstest.Note(kernelID),
		"sys/module/nf_nat/notes/.note.gnu.build-id": procfstest.Note(moduleID),
		"proc/7/stat":                                "7 (a) b) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 2 0 5\n",
		"proc/7/status":                              "Name:\ta) b\nTgid:\t7\nPid:\t7\n",
		"proc/7/task/7/comm":                         "a) b\n",
		"proc/7/task/9/comm":                         "worker\n",
		"proc/9/status":                              "Name:\tworker\nTgid:\t7\nPid:\t9\n",
		"proc/7/task/7/maps": "400000-401000 r--p 00000000 fe:01 5 /bin/a\n401000-403000 r-xp 00001000 fe:01 5 /bin/a\n" +
			"7000-8000 rwxp 00000000 00:00 0 \n",
		"proc/8/stat": "8 (kthread) S 2 0 0 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 1 0 5\n",
		"bin/a":       string(elfOfBuildID(fileID)),
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, path, text)
	}
	return root
}

// lines are the records of a machine in words.
func lines(t *testing.T, opts Options) []string {
	t.Helper()
	layout := abi.NewLayout(&opts.Attr, abi.LittleEndian)
	var all []string
	for _, r := range synthesize(t, opts) {
		switch r.h.Type {
		case abi.RecordMmap, abi.RecordMmap2:
			m, err := layout.DecodeMmap(r.h, r.payload)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.TrimSpace(fmt.Sprintf("map %d/%d %#x+%#x @%#x %d:%d %d %s %s", m.PID, m.TID, m.Addr, m.Len, m.Off, m.Maj, m.Min, m.Ino, m.File, m.BuildID)))
		case abi.RecordFork:
			f, err := layout.DecodeTask(r.payload)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("fork %d/%d of %d/%d", f.PID, f.TID, f.PPID, f.PTID))
		case abi.RecordComm:
			c, err := layout.DecodeComm(r.h, r.payload)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("comm %d/%d %s", c.PID, c.TID, c.Comm))
		case abi.RecordKsymbol:
			k, err := layout.DecodeKsymbol(r.payload)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fmt.Sprintf("ksymbol %#x+%#x %s", k.Addr, k.Len, k.Name))
		default:
			t.Errorf("record %v", r.h)
		}
	}
	return all
}

// TestDescribeMachine describes a machine that is a directory: what /proc and /sys
// say (proc_pid_stat(5), proc_pid_maps(5), the kernel's perf-related ABI files) is
// in the records that the kernel would have written.
func TestDescribeMachine(t *testing.T) {
	root := machine(t)
	attr := abi.Attr{SampleType: abi.SampleTID | abi.SampleIdentifier, Flags: abi.FlagSampleIDAll | abi.FlagKsymbol}
	kernel := []string{
		"map -1/0 0xffffffff81000000+0x1000000 @0xffffffff81000000 0:0 0 [kernel.kallsyms]_text",
		"map -1/0 0xffffffffc0300000+0x1000 @0x0 0:0 0 /lib/modules/6.1.0-test/kernel/net/nf-nat.ko.xz",
		"map -1/0 0xffffffffc0400000+0x2000 @0x0 0:0 0 [other]",
		"ksymbol 0xffffffffc0001000+0x40 bpf_prog_a",
		"ksymbol 0xffffffffc0001040+0xfc0 bpf_prog_b",
	}
	seven := []string{
		"fork 7/7 of 1/1", "comm 7/7 a) b", "fork 7/9 of 7/7", "comm 7/9 worker",
		"map 7/7 0x401000+0x2000 @0x1000 254:1 5 /bin/a", "map 7/7 0x7000+0x1000 @0x0 0:0 0 //anon",
	}
	eight := []string{"fork 8/8 of 2/2", "comm 8/8 kthread"}
	for _, tt := range []struct {
		what string
		opts Options
		want []string
	}{
		{"all", Options{}, slices.Concat(kernel, seven, eight)},
		{"the kernel", Options{KernelOnly: true}, kernel},
		{"all but the kernel", Options{NoKernel: true}, slices.Concat(seven, eight)},
		{"the process of a thread", Options{PIDs: []int{9, 7, 100}}, slices.Concat(kernel, seven)},
	} {
		tt.opts.Attr, tt.opts.ID, tt.opts.Root = attr, 3, root
		if d := cmp.Diff(tt.want, lines(t, tt.opts)); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.what, d)
		}
	}
	// Build ids instead of device and inode, of what a module and the kernel say of
	// themselves. The file is another one than that of the map, so it has none.
	attr.Flags |= abi.FlagBuildID | abi.FlagMmapData
	got := lines(t, Options{Attr: attr, ID: 3, Root: root, PIDs: []int{7}})
	for i, want := range map[int]string{
		0: kernel[0] + " " + strings.Repeat("6b", 20), 1: kernel[1] + " " + strings.Repeat("6d", 20), 2: kernel[2],
		9: "map 7/7 0x400000+0x1000 @0x0 254:1 5 /bin/a", 10: seven[4],
	} {
		if got[i] != want {
			t.Errorf("record %d with build ids: %s, want %s", i, got[i], want)
		}
	}
	if got := lines(t, Options{Attr: attr, Root: t.TempDir(), PIDs: []int{7}}); len(got) > 0 {
		t.Errorf("of an empty directory: %q", got)
	}
}

// TestDescribeOddModules: a line that cannot be read does not hide the others, and of
// a long build id there is what a record has room for.
func TestDescribeOddModules(t *testing.T) {
	root := machine(t)
	for name, text := range map[string]string{"proc/modules": procfstest.Modules, "sys/kernel/notes": procfstest.Note(procfstest.LongBuildID)} {
		livetest.WriteFile(t, filepath.Join(root, name), text)
	}
	attr := abi.Attr{SampleType: abi.SampleTID | abi.SampleIdentifier, Flags: abi.FlagSampleIDAll | abi.FlagBuildID}
	want := []string{
		"map -1/0 0xffffffff81000000+0x1000000 @0xffffffff81000000 0:0 0 [kernel.kallsyms]_text " + hex.EncodeToString([]byte(procfstest.LongBuildID[:20])),
		"map -1/0 0xffffffffc0a00000+0x2b000 @0x0 0:0 0 [fuse]",
		"map -1/0 0xffffffffc0900000+0xd000 @0x0 0:0 0 /lib/modules/6.1.0-test/kernel/net/nf-nat.ko.xz 6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d6d",
		"map -1/0 0xffffffffc0800000+0x1000 @0x0 0:0 0 [blanks]",
		"map -1/0 0xffffffffc0600000+0x3000 @0x0 0:0 0 [last]",
	}
	if d := cmp.Diff(want, lines(t, Options{Attr: attr, ID: 3, Root: root, KernelOnly: true})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// TestDescribeModulesApart: since Linux 6.4 the sizes of modules reach beyond their text,
// and the newest comes first.
func TestDescribeModulesApart(t *testing.T) {
	root := machine(t)
	livetest.WriteFile(t, filepath.Join(root, "proc/modules"),
		"newer 32768 0 - Live 0xffffffffc0302000\nolder 20480 0 - Live 0xffffffffc0300000\n")
	attr := abi.Attr{SampleType: abi.SampleTID | abi.SampleIdentifier, Flags: abi.FlagSampleIDAll}
	want := []string{
		"map -1/0 0xffffffffc0302000+0x8000 @0x0 0:0 0 [newer]",
		"map -1/0 0xffffffffc0300000+0x2000 @0x0 0:0 0 [older]",
	}
	if d := cmp.Diff(want, lines(t, Options{Attr: attr, ID: 3, Root: root, KernelOnly: true})[1:]); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
