package kernellog_test

import (
	"fmt"
	"testing"
	"time"

	"kprof/convert/kernellog"
	"kprof/convert/sniff"
)

// lines are of logs, each with what stands before its text in another way.
var lines = []string{
	"[    1.250000][   T17] calling  init @ 1",
	"6,339,5140900,-;returned",
	"[    1.501000] [     T77] probe of a",
	"[    1.501000 <    0.000012>] since the line before",
	"<6>[    1.501000] of /proc/kmsg",
	"kern  :info  : [    1.501000] with its level",
	"7,2,1501000,-,caller=T77;probe of a",
	"7,2,1501000,-,caller=C1,more;probe of a",
	"2024-05-01T10:00:05,123456+02:00 usb 1-1: new",
	"kern  :warn  : 2024-05-01T10:00:05,250000+02:00 usb 1-1: new",
	"May 01 10:00:05 host kernel: usb 1-1: new",
	"May  1 10:00:05.123456 host kernel: usb 1-1: new",
	"May 01 10:00:05 host kernel: [    1.501000] usb 1-1: new",
	"May 01 10:00:05 host kernel:[    1.501000] usb 1-1: new",
	"[    1.501000] host kernel: usb 1-1: new",
	"2024-05-01T10:00:05+0200 host kernel: usb 1-1: new",
	"2024-05-01T10:00:05.123456+0200 host kernel: usb 1-1: new",
	"2024-05-01T10:00:05.123456+02:00 host kernel: [    1.501000] usb 1-1: new",
	"Wed 2024-05-01 10:00:05 UTC host kernel: usb 1-1: new",
	"1714557605.123456 host kernel: usb 1-1: new",
	"[Wed May  1 10:00:05 2024] usb 1-1: new",
	"[Wed May  1 10:00:05 2024] [    T9] usb 1-1: new",
	"[Wed May  1 10:00:05 2024 <    0.000012>] usb 1-1: new",
	"[<    0.000012>] usb 1-1: new",
	"[May 1 10:00] usb 1-1: new",
	"[May11 10:00] usb 1-1: new",
	"[  +0.000012] usb 1-1: new",
	"[ +12.345678] usb 1-1: new",
	"kern  :err   : [  +0.000012] [    T9] usb 1-1: new",
	"mar 06 10:00:05 host kernel: usb 1-1: new",
	"déc. 12 10:00:05 host kernel: usb 1-1: new",
	"10月 01 10:00:05 host kernel: usb 1-1: new",
	"Mi 2024-05-01 10:00:05 CEST host kernel: usb 1-1: new",
	"Jan  1 00:00:05 host kern.info kernel: usb 1-1: new",
	"Wed May  1 10:00:05 2024 kern.info kernel: [    1.501000] usb 1-1: new",
	"[    1.501000@0] usb 1-1: new",
	"[    1.501000]<0>.(0)[1:swapper/0]usb 1-1: new",
	"<6>[    1.501000] -(3)[211:kworker/3:1]usb 1-1: new",
	"<6>[    1.501000]  [1:    kworker/1:1:   45] usb 1-1: new",
	"[    1.501000] I[0:      swapper/0:    0] usb 1-1: new",
}

func Example() {
	var zero time.Time
	for _, s := range append(lines, "[    1.5] too few digits") {
		l := kernellog.Cut([]byte(s), &zero)
		fmt.Printf("%v %v %d %s\n", l.Timed, l.At, l.TID, l.Text)
	}
	// Output:
	// true 1.25s 17 calling  init @ 1
	// true 5.1409s 0 returned
	// true 1.501s 77 probe of a
	// true 1.501s 0 since the line before
	// true 1.501s 0 of /proc/kmsg
	// true 1.501s 0 with its level
	// true 1.501s 77 probe of a
	// true 1.501s 0 probe of a
	// true 0s 0 usb 1-1: new
	// true 126.544ms 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 9 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 9 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// true 1.501s 0 usb 1-1: new
	// false 0s 0 [    1.5] too few digits
}

// TestSniffed: what is taken apart is also taken for such a log.
func TestSniffed(t *testing.T) {
	for _, s := range lines {
		if got := sniff.Of([]byte(s+"\n"), true); got != sniff.KernelLog {
			t.Errorf("%s: %d, want %d", s, got, sniff.KernelLog)
		}
	}
}

// TestCaptured: what programs that capture a console put before the kernel's lines is no part of them.
func TestCaptured(t *testing.T) {
	for _, before := range []string{
		"2024-05-01T10:00:05.1234567Z ", "2024-05-01T10:00:05.123+0200 ", "2024-05-01 10:00:05 ", "[2024-05-01 10:00:05] ", "[2024-05-01 10:00:05.123] ",
		"10:00:05.123 ", "[10:00:05] ", "10:00:05.123 > ", "May 01 10:00:05 ", "1714557605.123 ", "[1714557605.123456] ", "    ", "\t", "> ", "> > ", ">> ", "[5.123456 0.000012] ",
		"05-01 10:00:05.123   142   142 I KERNEL  : ", "I/kernel  (    0): ", "déc. 12 10:00:05 ",
	} {
		for _, line := range []string{"[    1.501000] calling  init @ 1", "<6>[    1.501000] calling  init @ 1", "[    1.501000][   T17] calling  init @ 1"} {
			var zero time.Time
			l := kernellog.Cut([]byte(before+line), &zero)
			if !l.Timed || l.At != 1501*time.Millisecond || string(l.Text) != "calling  init @ 1" {
				t.Errorf("%s%s: %+v %s", before, line, l, l.Text)
			}
			if got := sniff.Of([]byte(before+line+"\n"), true); got != sniff.KernelLog {
				t.Errorf("%s%s: %d, want %d", before, line, got, sniff.KernelLog)
			}
		}
	}
}

// TestColored: the colours of dmesg, which begin the line, and of what wrote to the log are no part of it.
func TestColored(t *testing.T) {
	for _, line := range []string{
		"\x1b[32m[    1.501000] \x1b[0m\x1b[33musb 1-1: \x1b[0mnew", // util-linux
		"[    1.501000] usb 1-1: \x1b[1;31mnew\x1b[0m",
	} {
		var zero time.Time
		if l := kernellog.Cut([]byte(line), &zero); !l.Timed || l.At != 1501*time.Millisecond || string(l.Text) != "usb 1-1: new" {
			t.Errorf("%q: %+v %q", line, l, l.Text)
		}
		if got := sniff.Of([]byte(line+"\n"), true); got != sniff.KernelLog {
			t.Errorf("%q: %d, want %d", line, got, sniff.KernelLog)
		}
	}
}

// TestBegin: lines of other logs do not begin as the kernel's do.
func TestBegin(t *testing.T) {
	for _, s := range []string{
		"May 01 10:00:05 host sshd[12]: Accepted publickey",
		"May 01 10:00:05 host systemd-kernel: text",
		"2024-05-01T10:00:05.123456+02:00 host sshd[12]: kernel: text",
		"Wed 2024-05-01 10:00:05 UTC host systemd[1]: Started",
		"1714557605.123456 host systemd[1]: Started",
		"2024-05-01 10:00:05,123 INFO kernel: text",
		"[Wed May 01 10:00:05 2024] [error] [client 10.0.0.1] File does not exist",
		"[Wed May 11 10:00:05.123456 2024] [core:notice] [pid 1] AH00094: Command line",
		"[12.123456];main 5",
		"10:00:05.123 [12.123456]",
		"10:00:05.123 [12.123] text",
		"2024-05-01 10:00:05 12.123456: text",
		"[ perf record: Woken up 1 times to write data ]",
		"              ls 23168 [000]   717.373181:     250000 cpu-clock: ",
		"  717.373181:     250000 cpu-clock: ",
		"kernel: text",
		"calling  init @ 1 ",
		"[Mayor 10:00] text",
		"a;b 1,2,3",
	} {
		if kernellog.Begin().MatchString(s) {
			t.Errorf("%s: taken for the kernel's", s)
		}
	}
}
