package naming

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"kprof/convert/stacks"
	"kprof/symbolize"
)

// errUnfinished: a job was still running when naming was ended.
var errUnfinished = errors.New("unfinished")

// lastNames is how long jobs that run have to return what they know, when naming is
// ended. Those that wait for a file system that does not answer are left behind.
const lastNames = time.Second

// resolveJobs runs all jobs, as many at a time as there are CPUs, and returns the error
// of each. Until a job is finished, it belongs to the goroutine that runs it.
func resolveJobs(ctx context.Context, jobs []namingJob, sym *symbolize.Symbolizer) []error {
	errs := make([]error, len(jobs))
	tasks := namingTasks(jobs)
	type result struct {
		task int
		err  error
	}
	results := make(chan result, len(tasks)) // nobody waits for who listens
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(tasks) {
				return
			}
			results <- result{i, tasks[i].resolve(ctx, sym)}
		}
	}
	for _, t := range tasks {
		for _, j := range t {
			errs[j.index] = errUnfinished
		}
	}
	workers := min(len(tasks), runtime.GOMAXPROCS(0))
	ended := make(chan struct{}, workers)
	for range workers {
		go func() {
			work()
			ended <- struct{}{}
		}()
	}
	take := func(r result) {
		for _, j := range tasks[r.task] {
			errs[j.index] = r.err
		}
	}
	over := ctx.Done()
	var late <-chan time.Time
	for workers > 0 {
		select {
		case r := <-results:
			take(r)
			continue
		case <-ended:
			workers--
			continue
		case <-over:
			over, late = nil, time.After(lastNames)
			continue
		case <-late:
		}
		break
	}
	for {
		select {
		case r := <-results:
			take(r)
		default:
			return errs
		}
	}
}

// namingTask is jobs that are resolved as one: what a process tells of code that it
// made is one file for all of its memory, which is read once.
type namingTask []*namingJob

func namingTasks(jobs []namingJob) []namingTask {
	var tasks []namingTask
	ofProcess := map[int]int{} // in tasks
	for i := range jobs {
		j := &jobs[i]
		if len(j.addrs) == 0 {
			continue
		}
		if j.mapping.Kind == stacks.KindAnon {
			if t, ok := ofProcess[j.mapping.PID]; ok {
				tasks[t] = append(tasks[t], j)
				continue
			}
			ofProcess[j.mapping.PID] = len(tasks)
		}
		tasks = append(tasks, namingTask{j})
	}
	return tasks
}

func (t namingTask) resolve(ctx context.Context, sym *symbolize.Symbolizer) error {
	addrs := t[0].addrs
	for _, j := range t[1:] {
		addrs = append(slices.Clip(addrs), j.addrs...)
	}
	frames, err := sym.Resolve(ctx, t[0].mapping, addrs)
	for _, j := range t {
		j.gather(frames[:len(j.addrs)])
		frames = frames[len(j.addrs):]
	}
	return err
}
