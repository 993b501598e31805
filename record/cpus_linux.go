package record

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const onlinePath = "/sys/devices/system/cpu/online"

// onlineCPUs lists the CPUs that are online.
func onlineCPUs() ([]int, error) {
	b, err := os.ReadFile(onlinePath)
	if err != nil {
		return nil, fmt.Errorf("list CPUs: %w", err)
	}
	cpus, err := ParseCPUs(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("list CPUs: %s: %w", onlinePath, err)
	}
	return cpus, nil
}

// maxCPU bounds lists of CPUs; kernels end at CONFIG_NR_CPUS, 8192 at most.
const maxCPU = 1 << 16

// ParseCPUs reads a list as the kernel writes it, "0-3,8": sorted, each once.
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for span := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(span, "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || lo < 0 || hi < lo || hi >= maxCPU {
			return nil, fmt.Errorf("CPUs %q: wants numbers and ranges, such as 0-3,8", list)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// pickCPUs returns the CPUs to record on: those wanted, or all that are online.
func pickCPUs(want []int) ([]int, error) {
	online, err := onlineCPUs()
	if err != nil || len(want) == 0 {
		return online, err
	}
	want = slices.Clone(want)
	slices.Sort(want)
	for _, cpu := range want {
		if !slices.Contains(online, cpu) {
			return nil, fmt.Errorf("cpu %d is not online (%s are)", cpu, formatCPUs(online))
		}
	}
	return slices.Compact(want), nil
}

// formatCPUs is the inverse of ParseCPUs for sorted lists.
func formatCPUs(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

// hotplug watches CPUs come and go while a session runs: counters of a CPU that
// went stay dead when it is back (kernel/events/core.c,
// perf_event_exit_cpu_context), and a CPU that comes has none.
type hotplug struct {
	f     *os.File
	last  string
	buf   [1024]byte
	cpus  []int // recorded
	tasks bool  // by counters of tasks: these follow their task to another CPU and back
	notes []string
}

func watchCPUs(recorded []int, tasks bool) (*hotplug, error) {
	f, err := os.Open(onlinePath)
	if err != nil {
		return nil, fmt.Errorf("watch CPUs: %w", err)
	}
	h := &hotplug{f: f, cpus: recorded, tasks: tasks}
	return h, h.look()
}

// look reads the list again; a change becomes notes. It allocates only then.
func (h *hotplug) look() error {
	n, err := h.f.ReadAt(h.buf[:], 0)
	if n == 0 {
		return fmt.Errorf("watch CPUs: %w", err)
	}
	now := h.buf[:n]
	if string(now) == h.last {
		return nil
	}
	before, after := h.last, strings.TrimSpace(string(now))
	h.last = string(now)
	online, err := ParseCPUs(after)
	if err != nil {
		return fmt.Errorf("watch CPUs: %w", err)
	}
	if before == "" {
		return nil
	}
	was, err := ParseCPUs(strings.TrimSpace(before))
	if err != nil {
		return fmt.Errorf("watch CPUs: %w", err)
	}
	for _, cpu := range h.cpus {
		if !h.tasks && slices.Contains(was, cpu) && !slices.Contains(online, cpu) {
			h.notes = append(h.notes, fmt.Sprintf("cpu %d went offline: it is recorded up to there", cpu))
		}
	}
	for _, cpu := range online {
		if !slices.Contains(was, cpu) && !(h.tasks && slices.Contains(h.cpus, cpu)) {
			h.notes = append(h.notes, fmt.Sprintf("cpu %d came online while recording: it is not recorded from there on", cpu))
		}
	}
	return nil
}

func (h *hotplug) close() error { return h.f.Close() }
