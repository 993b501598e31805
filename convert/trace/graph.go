package trace

import "slices"

// graph makes calls of what function_graph recorded: functions that begin and end, each at
// a depth, in a task.
type graph struct {
	tasks  map[int64]*callStack
	losses map[int32]uint64 // by CPU
	all    uint64           // losses of any CPU
	path   []uint64

	unended uint64 // functions whose end is not there
	unbegun uint64 // ends of functions whose begin is not there
	lost    uint64 // functions whose end may be among what was lost
}

// callStack is the functions that a task is in, the outermost first.
type callStack struct {
	base   int // functions around them that are not known
	frames []callFrame
	ended  []interval // functions that were called by frames, each frame's from its calls on

	cpu         int32 // on which the task was last
	losses, all uint64
}

type callFrame struct {
	fn    uint64 // 0 where its begin is not there
	args  string // what it was called with, where that is told
	begin uint64 // time, 0 where it is not known
	calls int    // index in ended of the first function that it called
	inner uint64 // ns in those that it called before that one
}

// interval is when a function ran. The times are of the clock of the ends of functions, 0
// where these are not told.
type interval struct{ begin, took uint64 }

// ending is the end of a function.
type ending struct {
	fn         uint64 // 0 where the end does not tell it
	now        uint64 // time of the record, 0 where there is none
	timed      bool   // it tells how long the function took
	took       uint64 // that
	begin, end uint64 // and when, 0 where it does not tell
}

// call is a function that has ended.
type call struct {
	path       []uint64 // the function and its callers, as far as they are known; valid until the next call
	args       string
	took, self uint64 // ns; self without the functions that it called
}

// Bounds. The kernel has 50 functions of a task at once (FTRACE_RETFUNC_DEPTH).
const (
	maxDepth      = 1 << 8
	maxDepthGap   = 8 // functions whose begin is missing, for those around them to be known
	maxGraphTasks = 1 << 18
	maxGraphCPUs  = 1 << 14
	maxEnded      = 64 // functions called by one, which are kept singly
)

// taskKey tells tasks apart: those of the idle task by CPU, as one runs on each, and so
// what is not known.
func taskKey(tid, cpu int32) int64 {
	if tid <= 0 {
		return -1 - int64(cpu)
	}
	return int64(tid)
}

// task returns what a task is in, which is on a CPU.
func (g *graph) task(key int64, cpu int32) *callStack {
	t := g.tasks[key]
	if t == nil {
		if g.tasks == nil || len(g.tasks) >= maxGraphTasks {
			g.unended += g.open()
			g.tasks = map[int64]*callStack{}
		}
		t = &callStack{cpu: cpu, losses: g.losses[cpu], all: g.all}
		g.tasks[key] = t
	}
	if g.all != t.all || cpu != t.cpu {
		losses := g.losses[cpu]
		if t.cpu != cpu && g.all != t.all || losses != t.losses && t.cpu == cpu {
			g.lost += t.known()
			clear(t.frames)
			t.ended = t.ended[:0]
		}
		t.cpu, t.losses, t.all = cpu, losses, g.all
	}
	return t
}

// known is how many functions are known that it is in.
func (t *callStack) known() (n uint64) {
	for i := range t.frames {
		if t.frames[i].fn != 0 {
			n++
		}
	}
	return n
}

// lose notes that events of a CPU were lost: what tasks that were on it are in is not known
// from here on, nor of those that have come from another since.
func (g *graph) lose(cpu int32) {
	if g.losses == nil {
		g.losses = map[int32]uint64{}
	}
	if len(g.losses) < maxGraphCPUs || g.losses[cpu] > 0 {
		g.losses[cpu]++
	}
	g.all++
}

// move gives what one task is in to another, of which it turns out that it was that.
func (g *graph) move(from, to int64) {
	if t := g.tasks[from]; t != nil && from != to && g.tasks[to] == nil {
		delete(g.tasks, from)
		g.tasks[to] = t
	}
}

// depth is how many functions a task is in.
func (g *graph) depth(key int64, cpu int32) int {
	t := g.task(key, cpu)
	return min(t.base+len(t.frames), maxDepth)
}

// enter notes that a function begins. What is as deep or deeper has ended unseen.
//
// The kernel notes first that a task is in a function, and then writes the begin (kernel/trace/
// fgraph.c, function_graph_enter). So of an interrupt between the two, functions are already
// deeper than this one: they were called by it.
func (g *graph) enter(key int64, cpu int32, depth int, f callFrame) {
	t := g.task(key, cpu)
	depth = min(max(depth, 0), maxDepth)
	if i := depth - t.base; i >= 0 && i < len(t.frames) && t.frames[i].fn == 0 {
		g.cut(t, depth+1)
		f.calls, f.inner = t.frames[i].calls, t.frames[i].inner
		t.frames[i] = f
		return
	}
	g.cut(t, depth)
	f.calls = len(t.ended)
	t.frames = append(t.frames, f)
}

// cut makes a task to be in so many functions: it leaves what is deeper, and what is
// missing is not known.
func (g *graph) cut(t *callStack, depth int) {
	n := depth - t.base
	if n < 0 || n > len(t.frames)+maxDepthGap {
		g.unended += t.known()
		t.base, t.frames, t.ended = depth, t.frames[:0], t.ended[:0]
		return
	}
	var inner uint64 // of those that are left
	for i := n; i < len(t.frames); i++ {
		inner += t.frames[i].inner
		if t.frames[i].fn != 0 {
			g.unended++
		}
	}
	t.frames = t.frames[:min(n, len(t.frames))]
	if k := len(t.frames); k > 0 {
		t.frames[k-1].inner += inner
	}
	t.bound()
	for len(t.frames) < n {
		t.frames = append(t.frames, callFrame{calls: len(t.ended)})
	}
}

// leave notes that a function ends, having taken as long as its end tells, else since it began.
func (g *graph) leave(key int64, cpu int32, depth int, e ending) (c call) {
	t := g.task(key, cpu)
	depth = min(max(depth, 0), maxDepth)
	if t.base+len(t.frames) <= depth {
		g.cut(t, depth)
		t.frames = append(t.frames, callFrame{calls: len(t.ended)})
	} else if g.cut(t, depth+1); len(t.frames) == 0 {
		t.base, t.frames = depth, append(t.frames, callFrame{calls: len(t.ended)})
	}
	f := &t.frames[len(t.frames)-1]
	if e.fn != 0 && e.fn != f.fn {
		if f.fn != 0 {
			g.unended++
		}
		f.fn, f.args, f.begin = e.fn, "", 0
		g.unbegun++ // but that of another
	} else if f.fn == 0 {
		g.unbegun++
	}
	switch {
	case e.timed:
		c.took = e.took
	case f.begin != 0 && e.now > f.begin:
		c.took = e.now - f.begin
	}
	inner := f.inner + t.end(f.calls, interval{e.begin, c.took}, e.end)
	c.args, c.self = f.args, c.took-min(c.took, inner)
	c.path = append(g.path[:0], f.fn)
	for i := len(t.frames) - 2; i >= 0; i-- {
		if a := t.frames[i].fn; a != 0 {
			c.path = append(c.path, a)
		}
	}
	g.path = c.path
	t.frames = t.frames[:len(t.frames)-1]
	t.bound()
	return c
}

// end puts a function in the place of those that it called, the ones from calls on, and
// returns how long these took.
//
// The kernel takes the time of the end first, and writes it afterwards; until then the task is
// in the function (__ftrace_return_to_handler). An interrupt between the two is as deep as what
// the function called, and no part of its time: then it is one of its caller's.
func (t *callStack) end(calls int, f interval, end uint64) (inner uint64) {
	after := len(t.ended)
	if end != 0 {
		for after > calls && t.ended[after-1].begin >= end {
			after--
		}
	}
	for _, called := range t.ended[calls:after] {
		inner += called.took
	}
	t.ended = slices.Replace(t.ended, calls, after, f)
	return inner
}

// bound adds up the earlier ones of many functions that one called.
func (t *callStack) bound() {
	n := len(t.frames)
	if n == 0 {
		t.ended = t.ended[:0]
		return
	}
	f := &t.frames[n-1]
	if len(t.ended)-f.calls < maxEnded {
		return
	}
	half := f.calls + maxEnded/2
	for _, called := range t.ended[f.calls:half] {
		f.inner += called.took
	}
	t.ended = slices.Delete(t.ended, f.calls, half)
}

// open is how many functions have not ended.
func (g *graph) open() (n uint64) {
	for _, t := range g.tasks {
		n += t.known()
	}
	return n
}
