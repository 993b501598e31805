//go:build linux

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLivePartsFiles: of a recording in parts the files of programs that have ended are let go,
// with their build ids; not that of one which runs, though it has been removed.
func TestLivePartsFiles(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	const script = `set -e
open() { ls -l /proc/$PPID/fd | grep -q "/$1$"; }
shut() { ! open "$1"; }
wait_until() { n=0; until "$@"; do sleep 0.02; n=$((n+1)); [ $n -lt 500 ]; done; }
cp "$(command -v sleep)" stays
./stays 1h >/dev/null 2>&1 & trap "kill $!" EXIT
wait_until open stays
rm stays
for i in 1 2 3 4 5; do
	cp "$(command -v sleep)" ended$i
	./ended$i 0.01
	wait_until open ended$i
	rm ended$i
done
wait_until shut 'ended. (deleted)'
open 'stays (deleted)'`
	for _, flags := range [][]string{
		{"--every", "300ms"},
		{"--flight", "300ms"},
	} {
		t.Run(flags[0], func(t *testing.T) {
			dir := t.TempDir()
			c := kprof(t, append([]string{"record", "-a", "-F", "99", "-o", filepath.Join(dir, "x.data"), flags[0], flags[1]}, "--", "sh", "-c", script)...)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			files := partsOf(t, dir)
			var ended []int // parts that have the build id of a program that ended
			for i, name := range files {
				ids := command(t, nil, "perf", "buildid-list", "-i", name)
				if bytes.Contains(ids, []byte("/ended1\n")) {
					ended = append(ended, i)
				}
				if i == len(files)-1 && !bytes.Contains(ids, []byte("/stays\n")) {
					t.Errorf("the last part has no build id of what runs:\n%s", ids)
				}
			}
			if flags[0] == "--every" && len(ended) == 0 || len(ended) > 0 && ended[len(ended)-1] == len(files)-1 {
				t.Errorf("of %d parts %d have the build id of a program that ended", len(files), ended)
			}
		})
	}
}
