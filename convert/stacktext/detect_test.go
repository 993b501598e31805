package stacktext

import "testing"

// TestIsPerfScript tells perf's text from that of others, which has addresses, times and colons too.
func TestIsPerfScript(t *testing.T) {
	for name, x := range map[string]struct {
		text string
		want bool
	}{
		"a callchain":                {"load  1/1 [000] 1.500000: 1 cycles: \n\t    55d0c0ffee00 f+0x10 (/bin/x)\n", true},
		"without a callchain":        {"load  1/1 [000] 1.500000: 1 cycles:      55d0c0ffee00 f+0x10 (/bin/x)\n", true},
		"headers alone":              {"load  1/1 [000] 1.500000: 1 cycles: \nload  1/1 [000] 2.500000: 1 cycles: \n", true},
		"frames alone":               {"\t    55d0c0ffee00 f+0x10 (/bin/x)\n\t    55d0c0ffee40 g+0x10 (/bin/x)\n", true},
		"frames without files":       {"\t    55d0c0ffee00 f+0x10\n\t    55d0c0ffee40 g+0x10\n", true},
		"a header of --header":       {"# ========\n# captured on : today\n# hostname : m\n# ========\n#\nload  1/1 [000] 1.500000: 1 cycles: \n\t    55d0c0ffee00 f+0x10 (/bin/x)\n", true},
		"source lines":               {"load  1/1 [000] 1.500000: 1 cycles: \n\t    55d0c0ffee00 f+0x10 (/bin/x)\n  x.c:7\n\t    55d0c0ffee00 g+0x10 (/bin/x)\n  x.c:9\n", true},
		"beside what a program says": {"starting\nhere we go\nload  1/1 [000] 1.500000: 1 cycles: \n\t    55d0c0ffee00 f+0x10 (/bin/x)\ndone\nall of it\nbye\n", true},

		"folded stacks":      {"main;f;g 12\nmain;h 7\n", false},
		"a table of symbols": {"     1: 0000000000401000    23 FUNC    GLOBAL DEFAULT   12 main\n     2: 0000000000401040    11 FUNC    GLOBAL DEFAULT   12 f\n", false},
		"kallsyms":           {"ffffffff81000000 T _text\nffffffff81000010 T secondary_startup_64\n", false},
		"maps":               {"55d0c0ffe000-55d0c0fff000 r-xp 00000000 08:01 1234 /bin/x\n7ffd0000-7ffd1000 rw-p 00000000 00:00 0 [stack]\n", false},
		"a dump":             {"00000000  48 89 e5 41 57 41 56 41  55 41 54 53 48 83 ec 18  |H..AWAVAUATSH...|\n00000010  48 89 e5 41 57 41 56 41  55 41 54 53 48 83 ec 18  |H..AWAVAUATSH...|\n", false},
		"a histogram":        {"     usecs               : count     distribution\n     16384 -> 32767      : 12       |****|\n     32768 -> 65535      : 3        |*|\n", false},
		"a log":              {"Jan  1 00:00:00 host prog[12]: started\nJan  1 00:00:01 host prog[12]: stopped\n", false},
		"the kernel's log":   {"[    1.234567] usb 1-1: new device\n[    1.234890] usb 1-1: New USB device found\n", false},
		"settings":           {"MemTotal:       16384 kB\nMemFree:         1234 kB\n", false},
		"source":             {"int main(void)\n{\n\treturn f(0x10);\n}\n", false},
		"one frame of many":  {"one\ntwo\nthree\n\t    55d0c0ffee00 f+0x10 (/bin/x)\nfour\n", false},
		"one of two":         {"one\n\t    55d0c0ffee00 f+0x10 (/bin/x)\n", true},
		"a listing":          {"  401000:\t48 89 e5             \tmov    %rsp,%rbp\n  401003:\tc3                   \tret\n", false},
		"nothing":            {"", false},
	} {
		if got := IsPerfScript(firstLines(x.text)); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestParseHeader: what stands before the frames of a sample, with whichever fields it was printed.
func TestParseHeader(t *testing.T) {
	for line, want := range map[string]header{
		"load 12/34 [005] 1.500000: 7 cycles:u:":               {comm: []byte("load"), pid: 12, tid: 34, cpu: 5, time: 1.5e9, period: 7, event: []byte("cycles:u"), hasComm: true, hasPID: true, hasTID: true, hasCPU: true, hasTime: true, hasPeriod: true},
		"my prog 1 34 [005] 1.500000: 7 cycles:":               {comm: []byte("my prog 1"), tid: 34, cpu: 5, time: 1.5e9, period: 7, event: []byte("cycles"), hasComm: true, hasTID: true, hasCPU: true, hasTime: true, hasPeriod: true},
		"load 34 1.500000: cycles:":                            {comm: []byte("load"), tid: 34, time: 1.5e9, event: []byte("cycles"), hasComm: true, hasTID: true, hasTime: true},
		"load 1.500000: cycles:":                               {comm: []byte("load"), time: 1.5e9, event: []byte("cycles"), hasComm: true, hasTime: true},
		"12/34 1.500000: cycles:":                              {pid: 12, tid: 34, time: 1.5e9, event: []byte("cycles"), hasPID: true, hasTID: true, hasTime: true},
		"[005] 1.500000: cycles:":                              {cpu: 5, time: 1.5e9, event: []byte("cycles"), hasCPU: true, hasTime: true},
		"1.500000: cycles:":                                    {time: 1.5e9, event: []byte("cycles"), hasTime: true},
		"load 12/34 7 cycles:":                                 {comm: []byte("load"), pid: 12, tid: 34, period: 7, event: []byte("cycles"), hasComm: true, hasPID: true, hasTID: true, hasPeriod: true},
		"load 34 cycles:":                                      {comm: []byte("load"), tid: 34, event: []byte("cycles"), hasComm: true, hasTID: true},
		"load":                                                 {comm: []byte("load"), hasComm: true},
		"load [005] 1.500000: sched:sched_switch: prev_comm=x": {comm: []byte("load"), cpu: 5, time: 1.5e9, event: []byte("sched:sched_switch"), rest: []byte("prev_comm=x"), hasComm: true, hasCPU: true, hasTime: true},
	} {
		h := parseHeader([]byte(line))
		same := string(h.comm) == string(want.comm) && h.pid == want.pid && h.tid == want.tid && h.cpu == want.cpu && h.time == want.time && h.period == want.period &&
			string(h.event) == string(want.event) && string(h.rest) == string(want.rest) && h.hasComm == want.hasComm && h.hasPID == want.hasPID && h.hasTID == want.hasTID &&
			h.hasCPU == want.hasCPU && h.hasTime == want.hasTime && h.hasPeriod == want.hasPeriod
		if !same {
			t.Errorf("%q: %+v (comm %q, event %q, rest %q)", line, h, h.comm, h.event, h.rest)
		}
	}
}
