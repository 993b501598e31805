//go:build linux

package synth_test

import (
	"fmt"
	"os"

	"kprof/perfevent/abi"
	"kprof/record/synth"
)

// A process is announced as if it had just been started.
func Example() {
	opts := synth.Options{PIDs: []int{os.Getpid()}}
	threads := map[int32]bool{}
	err := synth.Describe(opts, func(rec []byte) error {
		h := abi.DecodeHeader(rec, abi.LittleEndian)
		if h.Type == abi.RecordFork {
			layout := abi.NewLayout(&opts.Attr, abi.LittleEndian)
			task, err := layout.DecodeTask(rec[abi.HeaderSize:])
			threads[task.TID] = task.PID == int32(os.Getpid())
			return err
		}
		return nil
	})
	fmt.Println("this thread is described:", threads[int32(os.Getpid())], err)
	// Output: this thread is described: true <nil>
}
