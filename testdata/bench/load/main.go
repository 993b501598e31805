// Load keeps all CPUs busy for a number of seconds with stacks of which most are
// seen only once: functions that call each other at random, down to system calls
// and page faults.
//
//	load SECONDS
package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type worker struct {
	*rand.Rand
	sum  [32]byte
	buf  []byte
	zero *os.File
}

// call goes one function deeper, or does some work.
//
//go:noinline
func (w *worker) call(depth int) int {
	if depth == 0 {
		return w.work()
	}
	switch w.IntN(8) {
	case 0:
		return w.red(depth-1) + 1
	case 1:
		return w.orange(depth-1) + 1
	case 2:
		return w.yellow(depth-1) + 1
	case 3:
		return w.green(depth-1) + 1
	case 4:
		return w.blue(depth-1) + 1
	case 5:
		return w.indigo(depth-1) + 1
	case 6:
		return w.violet(depth-1) + 1
	}
	return w.call(depth-1) + 1
}

//go:noinline
func (w *worker) red(depth int) int { return w.call(depth) + w.call(depth/4) }

//go:noinline
func (w *worker) orange(depth int) int { return w.call(depth) + 2 }

//go:noinline
func (w *worker) yellow(depth int) int { return w.green(depth) + 3 }

//go:noinline
func (w *worker) green(depth int) int { return w.call(depth) + 4 }

//go:noinline
func (w *worker) blue(depth int) int { return w.indigo(depth) + 5 }

//go:noinline
func (w *worker) indigo(depth int) int { return w.call(depth) + 6 }

//go:noinline
func (w *worker) violet(depth int) int { return w.call(depth) + w.call(depth/5) }

//go:noinline
func (w *worker) work() int {
	switch w.IntN(6) {
	case 0:
		n, _ := w.zero.Read(w.buf)
		return n
	case 1:
		if m, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE); err == nil {
			for i := 0; i < len(m); i += 4096 {
				m[i] = 1
			}
			_ = syscall.Munmap(m)
		}
	case 2:
		_, _ = os.Stat("/proc/self/status")
	case 3:
		m := map[int]string{}
		for i := range 50 {
			m[i] = strconv.Itoa(i)
		}
		return len(m)
	}
	w.sum = sha256.Sum256(w.buf[:512])
	return int(w.sum[0])
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: load SECONDS")
		os.Exit(2)
	}
	seconds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(2)
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	var wg sync.WaitGroup
	for i := range 2 * runtime.NumCPU() {
		wg.Go(func() {
			zero, err := os.Open("/dev/zero")
			if err != nil {
				fmt.Fprintln(os.Stderr, "load:", err)
				os.Exit(1)
			}
			w := worker{rand.New(rand.NewPCG(uint64(i), 1)), [32]byte{}, make([]byte, 4096), zero}
			for time.Now().Before(end) {
				w.call(3 + w.IntN(12))
			}
		})
	}
	wg.Wait()
}
