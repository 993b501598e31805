package procfs

import (
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// MaxCPU bounds lists of CPUs; kernels end at CONFIG_NR_CPUS, 8192 at most.
const MaxCPU = 1 << 16

// ParseCPUs reads a list as the kernel writes it, "0-3,8" (lib/bitmap.c,
// bitmap_print_to_pagebuf): sorted, each once.
func ParseCPUs(list string) ([]int, error) {
	var in [MaxCPU]bool
	count := 0
	for span := range strings.SplitSeq(list, ",") {
		lo, hi, ok := ParseRange(span, 32)
		if !ok || hi >= MaxCPU {
			return nil, fmt.Errorf("CPUs %q: wants numbers and ranges, such as 0-3,8", list)
		}
		for cpu := lo; cpu <= hi; cpu++ {
			if !in[cpu] {
				in[cpu] = true
				count++
			}
		}
	}
	cpus := make([]int, 0, count)
	for cpu := 0; len(cpus) < count; cpu++ {
		if in[cpu] {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// ParseRange reads "0-3", or "8" for 8-8: numbers of so many bits, the first not above the
// second.
func ParseRange(s string, bits int) (lo, hi uint64, ok bool) {
	first, last, isRange := strings.Cut(s, "-")
	lo, err := strconv.ParseUint(first, 10, bits)
	hi = lo
	if err == nil && isRange {
		hi, err = strconv.ParseUint(last, 10, bits)
	}
	return lo, hi, err == nil && lo <= hi
}

// FormatCPUs is the inverse of ParseCPUs for sorted lists.
func FormatCPUs(cpus []int) string {
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

// Lists of CPUs in sysfs.
const (
	CPUsOnline  = "devices/system/cpu/online"
	CPUsPresent = "devices/system/cpu/present"
	NodesOnline = "devices/system/node/online" // of memory nodes, written alike
)

// ReadCPUs reads a list of CPUs, such as CPUsOnline, from a file of sysfs.
func ReadCPUs(sysfs fs.FS, name string) ([]int, error) {
	b, err := readFile(sysfs, name)
	if err != nil {
		return nil, fmt.Errorf("list CPUs: %w", err)
	}
	cpus, err := ParseCPUs(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("list CPUs: %s: %w", name, err)
	}
	return cpus, nil
}

// maxFile bounds what is read of a small file. The kernel's are a page or two.
const maxFile = 1 << 20

// readFile reads a small file.
func readFile(from fs.FS, name string) ([]byte, error) {
	f, err := from.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	return b, nil
}
