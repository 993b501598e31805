package rig

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// emulated skips t unless it runs in the guest whose PMU counts instructions. QEMU's
// does where each instruction takes the same time (-icount shift=N: 2^N ns), and its
// cycles are those of a clock of 1 GHz: there are 2^N to an instruction (target/arm/
// helper.c, instructions_supported and cycles_get_count). rig.sh says shift=1, and one
// CPU: instructions are counted of all that there are.
func emulated(t *testing.T) {
	t.Helper()
	if os.Getenv("KPROF_PMU") != "emulated" {
		t.Skip("runs in the guest of testdata/rig.sh whose PMU counts instructions")
	}
	guest(t)
}

const (
	rounds          = 20_000_000
	perRound        = 2 // sub, cbnz
	around          = 4 // movz and movk before, movz and svc behind
	instructions    = rounds*perRound + around
	cyclesEach      = 2
	loopInstruction = "instructions:u"
)

// loop makes a program of as many instructions: an ELF file of one segment, its header
// and the program's, and this.
//
//	      movz x0, #(rounds & 0xffff)
//	      movk x0, #(rounds >> 16), lsl #16
//	loop: sub  x0, x0, #1
//	      cbnz x0, loop
//	      movz x8, #93 // exit
//	      svc  #0
func loop(t *testing.T) string {
	t.Helper()
	code := []uint32{
		0xd2800000 | rounds&0xffff<<5, 0xf2a00000 | rounds>>16<<5,
		0xd1000400, 0xb5ffffe0, 0xd2800ba8, 0xd4000001,
	}
	const base, header = 0x400000, 64 + 56
	size := uint64(header + 4*len(code))
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = le.AppendUint16(b, 2)   // ET_EXEC
	b = le.AppendUint16(b, 183) // EM_AARCH64
	b = le.AppendUint32(b, 1)
	for _, v := range []uint64{base + header, 64, 0} { // entry, program headers, no sections
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, 1, 64, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	b = le.AppendUint32(b, 1) // PT_LOAD
	b = le.AppendUint32(b, 5) // readable, executable
	for _, v := range []uint64{0, base, base, size, size, 0x10000} {
		b = le.AppendUint64(b, v)
	}
	for _, c := range code {
		b = le.AppendUint32(b, c)
	}
	file := filepath.Join(t.TempDir(), "loop")
	if err := os.WriteFile(file, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// row is a line of kprof stat --json.
type row struct {
	Event, Status string
	Value, Metric float64
	MetricUnit    string `json:"metric_unit"`
	Enabled       int64  `json:"enabled_ns"`
	Running       int64  `json:"running_ns"`
	Runs          []float64
}

// stat has kprof count a command.
func stat(t *testing.T, args ...string) []row {
	t.Helper()
	file := filepath.Join(t.TempDir(), "counts")
	if code, _, said := kprof(t, append([]string{"stat", "--json", "-o", file}, args...)...); code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, said)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(b)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Status != "counted" {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, r)
	}
	return rows
}

// within reports whether got is want, but for a part of it.
func within(part, got, want float64) bool { return math.Abs(got-want) <= part*want }

// TestPMUInstructions counts a program of which each instruction is known.
func TestPMUInstructions(t *testing.T) {
	emulated(t)
	program := loop(t)
	for _, args := range [][]string{{"-e", "{cycles:u,instructions:u}"}, {"-e", "cycles:u,instructions:u"}, {"-r", "3", "-e", "{cycles,instructions}:u"}} {
		rows := stat(t, append(args, "--", program)...)
		if len(rows) != 2 || rows[1].Event != loopInstruction {
			t.Fatalf("%q: %+v", args, rows)
		}
		cycles, counted := rows[0], rows[1]
		for _, v := range append(counted.Runs, counted.Value) {
			if !within(0.01, v, instructions) {
				t.Errorf("%q: %.0f instructions, want %d", args, v, instructions)
			}
		}
		if !within(0.01, cycles.Value, cyclesEach*instructions) {
			t.Errorf("%q: %.0f cycles, want %d", args, cycles.Value, cyclesEach*instructions)
		}
		if !within(0.01, counted.Metric, 1./cyclesEach) || !strings.Contains(counted.MetricUnit, "insn per cycle") {
			t.Errorf("%q: %v %s, want %v insn per cycle", args, counted.Metric, counted.MetricUnit, 1./cyclesEach)
		}
		if counted.Running != counted.Enabled {
			t.Errorf("%q: two events took turns: %+v", args, counted)
		}
		t.Logf("%q: %.0f instructions, %.0f cycles", args, counted.Value, cycles.Value)
	}
	// With all that the machine does beside, whose programs are small.
	rows := stat(t, "-a", "-e", loopInstruction, "--", program)
	if v := rows[0].Value; v < instructions || v > 2*instructions {
		t.Errorf("on the whole machine %.0f instructions, the program alone has %d", v, instructions)
	}
}

// TestPMUMultiplexing: of more events than the PMU has counters each counts a part of
// the time, and what is made of it is the number that one alone counts.
func TestPMUMultiplexing(t *testing.T) {
	emulated(t)
	program := loop(t)
	args := []string{"-e", strings.Repeat(loopInstruction+",", 19) + loopInstruction, "--", program}
	rows := stat(t, args...)
	if len(rows) != 20 {
		t.Fatalf("%+v", rows)
	}
	var running, enabled int64
	for i, r := range rows {
		if r.Running >= r.Enabled || r.Running == 0 {
			t.Errorf("event %d ran %d of %d ns", i, r.Running, r.Enabled)
		}
		if !within(0.1, r.Value, instructions) {
			t.Errorf("event %d: %.0f instructions, want %d", i, r.Value, instructions)
		}
		running, enabled = running+r.Running, enabled+r.Enabled
	}
	// Six counters take any event (ARMv8 PMU of QEMU: PMCR_NUM_COUNTERS, target/arm/
	// internals.h).
	if part := float64(running) / float64(enabled); part < 5./20 || part > 6.5/20 {
		t.Errorf("events ran %.0f%% of the time", part*100)
	}
	// In words: the part of the time behind each count.
	code, out, said := kprof(t, append([]string{"stat"}, args...)...)
	if n := len(regexp.MustCompile(`(?m)instructions:u .*\([23][0-9]\.[0-9]+ ?%\)`).FindAllString(out+said, -1)); code != 0 || n != 20 {
		t.Errorf("exit code %d, %d of 20 events with a part of the time:\n%s%s", code, n, out, said)
	}
}

// TestPMUSamples: as many samples as periods in what is counted. The interrupt of one may
// come once the program has entered the kernel: the weight is summed over the stacks.
func TestPMUSamples(t *testing.T) {
	emulated(t)
	const period = 3_000_000 // 6 ms: the rate of samples is limited in a guest
	file := filepath.Join(t.TempDir(), "loop.data")
	if code, _, said := kprof(t, "record", "-q", "-e", loopInstruction, "-c", strconv.Itoa(period), "-o", file, "--", loop(t)); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	code, folded, said := kprof(t, "convert", file, "-f", "folded", "-o", "-")
	weight := 0
	for line := range strings.Lines(folded) {
		stack, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(value)
		if err != nil || !strings.HasPrefix(stack, "loop;[loop]") {
			t.Errorf("%q: not a stack of the program", line)
		}
		weight += n
	}
	if code != 0 || weight != instructions/period*period {
		t.Errorf("exit code %d, want %d samples of %d instructions in\n%s%s", code, instructions/period, period, folded, said)
	}
}
