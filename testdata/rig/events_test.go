package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"kprof/convert/listing/listingtest"
	"kprof/perfevent/livetest"
)

// eventsLoad makes many events happen.
const eventsLoad = `
mkdir -p /tmp/load/cg; cd /tmp/load
dd if=/dev/zero of=f bs=4k count=64; sync f; mv f g; ln g h; ln -s g l; cat h l; chmod 600 g; rm h l g
(exit 3); (sleep 5 & p=$!; kill -USR1 $p; wait $p)
mount -t tmpfs none cg; touch cg/x; umount cg
mkdir /sys/fs/cgroup/load; echo $$ >/sys/fs/cgroup/load/cgroup.procs; echo $$ >/sys/fs/cgroup/cgroup.procs; rmdir /sys/fs/cgroup/load
dd if=/dev/zero of=/dev/nvme0n1 bs=64k seek=3200 count=16; sync; echo 3 >/proc/sys/vm/drop_caches
dd if=/dev/nvme0n1 of=/dev/null bs=64k skip=3200 count=16
(echo a | nc -l -p 7 127.0.0.1 & sleep 0.2; echo b | nc -w 1 127.0.0.1 7; kill $!); ping -c 1 127.0.0.1
echo 1 >/proc/sys/vm/compact_memory; sleep 0.1; cd /
`

// eventGroups is in how many recordings the tracepoints of a guest are.
const eventGroups = 2

// TestGuestEvents records every tracepoint that there is, for TestPerfEvents, and keeps
// their formats.
func TestGuestEvents(t *testing.T) {
	guest(t)
	keep := os.Getenv("KPROF_KEEP")
	if keep == "" {
		t.Skip("nobody will look at it")
	}
	paths, err := filepath.Glob(tracing + "events/*/*/format")
	if err != nil {
		t.Fatal(err)
	}
	var formats txtar.Archive
	var groups [eventGroups][]string
	for i, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		system := filepath.Base(filepath.Dir(filepath.Dir(path)))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		formats.Files = append(formats.Files, txtar.File{Name: system + ":" + name, Data: text})
		if system != "ftrace" && name != "irq_work_exit" { // which are not sampled
			groups[i%eventGroups] = append(groups[i%eventGroups], "-e", system+":"+name)
		}
	}
	livetest.WriteFile(t, filepath.Join(keep, "formats.txtar"), txtar.Format(&formats))
	if err := os.Mkdir(filepath.Join(keep, "events"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, events := range groups {
		file := filepath.Join(keep, "events", fmt.Sprintf("%d.data", i))
		args := append([]string{"record", "-q", "--no-symbols", "-a", "--call-graph", "none", "-m", "4M", "-o", file}, events...)
		if code, _, said := kprof(t, append(args, "--", "sh", "-c", eventsLoad)...); code != 0 {
			t.Errorf("exit code %d: %s", code, said)
		}
	}
}

// TestPerfEvents compares kprof script with perf script on what TestGuestEvents recorded,
// and on made-up samples of every event of the guest.
func TestPerfEvents(t *testing.T) {
	dir := ofGuests(t, "KPROF_RECORDINGS")
	livetest.Require(t, livetest.Perf)
	archive, err := txtar.ParseFile(filepath.Join(dir, "formats.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	formats := map[string]string{}
	for _, f := range archive.Files {
		formats[f.Name] = string(f.Data)
	}
	file := filepath.Join(t.TempDir(), "perf.data")
	listingtest.WriteFormats(t, file, formats)
	if compared := listingtest.Compare(t, file, listingtest.Columns); len(compared) != len(formats) {
		t.Errorf("%d events compared, of %d", len(compared), len(formats))
	}
	recordings, err := filepath.Glob(filepath.Join(dir, "events", "*.data"))
	if err != nil || len(recordings) != eventGroups {
		t.Fatalf("%d recordings: %v", len(recordings), err)
	}
	happened := map[string]bool{}
	for _, file := range recordings {
		for event := range listingtest.Compare(t, file, listingtest.Columns) {
			happened[event] = true
		}
	}
	t.Logf("%d of %d events happened", len(happened), len(formats))
	for _, e := range []string{"sched:sched_switch", "sched:sched_process_exec", "kmem:kmalloc", "block:block_rq_issue", "syscalls:sys_enter_openat"} {
		if !happened[e] {
			t.Errorf("%s did not happen", e)
		}
	}
}
