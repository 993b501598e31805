//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	pprofile "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

// recordFields records two tracepoints of a command with perf or with kprof, and returns
// the file and what perf script prints of the samples.
func recordFields(t *testing.T, recorder string) (file, script string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "fields.data")
	args := []string{"record", "-q", "-m", "8M", "-e", "kmem:kmalloc", "-e", "sched:sched_switch", "-e", "syscalls:sys_exit_newfstatat", "-o", file, "--", "sh", "-c", "ls -lR /etc /etc /etc | { sleep 0.2; cat >/dev/null; }"} // ls waits for room in the pipe
	c := kprof(t, args...)
	if recorder == "perf" {
		args[3] = "8M"
		c = livetest.PerfCommand(t, append([]string{"record", "-g"}, args[1:]...)...)
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.1000s", err, out)
	}
	out, err := livetest.PerfCommand(t, "script", "-G", "-F", "comm,event,trace", "-i", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return file, string(out)
}

// runKprof runs a command line, which must succeed, and returns its standard output.
func runKprof(t *testing.T, args ...string) string {
	t.Helper()
	c := kprof(t, args...)
	var out, messages bytes.Buffer
	c.Stdout, c.Stderr = &out, &messages
	if err := c.Run(); err != nil {
		t.Fatalf("kprof %s: %v\n%s", strings.Join(args, " "), err, messages.Bytes())
	}
	return out.String()
}

// sums are those of all columns of a profile.
func sums(p *pprofile.Profile) []int64 {
	all := make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		for i, v := range s.Value {
			all[i] += v
		}
	}
	return all
}

// TestLiveFields: sums and selections of fields equal those over the text of perf script.
func TestLiveFields(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	for _, recorder := range []string{"perf", "kprof"} {
		t.Run(recorder, func(t *testing.T) {
			file, script := recordFields(t, recorder)
			dir := t.TempDir()
			var n, total, large, largeTotal int64
			for _, m := range regexp.MustCompile(`kmem:kmalloc: .* bytes_req=(\d+) bytes_alloc=(\d+)`).FindAllStringSubmatch(script, -1) {
				req, _ := strconv.ParseInt(m[1], 10, 64)
				v, _ := strconv.ParseInt(m[2], 10, 64)
				n, total = n+1, total+v
				if v >= 1024 {
					large, largeTotal = large+1, largeTotal+v+req
				}
			}
			if n == 0 || large == 0 || large == n {
				t.Fatalf("%d allocations, %d large ones: not enough to look at", n, large)
			}
			for _, c := range []struct {
				args []string
				unit string
				want []int64
			}{
				{[]string{"--value", "bytes_alloc"}, "bytes", []int64{n, total}},
				{[]string{"--value", "bytes_alloc + bytes_req", "--where", "bytes_alloc >= 1K"}, "bytes", []int64{large, largeTotal}},
			} {
				out := filepath.Join(dir, "out.pb.gz")
				runKprof(t, append([]string{"convert", "-q", "-o", out, file}, c.args...)...)
				p := stackstest.ReadPprof(t, out)
				if got := sums(p); fmt.Sprint(got) != fmt.Sprint(c.want) || p.SampleType[1].Unit != c.unit || p.SampleType[1].Type != c.args[1] {
					t.Errorf("%q: %v %v, want %v", c.args, p.SampleType, got, c.want)
				}
				var folded int64
				for line := range strings.Lines(runKprof(t, append([]string{"convert", "-q", "-f", "folded", file}, c.args...)...)) {
					v, err := strconv.ParseInt(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					folded += v
				}
				if folded != c.want[1] {
					t.Errorf("%q: folded stacks of %d, want %d", c.args, folded, c.want[1])
				}
			}
			labelsEqual(t, file, script)
			// Text is compared as text, with names that the kernel does not end.
			switches := int64(len(regexp.MustCompile(`(?m)sched:sched_switch: prev_comm=ls `).FindAllString(script, -1)))
			out := filepath.Join(dir, "out.pb.gz")
			runKprof(t, "convert", "-q", "-o", out, "--where", `prev_comm == "ls"`, file)
			if got := sums(stackstest.ReadPprof(t, out))[0]; got != switches || switches == 0 {
				t.Errorf("%d switches away from ls, want %d", got, switches)
			}
		})
	}
}

// labelsEqual compares how many samples have each value of a field: as labels of pprof,
// as groups of the table, and as frames at both ends of folded stacks, with the text of
// perf script.
func labelsEqual(t *testing.T, file, script string) {
	t.Helper()
	for _, c := range []struct {
		event, key, text string // the field, and how perf script writes it
	}{
		{"kmem:kmalloc", "gfp_flags", `kmem:kmalloc: .* gfp_flags=(\S+)`},
		{"kmem:kmalloc", "call_site", `kmem:kmalloc: call_site=(\S+)`},
		{"sched:sched_switch", "next_comm", `sched:sched_switch: .* next_comm=(.*) next_pid=`},
		{"syscalls:sys_exit_newfstatat", "ret", `syscalls:sys_exit_newfstatat: (\S+)`},
	} {
		event := c.event
		want := map[string]int64{}
		for _, m := range regexp.MustCompile(c.text).FindAllStringSubmatch(script, -1) {
			value := m[1]
			if n, err := strconv.ParseUint(value, 0, 64); err == nil { // perf writes what was returned in hexadecimal
				if value = strconv.FormatInt(int64(n), 10); int64(n) < 0 {
					value = unix.ErrnoName(unix.Errno(-int64(n)))
				}
			}
			want[value]++
		}
		if len(want) == 0 {
			t.Fatalf("no sample of %s", event)
		}
		args := []string{"-q", "--event", event, file}
		out := filepath.Join(t.TempDir(), "out.pb.gz")
		runKprof(t, append([]string{"convert", "--label", c.key, "-o", out}, args...)...)
		got := map[string]int64{}
		for _, s := range stackstest.ReadPprof(t, out).Sample {
			value := strings.Join(s.Label[c.key], "")
			for _, n := range s.NumLabel[c.key] {
				value = strconv.FormatInt(n, 10)
			}
			got[value] += s.Value[0]
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s of %s: %v, want %v", c.key, event, got, want)
		}
		var table struct {
			Rows []struct {
				Name string `json:"name"`
				Self int64  `json:"self"`
			} `json:"rows"`
		}
		if err := json.Unmarshal([]byte(runKprof(t, append([]string{"report", "--json", "-n", "0", "--by", c.key}, args...)...)), &table); err != nil {
			t.Fatal(err)
		}
		got = map[string]int64{}
		for _, row := range table.Rows {
			got[row.Name] = row.Self
		}
		if !maps.Equal(got, want) {
			t.Errorf("table by %s of %s: %v, want %v", c.key, event, got, want)
		}
		roots, leaves := map[string]int64{}, map[string]int64{}
		folded := runKprof(t, append([]string{"convert", "-f", "folded", "--tagroot", c.key, "--tagleaf", "comm," + c.key}, args...)...)
		for line := range strings.Lines(folded) {
			line = strings.TrimSuffix(line, "\n")
			n, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			frames := strings.Split(line[:strings.LastIndexByte(line, ' ')], ";")
			roots[frames[1]] += n // behind comm
			leaves[frames[len(frames)-1]] += n
			if frames[len(frames)-2] != frames[0] {
				t.Errorf("%s: %q is not the comm of the leaf", event, line)
			}
		}
		if !maps.Equal(roots, want) || !maps.Equal(leaves, want) {
			t.Errorf("frames by %s of %s: roots %v, leaves %v, want %v", c.key, event, roots, leaves, want)
		}
	}
}

// TestLiveFieldsWhileRecording: the same of a profile that is made without a file. The
// kernel filters for the other, of two recordings at a time.
func TestLiveFieldsWhileRecording(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	out := filepath.Join(t.TempDir(), "out.pb.gz")
	// Each of 50 reads asks for 4096 bytes of a file of 300, so that the last one returns 0.
	data := filepath.Join(t.TempDir(), "data")
	livetest.WriteFile(t, data, make([]byte, 300))
	runKprof(t, "record", "-q", "-e", "syscalls:sys_exit_read", "--value", "ret", "--where", "ret in {17, 11}", "-o", out,
		"--", "dd", "if="+data, "bs=17", "of=/dev/null", "status=none")
	p := stackstest.ReadPprof(t, out)
	if got, want := sums(p), []int64{18, 300}; fmt.Sprint(got) != fmt.Sprint(want) || p.SampleType[1].Unit != "bytes" {
		t.Errorf("%v of %v, want %v", got, p.SampleType, want)
	}
	c := kprof(t, "record", "-e", "syscalls:sys_exit_read", "--where", "rets == 1", "-o", out+".folded", "--", "touch", out+".ran")
	text, err := c.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "no event has a field \"rets\"; did you mean ret?\n  rets == 1\n  ^") {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := os.Stat(out + ".ran"); err == nil {
		t.Error("the command ran although nothing could be recorded")
	}
	c = kprof(t, "record", "-e", "syscalls:sys_exit_read", "--where", "ret == 123456789", "-o", out+".folded", "--", "true")
	if text, err := c.CombinedOutput(); err != nil || !strings.Contains(string(text), `no sample of "ret == 123456789"`) { // the command's own exit code
		t.Errorf("%v: %s", err, text)
	}
}
