// Bench compares kprof with perf, and with FlameGraph's stackcollapse-perf.pl
// where it is found in PATH or named by STACKCOLLAPSE, on this machine and on
// the same recording, and with trace-cmd on the same trace, and prints ratios.
//
//	bench [-seconds N] [-recording FILE] KPROF DIRECTORY
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"
)

// cost is what a command took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes, of the largest of its processes
}

func (c cost) String() string {
	return fmt.Sprintf("%7.2fs  %7.2fs CPU  %5d MB", c.wall.Seconds(), c.cpu.Seconds(), c.peak>>20)
}

func costOf(p *os.ProcessState, wall time.Duration) cost {
	ru := p.SysUsage().(*syscall.Rusage)
	return cost{wall, p.UserTime() + p.SystemTime(), int64(ru.Maxrss) << 10} // which are kilobytes, of 32 bits on 386
}

// run runs a shell command and returns its cost, the best of three by time.
func run(script string) (cost, error) {
	var best cost
	for i := range 3 {
		cmd := exec.Command("bash", "-o", "pipefail", "-c", script)
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			return best, fmt.Errorf("%s: %w\n%s", script, err, tail(out))
		}
		if c := costOf(cmd.ProcessState, time.Since(start)); i == 0 || c.wall < best.wall {
			best = c
		}
		if best.wall > 10*time.Second {
			break
		}
	}
	return best, nil
}

type bench struct {
	kprof, dir, data string
}

func main() {
	seconds := flag.Int("seconds", 100/runtime.NumCPU()+1, "how long to record for")
	data := flag.String("recording", "", "convert this `file` of perf record instead of recording one")
	distinct := flag.String("distinct", "", "print the number of samples in a pprof `file`, and do nothing else")
	trace := flag.String("trace", "", "record a trace in a `file`, and do nothing else")
	stacks := flag.Bool("stacks", false, "with stacks in it")
	flag.Parse()
	if *trace != "" {
		if err := recordTrace(*trace, *stacks); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *distinct != "" {
		n, err := distinctStacks(*distinct)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		fmt.Print(n)
		return
	}
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	b := bench{kprof: flag.Arg(0), dir: flag.Arg(1), data: *data}
	if err := b.all(*seconds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) all(seconds int) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if b.data == "" {
		b.data = filepath.Join(b.dir, "big.data")
		if err := b.record(seconds); err != nil {
			return err
		}
	}
	return errors.Join(b.convert(), b.recorder(), b.traces())
}

// record makes a recording of a mixed load.
func (b *bench) record(seconds int) error {
	load := filepath.Join(b.dir, "load")
	if out, err := exec.Command("go", "build", "-o", load, "./testdata/bench/load").CombinedOutput(); err != nil {
		return fmt.Errorf("build the load: %w\n%s", err, out)
	}
	fmt.Printf("recording a mixed load for %d s\n", seconds)
	mixed := fmt.Sprintf(`(timeout %[1]d sh -c 'while :; do find /usr /proc -type f 2>/dev/null | head -20000 | xargs -n 50 grep -l foo >/dev/null 2>&1; done') &
		(timeout %[1]d sh -c 'while :; do tar cf - /usr/share/doc 2>/dev/null | gzip -1 | sha256sum >/dev/null; done') &
		%[2]s %[1]d; wait`, seconds, load)
	// Perf 6.1 aborts when another recorder that asks for build ids starts
	// meanwhile (see perfdata.TestBuildIDsOfPerf).
	var err error
	for range 3 {
		var out []byte
		out, err = exec.Command("perf", "record", "-q", "-a", "-g", "-F", "10000", "-m", "1024", "-o", b.data, "--", "bash", "-c", mixed).CombinedOutput()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("perf record: %w\n%s", err, tail(out))
	}
	return err
}

// tail is the end of what a command said.
func tail(out []byte) []byte { return out[max(0, len(out)-1000):] }

func (b *bench) convert() error {
	st, err := os.Stat(b.data)
	if err != nil {
		return err
	}
	folded, pb := filepath.Join(b.dir, "out.folded"), filepath.Join(b.dir, "out.pb.gz")
	kprofFolded, err := run(fmt.Sprintf("%s convert %s -f folded -o - >%s", b.kprof, b.data, folded))
	if err != nil {
		return err
	}
	kprofPprof, err := run(fmt.Sprintf("%s convert %s -o %s", b.kprof, b.data, pb))
	if err != nil {
		return err
	}
	samples, _, err := b.counts(b.data)
	if err != nil {
		return err
	}
	// In a process of its own: what a child starts with counts as its peak,
	// which is the memory of this one (getrusage(2), ru_maxrss, and exec).
	distinct, err := exec.Command(os.Args[0], "-distinct", pb).Output()
	if err != nil {
		return fmt.Errorf("count distinct stacks: %w", err)
	}
	fmt.Printf("\n%s: %d MB, %d samples, %s distinct stacks (by address, comm and pid), %d CPUs\n", b.data, st.Size()>>20, samples, distinct, runtime.NumCPU())

	perf, err := run("perf script --no-inline -i " + b.data + " >/dev/null")
	if err != nil {
		return err
	}
	show("perf script >/dev/null", perf, "", cost{})
	if script := stackcollapse(); script != "" {
		c, err := run(fmt.Sprintf("perf script --no-inline -i %s | perl %s >%s.pl", b.data, script, folded))
		if err != nil {
			return err
		}
		show("perf script | stackcollapse-perf.pl", c, "", cost{})
		show("kprof convert -f folded", kprofFolded, "that", c)
	} else {
		fmt.Println("stackcollapse-perf.pl is not in PATH, and STACKCOLLAPSE does not name it")
	}
	show("kprof convert -f folded", kprofFolded, "perf script alone", perf)
	show("kprof convert -o x.pb.gz", kprofPprof, "perf script alone", perf)
	return nil
}

// show prints a cost and, when there is something to compare with, the ratio.
func show(what string, c cost, than string, other cost) {
	fmt.Printf("  %-36s %v", what, c)
	if than != "" {
		fmt.Printf("   %.1f times as fast as %s, %.2f times the memory",
			other.wall.Seconds()/c.wall.Seconds(), than, float64(c.peak)/float64(other.peak))
	}
	fmt.Println()
}

func stackcollapse() string {
	if s := os.Getenv("STACKCOLLAPSE"); s != "" {
		return s
	}
	s, _ := exec.LookPath("stackcollapse-perf.pl")
	return s
}

func distinctStacks(name string) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return 0, err
	}
	return len(p.Sample), nil
}

// The samples come after a line with the event's name, so that other types that
// end in SAMPLE are not taken for them.
var (
	sampleCount = regexp.MustCompile(`(?m) stats:\n +SAMPLE events: +(\d+)`)
	lostCount   = regexp.MustCompile(`lost (\d+) records?`)
)

// counts counts the samples of a recording, and what was lost.
func (b *bench) counts(data string) (samples, lost int, err error) {
	out, err := exec.Command(b.kprof, "report", "--stats", data).CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("count samples: %w\n%s", err, out)
	}
	for _, m := range sampleCount.FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return 0, 0, err
		}
		samples += n
	}
	if m := lostCount.FindSubmatch(out); m != nil {
		lost, err = strconv.Atoi(string(m[1]))
	}
	return samples, lost, err
}

// recorder has both recorders watch all system calls of the machine while two
// processes make two million each, and then list them.
func (b *bench) recorder() error {
	fmt.Println("\nraw_syscalls:sys_enter of the machine, 8 MB rings, while two dd make 2,000,000 system calls each")
	for _, graph := range []struct{ name, kprof, perf string }{
		{"without callchains", "--call-graph none", ""}, {"with callchains", "", "-g"},
	} {
		fmt.Println(" " + graph.name)
		data := filepath.Join(b.dir, "syscalls.data")
		perf, err := b.watch(data, fmt.Sprintf(
			`exec perf record -q -e raw_syscalls:sys_enter --filter "common_pid != $$" -a -m 8M %s -o %s`, graph.perf, data))
		if err != nil {
			return err
		}
		kprof, err := b.watch(data, fmt.Sprintf("exec %s record -q -e raw_syscalls:sys_enter -a -m 8M %s -o %s", b.kprof, graph.kprof, data))
		if err != nil {
			return err
		}
		fmt.Printf("  %-36s %v\n  %-36s %v   %.2f of the CPU, %.2f of the memory\n", "perf record", perf, "kprof record", kprof,
			kprof.cpu.Seconds()/perf.cpu.Seconds(), float64(kprof.peak)/float64(perf.peak))
		if err := b.list(data, graph.perf != ""); err != nil {
			return err
		}
	}
	return nil
}

// list has both list the events of a recording.
func (b *bench) list(data string, stacks bool) error {
	with := map[bool]string{true: " --stacks", false: ""}[stacks]
	perf, err := run("perf script --no-inline -i " + data + " >/dev/null")
	if err != nil {
		return err
	}
	kprof, err := run(b.kprof + " script" + with + " " + data + " >/dev/null")
	if err != nil {
		return err
	}
	show("perf script >/dev/null", perf, "", cost{})
	show("kprof script"+with+" >/dev/null", kprof, "perf script", perf)
	return nil
}

type watched struct {
	cost
	samples, lost int
	size          int64
}

func (w watched) String() string {
	return fmt.Sprintf("%6.2fs CPU  %5d MB  %8d samples  %6d lost  %5d MB written", w.cpu.Seconds(), w.peak>>20, w.samples, w.lost, w.size>>20)
}

// watch runs a recorder around the two processes.
func (b *bench) watch(data, recorder string) (w watched, err error) {
	_ = os.Remove(data)
	cmd := exec.Command("bash", "-c", recorder)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	// Ctrl-C is for this program, which passes it on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return w, err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	time.Sleep(time.Second)
	dd := "dd if=/dev/zero of=/dev/null bs=1 count=1000000 2>/dev/null"
	derr := exec.Command("bash", "-c", dd+" & "+dd+" & wait").Run()
	time.Sleep(200 * time.Millisecond)
	err = errors.Join(derr, cmd.Process.Signal(os.Interrupt))
	werr := cmd.Wait()
	w.cost = costOf(cmd.ProcessState, time.Since(start))
	st, serr := os.Stat(data)
	if err = errors.Join(err, serr); err != nil {
		return w, fmt.Errorf("%s: %w, %w\n%s", recorder, err, werr, said.String())
	}
	w.size = st.Size()
	w.samples, w.lost, err = b.counts(data)
	return w, err
}
