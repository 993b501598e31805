package convert

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"sync"

	"kprof/convert/stacks"
	"kprof/symbolize"
)

// Missing says why locations of a mapping have no name, or not as good ones as
// they might.
type Missing struct {
	Mapping   int // index in the Set
	Locations int // how many of the mapping
	Unnamed   int // how many of these have no name
	Err       error
	Debug     error // why lines and inlined functions that were asked for are missing
}

// Name fills in the functions of all locations of a Set that have none, each once. It
// returns what could not be named and why, by mapping. The only error is that of
// ctx.
//
// Mappings are resolved in parallel; functions are added in the order of
// locations, so the Set does not depend on that.
func Name(ctx context.Context, set *stacks.Set, sym *symbolize.Symbolizer) ([]Missing, error) {
	jobs := namingJobs(set)
	errs := make([]error, len(jobs))
	each(len(jobs), func(i int) { errs[i] = jobs[i].resolve(ctx, sym) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	var missing []Missing
	jobOf := make([]*namingJob, len(set.Mappings))
	for i := range jobs {
		jobOf[jobs[i].index] = &jobs[i]
	}
	unnamed := make([]int, len(set.Mappings))
	for loc := range set.Locations {
		m := set.Locations[loc].Mapping
		if m < 0 || len(set.Lines(uint32(loc))) > 0 {
			continue
		}
		if !jobOf[m].name(set, uint32(loc)) {
			unnamed[m]++
		}
	}
	for i, err := range errs {
		m := jobs[i].index
		missed := Missing{Mapping: m, Locations: len(jobs[i].addrs), Unnamed: unnamed[m], Err: err}
		var e *symbolize.Error
		if errors.As(err, &e) {
			missed.Debug = e.Debug
			if e.Err == nil {
				missed.Err = nil
			}
		}
		if err != nil || unnamed[m] > 0 {
			missing = append(missing, missed)
		}
	}
	return missing, nil
}

// namingJob is a mapping with the addresses to name in it, in the order of
// locations, and then what they are called.
type namingJob struct {
	index   int
	mapping symbolize.Mapping
	addrs   []uint64
	at      int // in addrs, of the next location

	functions []stacks.Function // each once
	ids       []uint32          // of functions in the Set, plus 1; 0 before the first location
	lines     []stacks.Line     // of all addresses, with indices into functions
	ends      []int             // of each address's lines
}

// resolve finds out the names, and gathers equal ones: few are worth a look at the
// tables of the Set, which only one goroutine may use.
func (j *namingJob) resolve(ctx context.Context, sym *symbolize.Symbolizer) error {
	if len(j.addrs) == 0 {
		return nil
	}
	frames, err := sym.Resolve(ctx, j.mapping, j.addrs)
	j.ends = make([]int, len(frames))
	known := map[stacks.Function]uint32{}
	var last stacks.Function // many an address is in the function of the one before
	var lastID uint32
	for i, fs := range frames {
		for _, f := range fs {
			fn := stacks.Function{Name: f.Name, SystemName: f.SystemName, File: f.File, StartLine: int64(f.StartLine)}
			if fn != last || len(j.functions) == 0 {
				id, ok := known[fn]
				if !ok {
					id = uint32(len(j.functions))
					known[fn] = id
					j.functions = append(j.functions, fn)
				}
				last, lastID = fn, id
			}
			j.lines = append(j.lines, stacks.Line{Function: lastID, Line: int64(f.Line)})
		}
		j.ends[i] = len(j.lines)
	}
	j.ids = make([]uint32, len(j.functions))
	return err
}

// name gives the next location its lines, and returns false if it has none.
func (j *namingJob) name(set *stacks.Set, loc uint32) bool {
	from := 0
	if j.at > 0 {
		from = j.ends[j.at-1]
	}
	lines := j.lines[from:j.ends[j.at]]
	j.at++
	if len(lines) == 0 {
		return false
	}
	m := &set.Mappings[j.index]
	m.HasFunctions = true
	m.HasInlineFrames = m.HasInlineFrames || len(lines) > 1
	for i := range lines {
		l := &lines[i]
		f := &j.functions[l.Function]
		m.HasFilenames = m.HasFilenames || f.File != ""
		m.HasLineNumbers = m.HasLineNumbers || l.Line != 0
		id := &j.ids[l.Function]
		if *id == 0 {
			*id = set.AddFunction(*f) + 1
		}
		l.Function = *id - 1
	}
	set.SetLines(loc, lines...)
	return true
}

func namingJobs(set *stacks.Set) []namingJob {
	jobs := make([]namingJob, len(set.Mappings))
	for i := range set.Mappings {
		jobs[i] = namingJob{index: i, mapping: symbolMapping(&set.Mappings[i])}
	}
	for i := range set.Locations {
		l := &set.Locations[i]
		if l.Mapping < 0 || len(set.Lines(uint32(i))) > 0 {
			continue
		}
		j := &jobs[l.Mapping]
		addr := l.Addr
		if byOffset(l.Kind) {
			m := &set.Mappings[l.Mapping]
			addr = addr - m.Start + m.Offset
		}
		j.addrs = append(j.addrs, addr)
	}
	return jobs
}

// deletedSuffix is what the kernel appends to the path of a file that has no
// name any more (fs/d_path.c).
const deletedSuffix = " (deleted)"

func symbolMapping(m *stacks.Mapping) symbolize.Mapping {
	path, deleted := strings.CutSuffix(m.File, deletedSuffix)
	kinds := map[stacks.Kind]symbolize.Kind{
		stacks.KindKernel: symbolize.Kernel,
		stacks.KindModule: symbolize.Module,
		stacks.KindBPF:    symbolize.Symbol,
		stacks.KindUser:   symbolize.User,
		stacks.KindVDSO:   symbolize.VDSO,
		stacks.KindAnon:   symbolize.Anon,
	}
	return symbolize.Mapping{
		Kind: kinds[m.Kind], Path: path + m.Symbol, BuildID: m.BuildID, PID: m.PID,
		Start: m.Start, Limit: m.Limit, Offset: m.Offset, Deleted: deleted,
	}
}

// each calls f for 0 to n-1 on as many goroutines as there are CPUs.
func each(n int, f func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// Reason says in a few words why names are missing, without the name of the
// mapping.
func (m *Missing) Reason() string {
	var e *symbolize.Error
	switch {
	case m.Err == nil:
		return "no symbol covers the address"
	case !errors.As(m.Err, &e):
		return m.Err.Error()
	case errors.Is(e, symbolize.ErrForeign) && (e.Mapping.Kind == symbolize.Kernel || e.Mapping.Kind == symbolize.Module):
		return e.Err.Error() + ", and does not bring its symbols: use --vmlinux or --kallsyms"
	case !errors.Is(e, fs.ErrNotExist):
		return e.Err.Error()
	}
	switch e.Mapping.Kind {
	case symbolize.Anon:
		return "code made at run time, and the process left no perf-PID.map and no jitdump"
	case symbolize.Kernel, symbolize.Module:
		return e.Err.Error()
	}
	return "the file is not there any more"
}
