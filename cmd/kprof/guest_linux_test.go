package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// guestRecording is what perf kvm --host --guest record writes, in short: samples of a virtual
// machine have the process and thread of its virtual CPU, and no callchain. Its kernel was
// recorded 0x10000000 above where kallsyms has it, since it was booted again in between.
const guestRecording = `
event cycles type=hardware sample=ip,tid,time,cpu,period,identifier ids=1 flags=sample_id_all
mmap t=0 pid=-1 misc=kernel addr=0xffffffff81000000 len=0x1000000 off=0xffffffff81000000 file=[kernel.kallsyms]_text
mmap t=0 pid=0 misc=guest_kernel addr=0xffffffff91000000 len=0xf000000 off=0xffffffff91000000 file=[guest.kernel.kallsyms]_text
comm t=1 pid=7 tid=8 comm="CPU 0/KVM"
sample t=2 pid=7 tid=8 cpu=0 misc=kernel ip=0xffffffff81000110
sample t=3 pid=7 tid=8 cpu=0 misc=guest_kernel ip=0xffffffff91000110
sample t=4 pid=7 tid=8 cpu=0 misc=guest_kernel ip=0xffffffff91000210
sample t=5 pid=7 tid=8 cpu=0 misc=guest_kernel ip=0xffffffff91000210
sample t=6 pid=7 tid=8 cpu=0 misc=kernel ip=0xffffffff81000210
sample t=7 pid=7 tid=8 cpu=0 misc=guest_user ip=0x401000
`

const (
	hostSymbols  = "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81000100 T vmx_vcpu_run\nffffffff81000200 T schedule\n"
	guestSymbols = "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81000100 T default_idle\nffffffff81000200 T schedule\nffffffff81000300 T later\nffffffffc0000000 t virtnet_poll\t[virtio_net]\nffffffffc0000800 t virtnet_open\t[virtio_net]\n"
)

// TestGuest: samples of a virtual machine's kernel have the names of its symbols and not the
// host's, as perf has them; without these one line says how to give them.
func TestGuest(t *testing.T) {
	dir := t.TempDir()
	host, guest, modules := filepath.Join(dir, "host"), filepath.Join(dir, "guest"), filepath.Join(dir, "modules")
	for name, text := range map[string]string{host: hostSymbols, guest: guestSymbols, modules: "virtio_net 16384 0 - Live 0xffffffffc0000000\n"} {
		livetest.WriteFile(t, name, text)
	}
	file := func(name, text string) string {
		t.Helper()
		b, err := perftext.MustParse(text).Assemble(perftext.Form{AttrSize: 128}) // as perf 6.1 knows them
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	data := file("x.data", guestRecording)
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, said strings.Builder
		c := kprof(t, args...)
		c.Stdout, c.Stderr = &out, &said
		if err := c.Run(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, said.String())
		}
		return out.String(), said.String()
	}
	folded := func(file string, flags ...string) []string {
		t.Helper()
		out, _ := run(append([]string{"convert", "-f", "folded", "--kallsyms", host, file}, flags...)...)
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	want := []string{"CPU_0/KVM;[unknown] 1", "CPU_0/KVM;default_idle_[g] 1", "CPU_0/KVM;schedule 1", "CPU_0/KVM;schedule_[g] 2", "CPU_0/KVM;vmx_vcpu_run 1"}
	for _, flag := range []string{"--guest-kallsyms", "--guestkallsyms"} {
		if got := folded(data, flag, guest); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	unnamed := []string{"CPU_0/KVM;[[guest.kernel.kallsyms]] 3", "CPU_0/KVM;[unknown] 1", "CPU_0/KVM;schedule 1", "CPU_0/KVM;vmx_vcpu_run 1"}
	if got := folded(data); !slices.Equal(got, unnamed) {
		t.Errorf("without symbols of it: %q, want %q", got, unnamed)
	}
	_, said := run("convert", "-f", "folded", "--kallsyms", host, data)
	if !strings.Contains(said, "50.0% of samples") || strings.Count(said, "--guest-kallsyms FILE") != 1 ||
		!strings.Contains(said, "1 sample of programs inside virtual machines, of which nothing was recorded") {
		t.Errorf("%s", said)
	}
	// The parts of the one and of the other.
	by, _ := run("report", "--by", "mapping", "--kallsyms", host, "--guest-kallsyms", guest, data)
	for _, row := range []string{`\n +3 +50\.00% .*\[guest\.kernel\.kallsyms\]\n`, `\n +2 +33\.33% .*\[kernel\.kallsyms\]\n`} {
		if !regexp.MustCompile(row).MatchString(by + "\n") {
			t.Errorf("%s in\n%s", row, by)
		}
	}
	// Without a record of where the kernel and its modules are (perf record -e cycles:G), what the
	// symbols say holds.
	bare := file("bare.data", regexp.MustCompile(`mmap t=0 pid=0 .*\n`).ReplaceAllString(guestRecording, "")+
		"sample t=8 pid=7 tid=8 cpu=0 misc=guest_kernel ip=0xffffffff81000210\nsample t=8 pid=7 tid=8 cpu=0 misc=guest_kernel ip=0xffffffffc0000010\n")
	if got := folded(bare, "--guest-kallsyms", guest); !slices.Contains(got, "CPU_0/KVM;schedule_[g] 1") || !slices.Contains(got, "CPU_0/KVM;virtnet_poll_[g] 1") {
		t.Errorf("without a record: %q", got)
	}
	script := func(flags ...string) string {
		t.Helper()
		out, _ := run(append([]string{"script", "-F", "ip,sym,dso", "--kallsyms", host}, flags...)...)
		return out
	}
	if got := script("--guest-kallsyms", guest, "--guest-modules", modules, bare); !strings.Contains(got, "virtnet_poll ([virtio_net])") {
		t.Errorf("with modules: %s", got)
	}
	if _, err := exec.LookPath("perf"); err != nil {
		return
	}
	guests := func(out string) (lines []string) { // perf script has host's symbols of its own
		for line := range strings.Lines(out) {
			if strings.Contains(line, "[guest.kernel") {
				lines = append(lines, strings.Join(strings.Fields(line), " "))
			}
		}
		return lines
	}
	theirs := command(t, nil, "perf", "script", "--guestkallsyms", guest, "--guestmodules", modules, "-F", "ip,sym,dso", "-i", data)
	if ours := guests(script("--guest-kallsyms", guest, data)); len(ours) != 3 || !slices.Equal(ours, guests(string(theirs))) {
		t.Errorf("%q\nperf: %s", ours, theirs)
	}
}
