package record

import "runtime"

// thread is a goroutine with an operating system thread of its own, for what
// belongs to a thread: counters of it, its name, its CPU. The thread ends with
// it.
type thread struct {
	work chan func()
	done chan struct{}
}

func startThread() *thread {
	t := &thread{work: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(t.done)
		runtime.LockOSThread() // never unlocked: the thread is not fit for others
		for f := range t.work {
			f()
		}
	}()
	return t
}

// run runs f there and waits for it.
func (t *thread) run(f func() error) error {
	result := make(chan error)
	t.work <- func() { result <- f() }
	return <-result
}

// stop ends the thread and waits for it.
func (t *thread) stop() {
	close(t.work)
	<-t.done
}
