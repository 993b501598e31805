// Package naming gives the locations of a stacks.Set their functions, files and lines.
//
//	Recorded   from the symbols that a recording brings along
//	Name       from a symbolize.Symbolizer, for all others: mappings in parallel, then
//	           again what interrupts interrupted, as their frames are no callers
package naming

import (
	"context"
	"errors"

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
	Inlined   error // why inlined functions that were asked for may be missing where lines are known
}

// Given is what is wrong with a file of the kernel that the options of symbolize name, nil for nothing:
// a *symbolize.VmlinuxError or *symbolize.KallsymsError. Who gave a file is not to get names without it.
func Given(missing []Missing) error {
	for _, m := range missing {
		var vmlinux *symbolize.VmlinuxError
		var symbols *symbolize.KallsymsError
		switch {
		case errors.As(m.Err, &vmlinux):
			return vmlinux
		case errors.As(m.Err, &symbols):
			return symbols
		}
	}
	return nil
}

// Name fills in the functions of all locations of a Set that have none, each once. It
// returns what could not be named and why, by mapping.
//
// The only error is that of ctx. When that ends, Name returns within a second or two,
// whatever the Symbolizer waits for, with all names that were found by then in the Set.
//
// Frames below the entry of an interrupt become the instructions that were
// interrupted, where callers are looked up by the byte before a return address.
//
// Mappings are resolved in parallel; functions are added in the order of
// locations, so the Set does not depend on that.
func Name(ctx context.Context, set *stacks.Set, sym *symbolize.Symbolizer) ([]Missing, error) {
	missing, err := NameFrom(ctx, set, 0, sym)
	if err == nil && !set.CallersExact {
		err = nameInterrupted(ctx, set, sym)
	}
	return missing, err
}

// NameFrom is Name for the locations from the given one on, for those who add locations
// and have them named in turns. Frames below the entry of an interrupt stay callers.
func NameFrom(ctx context.Context, set *stacks.Set, from int, sym *symbolize.Symbolizer) ([]Missing, error) {
	return name(ctx, set, from, sym, func(int32) bool { return true })
}

// NameOf is NameFrom for all locations of the mappings that of selects by their indices.
func NameOf(ctx context.Context, set *stacks.Set, sym *symbolize.Symbolizer, of func(mapping int32) bool) ([]Missing, error) {
	return name(ctx, set, 0, sym, of)
}

func name(ctx context.Context, set *stacks.Set, from int, sym *symbolize.Symbolizer, of func(mapping int32) bool) ([]Missing, error) {
	done := func(loc int) bool { // or not to be named
		m := set.Locations[loc].Mapping
		return m < 0 || !of(m) || len(set.Lines(uint32(loc))) > 0
	}
	jobs := namingJobs(set, from, done)
	errs := resolveJobs(ctx, jobs, sym)

	var missing []Missing
	jobOf := make([]*namingJob, len(set.Mappings))
	for i := range jobs {
		jobOf[jobs[i].index] = &jobs[i]
	}
	lines := 0
	for i := range jobs {
		if !errors.Is(errs[i], errUnfinished) {
			lines += len(jobs[i].lines)
		}
	}
	set.GrowLines(lines)
	unnamed := make([]int, len(set.Mappings))
	for loc := from; loc < len(set.Locations); loc++ {
		if done(loc) {
			continue
		}
		m := set.Locations[loc].Mapping
		if j := jobOf[m]; errors.Is(errs[j.index], errUnfinished) || !j.name(set, uint32(loc)) {
			unnamed[m]++
		}
	}
	for i, err := range errs {
		m := jobs[i].index
		if errors.Is(err, errUnfinished) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			if unnamed[m] == 0 {
				continue
			}
			err = context.Cause(ctx)
		}
		missed := Missing{Mapping: m, Locations: len(jobs[i].addrs), Unnamed: unnamed[m], Err: err}
		var e *symbolize.Error
		if errors.As(err, &e) {
			missed.Debug, missed.Inlined = e.Debug, e.Inlined
			if e.Err == nil {
				missed.Err = nil
			}
		}
		if err != nil || unnamed[m] > 0 {
			missing = append(missing, missed)
		}
	}
	return missing, ctx.Err()
}

// namingJob is a mapping with the addresses to name in it, in the order of
// locations, and then what they are called.
type namingJob struct {
	index   int
	mapping stacks.Mapping
	addrs   []uint64
	at      int // in addrs, of the next location

	functions []stacks.Function // each once
	ids       []uint32          // of functions in the Set, plus 1; 0 before the first location
	lines     []stacks.Line     // of all addresses, with indices into functions
	ends      []int             // of each address's lines
}

// gather takes over names, and gathers equal ones: few are worth a look at the
// tables of the Set, which only one goroutine may use.
func (j *namingJob) gather(frames [][]symbolize.Frame) {
	j.ends = make([]int, len(frames))
	j.lines = make([]stacks.Line, 0, len(frames))
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

// namingJobs are those of the mappings, for the locations from the given one on that are not done.
func namingJobs(set *stacks.Set, from int, done func(loc int) bool) []namingJob {
	jobs := make([]namingJob, len(set.Mappings))
	for i := range set.Mappings {
		jobs[i] = namingJob{index: i, mapping: set.Mappings[i]}
	}
	count := make([]int, len(jobs))
	for i := from; i < len(set.Locations); i++ {
		if !done(i) {
			count[set.Locations[i].Mapping]++
		}
	}
	for i := from; i < len(set.Locations); i++ {
		if done(i) {
			continue
		}
		l := &set.Locations[i]
		j := &jobs[l.Mapping]
		if j.addrs == nil {
			j.addrs = make([]uint64, 0, count[l.Mapping])
		}
		addr := l.Addr
		if l.Kind.ByOffset() {
			m := &set.Mappings[l.Mapping]
			addr = addr - m.Start + m.Offset
		}
		j.addrs = append(j.addrs, addr)
	}
	return jobs
}
