package record

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxNumbers is how many threads a filter names.
const maxNumbers = 16

// filters returns a filter for hits of threads that are recorded or have begun since, and of many
// of these numbers, that of the lowest one and above; and one for all other hits. Both are empty
// where numbers soon begin anew.
func (w *wakeups) filters() (match, rest string) {
	if w.last == 0 || w.nearEnd(w.last) {
		return "", ""
	}
	above := w.last
	var low []int
	for tid := range w.threads {
		if tid <= w.last {
			low = append(low, tid)
		}
	}
	slices.Sort(low)
	if len(low) > maxNumbers {
		above, low = low[0]-1, nil
	}
	match = fmt.Sprintf("pid > %d || common_pid > %[1]d", above)
	rest = fmt.Sprintf("pid <= %d && common_pid <= %[1]d", above)
	for _, tid := range low {
		match += fmt.Sprintf(" || pid == %d || common_pid == %[1]d", tid)
		rest += fmt.Sprintf(" && pid != %d && common_pid != %[1]d", tid)
	}
	return match, rest
}

// lastNumber is the number of the thread that was begun last in our pid namespace, 0 if it cannot
// be known.
func lastNumber() int {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	n, err := strconv.Atoi(f[len(f)-1])
	if err != nil || n <= 0 {
		return 0
	}
	return n
}

// mostNumbers is where numbers of threads end, 0 if it cannot be known.
func mostNumbers() int {
	b, _ := os.ReadFile("/proc/sys/kernel/pid_max")
	most, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return most
}

// nearEnd reports whether numbers of threads may begin anew after one, before it is looked again: there
// are not more left than are used up in some hundred milliseconds, on machines that have few numbers
// or many.
func (w *wakeups) nearEnd(last int) bool { return last > w.most-max(4096, w.most/64) }
