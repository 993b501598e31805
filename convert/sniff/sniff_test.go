package sniff

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

var kinds = []struct {
	name, head string
	want       Kind
}{
	{"nothing", "", Empty},
	{"a recording", "PERFILE2\x68\x00\x00\x00\x00\x00\x00\x00", Recording},
	{"a recording of another byte order", "2ELIFREP\x00\x00\x00\x00\x00\x00\x00\x68", Recording},
	{"an old recording", "PERFFILE\x68\x00\x00\x00\x00\x00\x00\x00", Recording},
	{"gzip", "\x1f\x8b\x08\x00", Gzip},
	{"zstd", "\x28\xb5\x2f\xfd\x04", Zstd},
	{"xz", "\xfd7zXZ\x00\x00", Xz},
	{"atrace -z", "capturing trace... done\nTRACE:\n\x78\x9c\x00", Atrace},
	{"atrace", "TRACE:\n# tracer: nop\n", Ftrace},
	{"bzip2", "BZh91AY&SY", Bzip2},
	{"lz4", "\x04\x22\x4d\x18\x64", LZ4},
	{"pprof", "\x0a\x04\x08\x01\x10\x02", Pprof},
	{"pprof of Go's heap", "\x5a\x04\x08\x01\x10\x02\x60\x80\x80\x20\x0a\x04\x08\x03\x10\x04", Pprof},
	{"pprof of Go's goroutines", "\x5a\x04\x08\x01\x10\x02\x60\x01\x0a\x04\x08\x01\x10\x02", Pprof},
	{"pprof, strings first", "\x32\x00\x32\x03cpu\x32\x0bnanoseconds", Pprof},
	{"pprof, a sample first", "\x12\x08\x0a\x02\x01\x02\x12\x02\x05\x06\x1a\x02\x08\x03", Pprof},
	{"pprof, a sample of many locations first", "\x12\x84\x10\x0a\x81\x10" + strings.Repeat("\x81\x01", 300), Pprof},
	{"pprof, a mapping first", "\x1a\x0e\x08\x01\x10\x80\x80\x80\x02\x18\x80\x80\x84\x02\x28\x05", Pprof},
	{"pprof, a location first", "\x22\x0f\x08\x01\x18\xf0\xae\xb6\x02\x22\x04\x08\x01\x10\x03\x10\x01", Pprof},
	{"pprof, a function first", "\x2a\x0a\x08\x01\x10\x08\x18\x08\x20\x09\x28\x03", Pprof},
	{"pprof, times first", "\x48\x80\x80\x01\x50\x05\x0a\x04\x08\x01\x10\x02", Pprof},
	{"pprof, legacy, of CPU", legacyCPU(binary.LittleEndian, 8, 0, 3, 0, 10000, 0, 1, 1, 0x42ef04), Pprof},
	{"pprof, legacy, of CPU, words of 32 bits", legacyCPU(binary.LittleEndian, 4, 0, 3, 0, 10000, 0, 1, 1, 0x42ef04), Pprof},
	{"pprof, legacy, of CPU, another byte order", legacyCPU(binary.BigEndian, 8, 0, 3, 0, 10000, 0, 1, 1, 0x42ef04), Pprof},
	{"pprof, legacy, of CPU, both", legacyCPU(binary.BigEndian, 4, 0, 3, 0, 10000, 0, 1, 1, 0x42ef04), Pprof},
	{"pprof, legacy, of Java's CPU", legacyCPU(binary.LittleEndian, 4, 0, 3, 1, 10000, 0, 1, 3, 0), Pprof},
	{"words like pprof's, without a period", legacyCPU(binary.LittleEndian, 8, 0, 3, 0, 0, 0, 1, 1, 1), Unknown},
	{"words like pprof's, of another version", legacyCPU(binary.LittleEndian, 8, 0, 3, 2, 10000, 0, 1, 1, 1), Unknown},
	{"a string like pprof's", "\x32\x03cpu\x32\x00", Unknown},
	{"a field that pprof has not", "\x5a\x04\x08\x01\x18\x02\x60\x01\x0a\x04\x08\x01\x10\x02", Unknown},
	{"another wire type than pprof's", "\x5d\x04\x08\x01\x10\x0a\x04\x08\x01\x10\x02", Unknown},
	{"a message longer than the one that it is in", "\x22\x04\x08\x01\x22\x09\x0a\x04\x08\x01\x10\x02", Unknown},
	{"numbers alone", "\x48\x01\x50\x01\x60\x01", Unknown},
	{"a picture (PCX)", "\x0a\x05\x01\x08\x00\x00\x00\x00", Unknown},
	{"text that could be pprof", "\"(" + strings.Repeat("((", 20) + "\"(" + strings.Repeat("((", 20), OtherText},
	{"folded stacks that begin like pprof", "Z!main;f 1\nPP;g 2\n", Folded},
	{"pprof, legacy", "heap profile: 1: 2 [3: 4] @ heapprofile\n", Pprof},
	{"pprof, legacy, of contention", "--- contentionz 1 ---\ncycles/second = 3201000000\n", Pprof},
	{"pprof, legacy, of Java's heap", "--- heapz 1 ---\nformat = java\nresolution = bytes\n          7        5 @ 0x00000003\n", Pprof},
	{"pprof, legacy, of Go's mutexes", "--- mutex:\ncycles/second=1000000000\nsampling period=100\n", Pprof},
	{"pprof, legacy, of threads", "--- threadz 1 ---\n\n--- Thread 7ff794ab90c0 (name: main/14748) stack: ---\n  PC: 0x000000000040be31\n", Pprof},
	{"pprof, legacy, of Go's allocations, behind what was printed before", "debug\nallocs profile: total 12\n2 @ 0x4 0x5\n", Pprof},
	{"text about a profile", "powerprofilesctl\nActive profile: balanced\n", OtherText},
	{"a patch", "--- a/kernel/fork.c\n+++ b/kernel/fork.c\n@@ -1 +1 @@\n-a\n+b\n", OtherText},
	{"trace.dat", "\x17\x08\x44tracing6\x00", TraceDat},
	{"a program", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x3e\x00", ELF},
	{"a core file", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x3e\x00", Core},
	{"a core file of another byte order", "\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x15", Core},
	{"a cut program", "\x7fELF", ELF},
	{"noise", "\x00\x01\x02\x03", Unknown},
	{"a tar archive", strings.Repeat("x\x00", 128) + "x" + "ustar\x00", Tar},

	{"folded stacks", "swapper;idle 3\n", Folded},
	{"folded stacks without a line end", "a;b;c 1", Folded},
	{"a frame a line", "main 5\nfoo 6\n", Folded},
	{"comms with blanks", "my prog 2;main 5\nhello world 6\n", Folded},
	{"a table of numbers", "0.000000 -79.966388\n0.001000 -79.933091\n1e3 2\n", OtherText},
	{"numbers of lines beside names", "12 1\nmain 5\n", Folded},
	{"fractions", "a;b 1.5\na;c 2.0\n", Folded},
	{"with annotations", "java;foo_[j];do_syscall_64_[k] 12\n", Folded},
	{"of bcc's -d", "bash;read;-;vfs_read 12\n", Folded},
	{"with comments", "# a comment\n// another\na;b;c 1\na;b;d 1\na;e 1\n", Folded},
	{"with more comments than stacks, of austin", "# austin: 3.7.0\n# interval: 100\n# mode: wall\n# python: 3.12.7\n# sampling: 3,35,6057\n# errors: 820/5305\n\nP245906;T0:245906 16905\nP245906;T0:245906;main:1546 158\n", Folded},
	{"comments alone", "# austin: 3.7.0\n# mode: wall\n", OtherText},
	{"a shell script", "#!/bin/sh\n# every day\nsync; sleep 10\n", OtherText},
	{"behind a byte order mark", "\xef\xbb\xbfa;b 1\n", Folded},
	{"Latin-1", "caf\xe9;b 1\n", Folded},
	{"two weights", "a;b 1 2\na;c 3 4\n", DiffFolded},
	{"text that ends in a number", "hello world 5\n", OtherText},
	{"one line of several", "main 5\nhello world 6\n", OtherText},
	{"a sentence", "Lorem ipsum; dolor sit amet\n", OtherText},
	{"numbers", "1\n2\n3\n", OtherText},
	{"blanks", " \n\n", OtherText},

	{"simpleperf report-sample", "sample:\n  event_type: cpu-clock:u\n  time: 195215706\n  event_count: 100000\n  thread_id: 9\n  vaddr_in_file: 2d0\n  file: /system/bin/ls\n  symbol: main\n", SimpleperfText},
	{"perf script", "ls 23168   717.373181:     250000 cpu-clock: \n\t400577 main+0x1 (/bin/ls)\n\n", PerfScript},
	{"perf script --header", "# ========\n# captured on    : Sat Sep  4 10:27:47 2021\n# ========\n#\nls 23168   717.373181:     250000 cpu-clock: \n\t400577 main+0x1 (/bin/ls)\n", PerfScript},
	{"perf script without callchains", "              ls 23168 [000]   717.373181:     250000 cpu-clock:  ffffffff816dfd92 __d_lookup_rcu+0x32 ([kernel.kallsyms])\n", PerfScript},
	{"perf script --show-namespace-events", strings.Repeat("swapper     0 [000]     0.000000: PERF_RECORD_NAMESPACES 1/1 - nr_namespaces: 7\n\t\t[0/net: 0/0, 1/uts: 0/0, 2/ipc: 0/0, 3/pid: 0/0, \n\t\t 4/user: 0/0, 5/mnt: 0/0, 6/cgroup: 0/0]\n", 100), PerfScript},
	{"tracepoints", "            perf 23160 [000]   718.559764: sched:sched_switch: prev_comm=perf next_prio=0\n", PerfScript},
	{"-F comm,ip,sym", "ls \n\t          400577 main\n\t    7f10b9594ec5 __libc_start_main\n", PerfScript},
	{"-F comm,cpu,time", "worker-1 [000] 68574.380038:    2000000 cpu-clock: \n\t400577 main+0x1 (/bin/ls)\n\n", PerfScript},
	{"-F ip,sym", "\n\t          400577 main\n\t    7f10b9594ec5 __libc_start_main\n\n", PerfScript},
	{"an offset of no function", "[0] 0 +0x0\n", OtherText},
	{"a comm with a semicolon", "a;b 12 [000] 717.373181: x:y: 5\n\nb 5 [000] 717.373182: x:y: 5\n", PerfScript},
	{"bpftrace", "Attaching 1 probe...\n\n\n@[\n    vfs_read+1\n]: 12\n", BPFTrace},
	{"bpftrace, a key before", "@reads[dd,\n    vfs_read+1\n]: 12\n", BPFTrace},
	{"DTrace", "CPU     ID                    FUNCTION:NAME\n  0  64091   :tick-60s\n\n  genunix`fop_write+0x5d\n    12\n", DTrace},
	{"DTrace without a head", "\n              genunix`fop_write+0x5d\n    12\n", DTrace},

	{"ftrace", "# tracer: nop\n#\n# entries-in-buffer/entries-written: 1/1   #P:2\n", Ftrace},
	{"ftrace without a head", "            bash-1977  [000] d..1. 17284.993652: sched_switch: prev_comm=x\n", Ftrace},
	{"trace-cmd report", "cpus=2\n          <idle>-0     [000] 1234.567891: sched_switch: swapper/0:0 [120] R ==> foo:12 [120]\n", Ftrace},
	{"function_graph", " 0)   0.339 us    |  up_read();\n", Ftrace},
	{"function_graph with all columns", "   33.867468 |   0)     sh-144     |  ...1. | + 13.494 us   |      vfs_read();\n", Ftrace},
	{"function_graph from a switch on", " ------------------------------------------\n 1)    <idle>-0    =>   rcu_pre-15\n", Ftrace},
	{"ftrace with a clock that counts", "  cat-1 [000] ..... 123456789: foo: x\n", Ftrace},
	{"ftrace, relative times alone", "     1168 us |   0)  stress--204   |  .n..... |               |  unmap_region() {\n", Ftrace},
	// trappy, tests/trace_idle_unsorted.txt
	{"trace-cmd report with tabs", "version = 6\ncpus=8\n\t   <...>-15430 [006]  7115.449594: sched_switch:          prev_comm=trace-cmd prev_pid=15430 prev_prio=120 prev_state=64 next_comm=swapper/6 next_pid=0 next_prio=120\n\t  <idle>-0     [006]  7115.449607: sched_switch:          prev_comm=swapper/6\n", Ftrace},
	{"ftrace that lost events", "CPU:0 [LOST 12 EVENTS]\n", Ftrace},
	{"the latency format", "    bash-1994    0d..1    4us+: _raw_spin_lock <-try_to_wake_up\n", Ftrace},
	{"ftrace that a mail quotes", "> > # tracer: nop\n", Ftrace},
	{"function_graph that a mail quotes", "Hello,\n>  0)   0.382 us    |    getname();\n", Ftrace},
	{"trace-cmd report -l", "trace-cm-326     0dNs4.    27.539637: sched_wakeup:         rcu_preempt:15 [120] CPU:000\n", Ftrace},
	{"pstore's functions", "CPU:2 ts:17 ffffffff8101ea64  ffffffff8101bcda  native_apic_mem_read <- disconnect_bsp_APIC+0x6a/0xc0\n", Ftrace},
	{"dmesg", "[    0.000000] Linux version 6.1.0\n[    0.000001] Command line: x\n", KernelLog},
	// U-Boot, common/autoboot.c, abortboot_single_key
	{"a serial console", "U-Boot 2023.01\r\nHit any key to stop autoboot:  3 \b\b\b 2 \b\b\b 1 \b\b\b 0 \r\n[    0.000000] Linux version 6.1.0\r\n[    0.000001] Booting\r\n[    0.000002] x\r\n", KernelLog},
	{"a serial console with noise", "\x00\x01[    0.000000] Linux version 6.1.0\n", KernelLog},
	{"a serial console that the kernel died on", "\x00\x00    bash-1994    0d..1    4us+: _raw_spin_lock <-try_to_wake_up\n", Ftrace},
	{"what has a line of a log in it", "\n[    0.000000] Linux version 6.1.0\n" + strings.Repeat("\x00\x01\x02", 3), Unknown},
	{"kallsyms", "ffffffff81000000 T _text\nffffffff81000000 t startup\n", Kallsyms},
	{"kallsyms of modules", "ffffffffc0000000 t foo\t[bar]\n", Kallsyms},
	{"speedscope", `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{}}`, Speedscope},
	{"Firefox", `{"meta":{"version":24,"preprocessedProfileVersion":47},"libs":[]}`, FirefoxJSON},
	{"Chrome", `[{"name":"x","ph":"X","ts":1}]`, ChromeJSON},
	{"Chrome's object", `{ "traceEvents": [] }`, ChromeJSON},
	{"a heap snapshot of V8", `{"snapshot":{"meta":{"node_fields":["type","name"],"node_types":[]},"node_count":1},"nodes":[9,1]}`, OtherJSON},
	{"V8", `{"nodes":[{"id":1}],"startTime":1}`, CPUProfile},
	{"JSON", `{"a": 1}`, OtherJSON},
	{"a comm like JSON", "[kworker];main 5\n", Folded},
	{"a file like JSON", "[[vdso]];f 2\nmain 3\n", Folded}, // mapping [vdso], without a symbol
	{"a closure like JSON", "{{closure}};f 2\nmain 3\n", Folded},
	{"lists of JSON, a line each", "[[1, 2], [3, 4]]\n[[5, 6], [7, 8]]\n", OtherJSON},
	{"SVG", `<?xml version="1.0"?><!DOCTYPE svg><svg version="1.1">`, SVG},
	{"HTML", "<!DOCTYPE html>\n<html>", HTML},
	{"xctrace", `<?xml version="1.0"?>` + "\n<trace-query-result>", XCTrace},
	{"XML", "<a>x</a>", OtherXML},
	{"a name like XML", "<init>;main 5\n", Folded},
	{"perf report", "# To display the perf.data header info, please use --header/--header-only options.\n#\n", PerfReport},
	{"perf report --header", "# ========\n# captured on    : Sat Sep  4 10:27:47 2021\n# nrcpus online : 2\n# ========\n#\n# Total Lost Samples: 0\n#\n# Samples: 5K of event 'cycles'\n", PerfReport},
	{"perf report of old", "# ========\n# captured on: Thu Aug 15 09:40:36 2013\n# ========\n#\n# Samples: 1K of event 'cycles'\n# Event count (approx.): 12\n#\n# Overhead  Command  Shared Object  Symbol\n", PerfReport},
	{"perf diff", "# Event 'cycles'\n#\n# Baseline  Delta Abs  Shared Object  Symbol\n", PerfReport},
	{"perf report -t", "# ========\n# captured on: Thu Aug 15 09:40:36 2013\n# ========\n#\n# Events: 825  cycles\n#\n# Overhead^Period^Command^Shared Object^Symbol\n3.22^9^ls^ls^[.] main\n            |\n            --- main\n", PerfReport},
	{"perf report's table alone", "    99.99%    12.34%  ls       [kernel.kallsyms]  [k] memcpy\n            |\n            ---main\n", PerfReport},
	{"what perf printed before", "[ perf record: Woken up 1 times to write data ]\n# To display the perf.data header info, please use --header/--header-only options.\n", PerfReport},
	{"perf annotate", " Percent |\tSource code & Disassembly of libc.so.6 for cycles (2 samples, percent: local period)\n-----\n         : 6     __GI___libc_malloc():\n    0.00 :   97a60:  endbr64\n", PerfReport},
	{"perf script -D", "\n0x108@perf.data [0x50]: event: 69\n.\n. ... raw event: size 80 bytes\n.  0000:  45 00 00 00 00 00 50 00 02 00 00 00 00 00 00 00  E.....P.........\n", PerfReport},
	{"perf script -D of old", "\n0x1c0 [0x40]: event: 3\n.\n. ... raw event: size 64 bytes\n", PerfReport},
	// bcc, tools/old/profile_example.txt, offcputime_example.txt and offwaketime_example.txt
	{"bcc's profile", "    ffffffff813d0af8 __clear_user\n    ffffffff813d5277 iov_iter_zero\n    00007fc5652ad9b0 read\n    -                dd (25036)\n        4\n\n", BCCStacks},
	{"bcc's profile, with what it says", "Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n^C\n    schedule\n", BCCStacks},
	{"bcc's offcputime", "    schedule\n    schedule_timeout\n    -                b'irqbalance' (1)\n        13\n", BCCStacks},
	{"bcc's offcputime, with what it says", "Tracing off-CPU time (us) of all threads by kernel stack... Hit Ctrl-C to end.\n^C\n    schedule\n", BCCStacks},
	{"bcc's offwaketime", "    waker:           swapper/0 0\n    ffffffff8137897c blk_mq_complete_request\n", BCCStacks},
	{"perf stat", "# started on Mon Oct 21 15:10:29 2024\n\n\n Performance counter stats for './a.out':\n\n       14006883755      cache-references                 #  393.729 M/sec                     \n         537974885      cache-misses                     #    3.84% of all cache refs         \n", PerfStat},
	{"pages of a ring", ringPage(16, 0, "\x02", "\x00\x0c", "\x1e"), RingPages},
	{"pages of a ring, of which some were lost", ringPage(16, 3<<30, "\x02", "\x03", "\x1d"), RingPages},
	{"pages of a ring, of which some were lost, sign extended", ringPage(16, 0xffffffff80000000, "\x02"), RingPages},
	{"pages like those of a ring, with an event too long", ringPage(16, 0, "\x02", "\x00\x0d", "\x1e"), Unknown},
	{"pages like those of a ring, with none", ringPage(0, 0), Unknown},
	{"a hist trigger by stack", "# event histogram\n#\n# trigger info: hist:keys=pid,common_stacktrace:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n{ pid: 7, common_stacktrace:\n         schedule+0x10b/0x1a0\n} hitcount:          1\n", StackHist},
	{"a hist trigger with a name by stack", "# trigger info: hist:foo:keys=stack.stacktrace:vals=hitcount:sort=hitcount:size=2048 [active]\n", StackHist},
	{"a hist trigger that keeps a stack", "# trigger info: hist:keys=next_pid:vals=hitcount:s=stacktrace:sort=hitcount:size=2048 [active]\n", Histogram},
	{"a hist trigger", "# event histogram\n#\n# trigger info: hist:keys=call_site:vals=bytes_req:sort=bytes_req:size=2048 [active]\n#\n\n{ call_site: 18446744072099376184 } hitcount:          1  bytes_req:         24\n\nTotals:\n    Hits: 1\n    Entries: 1\n    Dropped: 0\n", Histogram},
	{"the tracer's option raw", "# tracer: nop\n#\n# entries-in-buffer/entries-written: 140/371   #P:2\n#\n154 0 13872860169 type: 749\n18 0 13884427864 type: 310\n", TracerNumbers},
	{"the option raw without a head", "154 0 25790930458 ffffffff9ac31ca4 ffffffff9ac4d95a\n", TracerNumbers},
	{"the option hex", "# tracer: nop\n#\n00000012 00000000 00000003754d6b00 type: 310\n\n", TracerNumbers},
	{"the option bin", "# tracer: nop\n#\n\x9a\x00\x00\x00\x01\x00\x00\x00\x9a\x00\x00\x00\x01\x00\x00\x00", TracerNumbers},
	{"raw and usual lines", "# tracer: nop\n#\n            bash-1977  [000] d..1. 17284.993652: sched_switch: prev_comm=x\n18 0 13884427864 type: 310\n", Ftrace},
	{"the tracer blk with blk_classic", "# tracer: blk\n#\n# DEV   CPU TIMESTAMP     PID ACT FLG\n#  |     |     |           |   |   |\n259,0    0    17.174063758   209  Q  RA 0 + 256 [dd]\n", BlockTrace},
	{"blkparse", "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]\n", BlockTrace},
	{"the tracer mmiotrace", "VERSION 20070824\nPCIDEV 0000 80861237 0 0 0 0\nMAP 5.123456 1 0xfebf0000 0xffffc90000 0x10000 0x0 0\n", MMIOTrace},
	{"the tracer mmiotrace, with a head", "# tracer: mmiotrace\n#\nR 4 5.123456 1 0xfebf0008 0x80 0x0 0\n", MMIOTrace},
	{"the function profiler", "  Function                               Hit    Time            Avg             s^2\n  --------                               ---    ----            ---             ---\n  schedule                                22    12345.0 us      561.1 us        0.000 us\n", FunctionProfile},
	{"the function profiler without times", "  Function                               Hit\n  --------                               ---\n  schedule                                22\n", FunctionProfile},
	{"the stack tracer", "        Depth    Size   Location    (16 entries)\n        -----    ----   --------\n  0)     3192      48   cond_accept_memory+0x5/0x160\n", KernelStack},
	{"kprobe_profile", "  vr                                                        26               0\n", Tracefs},
	{"enabled_functions", "schedule (1)           \ttramp: 0xffffffffc0469000 (function_trace_call+0x0/0x120) ->function_trace_call+0x0/0x120\n", Tracefs},
	{"printk_formats", "0xffffffff9bc7e1bc : \"CPU_ON\"\n", Tracefs},
	{"per_cpu/cpu0/stats", "entries: 12\noverrun: 0\ncommit overrun: 0\nbytes: 4\n", Tracefs},
	{"an event's format", "name: kmalloc\nID: 574\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n", Tracefs},
	{"kprobe_events", "p:kp/vr vfs_read cnt=$arg3\nr10:kp/vx vfs_read arg1=$retval\n", Tracefs},
	{"a trigger", "hist:keys=common_pid,cnt:vals=hitcount:sort=hitcount:size=2048 [active]\n", Tracefs},
	{"error_log", "[   29.914833] hist:kp:vx: error: Couldn't find field\n  Command: hist:keys=cnt.log2:vals=hitcount\n                     ^\n", Tracefs},
	{"an error in a log", "[   29.914833] systemd: error: Couldn't find field\n", KernelLog},
	{"perf stat -I", "#           time             counts unit events\n     0.100209737            1500123      cycles                                                      \n", PerfStat},
	{"perf stat -I -A", "# started on Mon Oct 21 15:10:29 2024\n\n#           time CPU              counts unit events\n     0.100209737 CPU0               1500123      cycles                                                      \n", PerfStat},
	{"an execution trace of Go", "go 1.21 trace\x00\x00\x00\x01\x00", GoTrace},
	{"an execution trace of Go 1.5", "go 1.5 trace\x00\x00\x00\x00", GoTrace},
	{"a file of Go's", "go 1.21\n\nuse .\n", OtherText},
	{"jemalloc", "heap_v2/1048576\n  t*: 172890: 2518883822 [0: 0]\n  t0: 106: 14360 [0: 0]\n@ 0x7f0a 0x7f0b\n  t*: 1: 160 [0: 0]\n", Jemalloc},
	{"callgrind", "# callgrind format\nevents: Ir\n", Callgrind},
	{"callgrind's format of pprof", "positions: instr line\nevents: goroutine(count)\n\nob=\nfl=(1) /usr/local/go/src/runtime/mprof.go\n", Callgrind},
	{"callgrind's format of Xdebug", "version: 1\ncreator: xdebug 3.2.0 (PHP 8.2.1)\ncmd: /a.php\npart: 1\npositions: line\n\nevents: Time_(10ns) Memory_(bytes)\n", Callgrind},
	{"pprof -raw", "PeriodType: cpu nanoseconds\nPeriod: 10000000\nSamples:\nsamples/count cpu/nanoseconds\n          1   10000000: 1 2 \n", PprofText},
	{"pprof -top", "File: x\nType: cpu\nDuration: 1.20s, Total samples = 1s (83%)\nShowing nodes accounting for 1s, 100% of 1s total\n      flat  flat%   sum%        cum   cum%\n        1s   100%   100%         1s   100%  main.f\n", PprofText},
	{"pprof -traces", "File: x\nType: cpu\n-----------+-------------------------------------------------------\n      10ms   main.f\n             main.main\n", PprofText},
	{"pprof -list", "Total: 1s\nROUTINE ======================== main.f in /x/a.go\n", PprofText},
	{"goroutines", "goroutine 1 [running]:\nmain.f(0x1)\n\t/x/main.go:10 +0x1d\n", GoDump},
	{"a panic", "panic: x\n\ngoroutine 18 gp=0xc0000 m=3 mp=0x1 [chan receive, 5 minutes]:\nmain.f(0x1)\n", GoDump},
	{"jstack", "2026-11-26 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.1+12 mixed mode):\n", JavaDump},
	{"hprof's text", "JAVA PROFILE 1.0.1, created Thu Nov 26 10:00:00 2026\n\nHeader for -agentlib:hprof\n", JavaHprof},
	{"a heap dump of Java", "JAVA PROFILE 1.0.2\x00\x00\x00\x00\x08", JavaHprof},
	{"async-profiler's text", "--- Execution profile ---\nTotal samples       : 12\n", AsyncText},
	{"gprof", "Flat profile:\n\nEach sample counts as 0.01 seconds.\n", Gprof},
	{"gmon.out", "gmon\x01\x00\x00\x00\x00\x00", Gprof},
	{"gmon.out of another byte order", "gmon\x00\x00\x00\x01\x00\x00", Gprof},
	{"GHC", "\tThu Nov 26 10:00 2026 Time and Allocation Profiling Report  (Final)\n\n\t   prog +RTS -p -RTS\n", GHCText},
	{"GHC, JSON", "{\n\"program\": \"p\",\n\"arguments\": [\"p\"],\n\"rts_arguments\": [\"-pj\"],\n", GHCJSON},
	{"bcc's memleak", "Attaching to pid 5193, Ctrl+C to quit.\n[11:16:33] Top 2 stacks with outstanding allocations:\n\t80 bytes in 5 allocations from stack\n", BCCLeaks},
	{"SystemTap", " 0xffffffff8116b0e9 : vfs_read+0x9/0x130 [kernel]\n 0xffffffff8116b2b5 : sys_read+0x55/0xa0 [kernel]\n\t12\n", SystemTap},
	{"py-spy dump", "Process 12: python x.py\nPython v3.9.2 (/usr/bin/python3.9)\n\nThread 12 (active): \"MainThread\"\n    f (x.py:3)\n", PySpyDump},
	{"heaptrack", "v 10400 3\nx 8 /usr/bin/ls\n", Heaptrack},
	{"callgrind_annotate", "-----\nProfile data file 'callgrind.out.12' (creator: callgrind-3.19.0)\n", Callgrind},
	{"Perfetto, with a field that ends early", "\x0a\x0b\x40\xe8\x07\x32\x00\x18\xe8\x07\x50\x01\x62\x00", Unknown},
	{"Perfetto, timestamp, clocks, uid and sequence", "\x0a\x0a\x40\xe8\x07\x32\x00\x18\xe8\x07\x50\x01" + "\x0a\x04\x0a\x00\x50\x02", Perfetto},
	{"Perfetto, ftrace and a field of a long tag", "\x0a\x09\x0a\x02\x08\x01\xf8\x04\x07\x50\x01", Perfetto},
	{"OTLP, process.pid 66", "\x0a\x1b\x0a\x13\x0a\x11\x0a\x0bprocess.pid\x12\x02\x18\x42\x12\x04\x12\x02\x12\x00", OTLP},
	{".NET", "Nettrace\x14\x00\x00\x00!FastSerialization.1", Nettrace},
	{"bpftrace -f json", `{"type": "attached_probes", "data": {"probes": 1}}` + "\n", BPFTraceJSON},
	{"stackprof", `{"version":1.2,"mode":"wall","interval":1000,"samples":1554,"gc_samples":454,"frames":{}}`, StackProf},
	{"DHAT", "{\n  \"dhatFileVersion\": 2,\n  \"mode\": \"heap\"}", DHAT},
	{"Safari", `{"version":1,"recording":{"displayName":"x"}}`, SafariJSON},
	{"V8, of old", `{"head":{"functionName":"(root)","hitCount":0}}`, CPUProfile},
	{"Firefox, of old", "{\n  \"format\": \"profileJSONWithSymbolicationTable,1\",\n  \"profileJSON\": []}", FirefoxJSON},
	{"node --prof", "v8-version,6,0,287,53,0\nshared-library,\"/usr/bin/node\",0x1,0x2,0\n", V8Log},
	{"VTune", "Function Stack,CPU Time:Self,Module\nTotal,0.0,[Unknown]\n", VTune},
	{"Visual Studio", "\xef\xbb\xbfLevel,Function Name,Number of Calls,Elapsed Inclusive Time %\n", VisualStudio},
	{"Instruments", "Weight\tSelf Weight\t\tSymbol Name\n96.08 Gc  100.0%\t-\t \tmain\n", Instruments},
	{"Instruments, bytes", "Bytes Used\tCount\t\tSymbol Name\n 1.0 MB     100.0%\t8\t \tmain\n", Instruments},
	{"pmcstat", "@ inst_retired.any [35705 samples]\n\n20.86%  [7447]     f @ /boot/kernel/zfs.ko\n", PMCStat},
	{"a trace of ART", "*version\n3\ndata-file-overflow=false\n", ARTTrace},
	{"a trace of ART, streamed", "SLOW\xf3\x00 \x00\xc4", ARTTrace},
	{"gdb", "[New LWP 12]\n\nThread 2 (Thread 0x7f10 (LWP 12) \"x\"):\n#0  0x00007f in f () from /x.so\n", GDBStacks},
	{"gdb of old", "\nThread 1 (LWP 12):\n#0  f () at x.c:1\n", GDBStacks},
	{"eu-stack", "PID 12 - process\nTID 12:\n#0  0x00007f0a f\n", EUStacks},
	{"faulthandler", "Current thread 0x00007f0a (most recent call first):\n  File \"a.py\", line 2 in f\n", FaultHandler},
	{"Xdebug", "Version: 3.2.0\nFile format: 4\nTRACE START [2026-11-28 10:00:00.000000]\n", XdebugTrace},
	{"massif", "desc: (none)\ncmd: ./a\ntime_unit: i\n", Massif},
	{"a frame called like a dump", "main;goroutine 1 [running]: 5\n", Folded},
	{"V8's heap", `{"head":{"callFrame":{"functionName":"(root)"},"selfSize":0}}`, HeapProfile},
	{"Pyroscope's flame graph", `{"version":1,"flamebearer":{"names":["total"]}}`, Flamebearer},
	{"perf data convert --to-json", "{\n\t\"linux-perf-json-version\": 1,\n\t\"headers\": {}}", PerfJSON},
	{"a session: a probe, then a trace", "# cat kprobe_events\np:kprobes/mine do_sys_openat2\n# cat trace\n              ls-803     [000] ...1.   100.000001: mine: (do_sys_openat2+0x0/0x80)\n", Ftrace},
	{"a session: a format, then a log", "$ cat format\n\tfield:unsigned long addr;\toffset:24;\tsize:8;\tsigned:0;\n$ dmesg\n[    1.000000] calling  acpi_init+0x0/0x4f0 @ 1\n", KernelLog},
	{"a session: a histogram, then perf script", "# trigger info: hist:keys=pid\n\nls 12 1.5: 1 cycles: \n\t  401136 main (/tmp/a)\n\n", PerfScript},
	{"sample", "Analysis of sampling x (pid 1) every 1 millisecond\n", MacSample},
	// What has a colon and a number, and is none of perf script's.
	{"/proc/meminfo", "MemTotal:       24683656 kB\nMemFree:        14859672 kB\nMemAvailable:   22013956 kB\nBuffers:          432108 kB\nCached:          6470548 kB\nSwapCached:            0 kB\nDirty:             12812 kB\nWriteback:             0 kB\nHugePages_Total:       0\n", OtherText},
	{"lscpu", "Model name:                      Intel(R) Xeon(R) Gold\nL1d cache:                       768 KiB (24 instances)\nL1i cache:                       768 KiB (24 instances)\nVirtualization:                  VT-x\nNUMA node(s):                    2\n", OtherText},
	{"/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2400.000\ncache size\t: 16384 KB\nsiblings\t: 4\n", OtherText},
	{"readelf", "ELF Header:\n  Magic:   7f 45 4c 46 02 01 01 00 00 00 00 00 00 00 00 00 \n  Class:                             ELF64\n  Version:                           1 (current)\n  Start of program headers:          64 (bytes into file)\n  Flags:                             0x0\n  Size of this header:               64 (bytes)\n", OtherText},
	{"readelf's sections", "  [ 1] .interp           PROGBITS         0000000000000318  00000318\n       000000000000001c  0000000000000000   A       0     0     1\n  [ 2] .note.gnu.pr[...] NOTE             0000000000000338  00000338\n       0000000000000020  0000000000000000   A       0     0     8\n", OtherText},
	{"text of a protobuf", "sample_event {\n  ip: 4294967295\n  pid: 4294967295\n  sample_time_ns: 100000000000\n}\n", OtherText},
	{"a text that tells an ISBN", " * See the book\n * published by Addison Wesley. ISBN-13: 9780136554820\n */\nBEGIN\n", OtherText},
	{"a trace of memory", "[M] EXEC_ID: 0 INS_ADDRESS: 0000000004000c75 START_ADDRESS: 00000000fed14df0 LENGTH: 4 MODE: W DATA: 004ed1fe\n", OtherText},
	{"a histogram of bcc", "     nsecs               : count     distribution\n   16384 -> 32767    : 16       |**                                    |\n   32768 -> 65535    : 8        |*                                     |\n", OtherText},
	{"perf script without times", "   120000 cycles:  ffffffff8104f45a native_write_msr ([kernel.kallsyms])\n        1 cycles:            401136 main (/tmp/a)\n", PerfScript},
	{"perf script without times and files", "cycles:  ffffffff8104f45a native_write_msr\ncycles:            401136 main\n", PerfScript},
}

// legacyCPU are words as old CPU profiles have them.
func legacyCPU(order binary.AppendByteOrder, size int, words ...uint64) string {
	var b []byte
	for _, w := range words {
		if size == 8 {
			b = order.AppendUint64(b, w)
		} else {
			b = order.AppendUint32(b, uint32(w))
		}
	}
	return string(b)
}

func TestOf(t *testing.T) {
	for _, x := range kinds {
		if got := Of([]byte(x.head), true); got != x.want {
			t.Errorf("%s: %d, want %d", x.name, got, x.want)
		}
	}
	u := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune("a;b 1\n")) {
		u = append(u, byte(c), byte(c>>8))
	}
	if got := Of(u, true); got != UTF16 {
		t.Errorf("UTF-16: %d", got)
	}
}

// TestCut sees only the beginning of an input, whose last line is not whole.
func TestCut(t *testing.T) {
	text := strings.Repeat("main;f;gé 12\n", HeadSize/10)
	for n := HeadSize; n > HeadSize-20; n-- {
		if got := Of([]byte(text[:n]), false); got != Folded {
			t.Errorf("%d bytes, up to %q: %d", n, text[n-5:n], got)
		}
	}
}

func TestLongLine(t *testing.T) {
	if got := Of([]byte(strings.Repeat("f;", HeadSize/2)), false); got != Folded {
		t.Errorf("a line without an end: %d", got)
	}
}

// FuzzOf looks for what crashes, and for folded stacks of which not a line has a
// weight.
func FuzzOf(f *testing.F) {
	for _, x := range kinds {
		f.Add([]byte(x.head), true)
		f.Add([]byte(x.head), false)
	}
	f.Fuzz(func(t *testing.T, head []byte, whole bool) {
		k := Of(head, whole)
		if m := Magic(head); m != Unknown && m != k && len(head) > 0 {
			t.Fatalf("%d, by its magic %d", k, m)
		}
		if k == Folded && (whole || bytes.Contains(head, []byte("\n"))) && !bytes.ContainsAny(head, "0123456789") {
			t.Fatal("no weight")
		}
	})
}

// TestUnread: all that is not read says what it is, in words of its own, and nothing that is read does.
func TestUnread(t *testing.T) {
	said := map[string]Kind{}
	for k := Unknown; k <= OtherText; k++ {
		what := k.Unread()
		if unread := k >= KernelLog && k < OtherText; unread != (what != "") {
			t.Errorf("kind %d: %q", k, what)
		}
		if other, ok := said[what]; ok && what != "" {
			t.Errorf("kinds %d and %d are both %q", other, k, what)
		}
		said[what] = k
	}
}

// ringPage is a page of a ring that has events, by the low byte of the word before each, and of the one with their
// length where that is 0.
func ringPage(time uint64, flags uint64, events ...string) string {
	le := binary.LittleEndian
	var b []byte
	for _, e := range events {
		word := uint32(e[0])
		b = le.AppendUint32(b, word|20<<5*min(1, (word^29)))
		size := 4 * int(word)
		switch {
		case word == 0:
			size = 8
			b = le.AppendUint32(b, uint32(e[1]))
		case word >= 29:
			size = 4
		}
		b = append(b, make([]byte, size)...)
	}
	head := le.AppendUint64(le.AppendUint64(nil, time), uint64(len(b))|flags)
	return string(append(head, append(b, make([]byte, 64)...)...))
}
