// Mergebench makes profiles of many machines that run the same programs, each of some of the
// stacks that there are, has kprof merge add them up in one order and in another, and prints
// what that took. It fails if a sum is not that of the values that it wrote.
//
//	mergebench [-n PROFILES] [-stacks STACKS] KPROF DIRECTORY
//
// DIRECTORY is made, and removed: by default it takes a gigabyte.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"
)

const (
	pool      = 40_000 // different stacks of all machines
	functions = 6000
	files     = 12
)

// fleet is the stacks that machines have, by numbers of functions, leaf first.
type fleet struct {
	r      *rand.Rand
	stacks [][]int
	totals []int64 // of the stacks, of all machines
}

func newFleet() *fleet {
	f := &fleet{r: rand.New(rand.NewPCG(1, 2)), totals: make([]int64, pool)}
	for range pool {
		stack := []int{f.r.IntN(functions)}
		for range 8 + f.r.IntN(30) { // those of callers are fewer
			stack = append(stack, f.r.IntN(functions/(len(stack)+1)+1))
		}
		f.stacks = append(f.stacks, stack)
	}
	return f
}

// machine is the profile of one, of so many stacks. Programs lie where the kernel happened
// to map them.
func (f *fleet) machine(name string, stacks int) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
		TimeNanos: 1.7e18, DurationNanos: 1e10, Comments: []string{"host: " + name},
	}
	for i := range files {
		start := 0x7f0000000000 + f.r.Uint64N(1<<30)<<12
		p.Mapping = append(p.Mapping, &profile.Mapping{
			ID: uint64(i + 1), Start: start, Limit: start + functions<<8, File: fmt.Sprintf("/usr/lib/lib%d.so", i),
			BuildID: fmt.Sprintf("%040x", i), HasFunctions: true,
		})
	}
	at := make([]*profile.Location, functions)
	location := func(n int) *profile.Location {
		if at[n] == nil {
			fn := &profile.Function{ID: uint64(len(p.Function) + 1), Name: fmt.Sprintf("library_function_%d", n)}
			p.Function = append(p.Function, fn)
			m := p.Mapping[n%files]
			at[n] = &profile.Location{ID: fn.ID, Mapping: m, Address: m.Start + uint64(n)<<8, Line: []profile.Line{{Function: fn}}}
			p.Location = append(p.Location, at[n])
		}
		return at[n]
	}
	for range stacks {
		i := f.r.IntN(pool)
		n := 1 + f.r.Int64N(50)
		s := &profile.Sample{Value: []int64{n, n * 1e7}, Label: map[string][]string{"comm": {fmt.Sprintf("program%d", i%5)}}, NumLabel: map[string][]int64{"pid": {1 + f.r.Int64N(1000)}}}
		for _, fn := range f.stacks[i] {
			s.Location = append(s.Location, location(fn))
		}
		p.Sample = append(p.Sample, s)
		f.totals[i] += n
	}
	return p
}

// check compares folded lines with what was written.
func (f *fleet) check(folded []byte) error {
	want := map[string]int64{}
	for i, stack := range f.stacks {
		if f.totals[i] == 0 {
			continue
		}
		line := fmt.Sprintf("program%d", i%5)
		for j := len(stack) - 1; j >= 0; j-- {
			line += fmt.Sprintf(";library_function_%d", stack[j])
		}
		want[line] += f.totals[i] * 1e7
	}
	for s := bufio.NewScanner(bytes.NewReader(folded)); s.Scan(); {
		space := strings.LastIndexByte(s.Text(), ' ')
		stack := s.Text()[:max(0, space)]
		if fmt.Sprint(want[stack]) != s.Text()[space+1:] {
			return fmt.Errorf("%.200s, want %d", s.Text(), want[stack])
		}
		delete(want, stack)
	}
	if len(want) > 0 {
		return fmt.Errorf("%d stacks are not in the sum", len(want))
	}
	return nil
}

// merge has kprof add up, and prints what it took.
func merge(kprof, dir string, names []string) ([]byte, error) {
	var out bytes.Buffer
	cmd := exec.Command(kprof, "merge", "-q", "--files-from", "-", "-f", "folded")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, os.Stderr
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n"))
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	// A child begins in this process's memory, so that it is that at least.
	ru := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Printf("kprof merge %6.1fs CPU %6.1fs %5d MB, %d lines\n",
		cpu.Seconds(), time.Since(start).Seconds(), ru.Maxrss>>10, bytes.Count(out.Bytes(), []byte("\n")))
	return out.Bytes(), nil
}

func run(kprof, dir string, n, stacks int) (err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f := newFleet()
	var names []string
	var size int64
	for i := range n {
		var b bytes.Buffer
		name := fmt.Sprintf("web%05d.pb.gz", i)
		if err := f.machine(name, stacks).Write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			return err
		}
		names = append(names, name)
		size += int64(b.Len())
	}
	fmt.Printf("%d profiles of %d kB\n", n, size/int64(n)/1000)
	for range 2 {
		folded, err := merge(kprof, dir, names)
		if err == nil {
			err = f.check(folded)
		}
		if err != nil {
			return err
		}
		f.r.Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return nil
}

func main() {
	n := flag.Int("n", 10_000, "how many `profiles`")
	stacks := flag.Int("stacks", 1400, "how many `stacks` each has, which makes some 100 kB")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: mergebench [-n PROFILES] [-stacks STACKS] KPROF DIRECTORY")
		os.Exit(2)
	}
	kprof, err := filepath.Abs(flag.Arg(0))
	if err == nil {
		err = run(kprof, flag.Arg(1), *n, *stacks)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mergebench:", err)
		os.Exit(1)
	}
}
