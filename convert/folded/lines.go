package folded

import (
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"kprof/convert/stacks"
)

// chunkLines is how many lines are made at a time, some 30 KB: each goroutine has
// two buffers for as many.
const chunkLines = 64

// writeLines writes lines in their order. Worker i makes chunks i, i+w, …; the
// caller's goroutine takes turns with them to write. When a write fails, the
// workers are stopped.
func writeLines(w io.Writer, s *stacks.Set, f *frames, lines []line) error {
	n := max(min(workers(), len(lines)/chunkLines), 1)
	text := joinNames(f.names.All)
	made := make([]chan []byte, n)
	free := make([]chan []byte, n)
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		made[i], free[i] = make(chan []byte), make(chan []byte, 2)
		free[i] <- nil
		free[i] <- nil
		running.Go(func() {
			var names []uint32
			var touched uint32
			for at := i * chunkLines; at < len(lines); at += n * chunkLines {
				b := (<-free[i])[:0]
				for batch := range slices.Chunk(lines[at:min(at+chunkLines, len(lines))], 16) {
					touched += touch(s, batch)
					for _, l := range batch {
						names = f.appendNames(names[:0], s, l.stack, l.labels)
						b = text.appendLine(b, names, l.weight)
					}
				}
				runtime.KeepAlive(touched)
				select {
				case made[i] <- b:
				case <-stop:
					return
				}
			}
		})
	}
	defer running.Wait()
	for c := 0; c*chunkLines < len(lines); c++ {
		b := <-made[c%n]
		if _, err := w.Write(b); err != nil {
			close(stop)
			return err
		}
		free[c%n] <- b
	}
	return nil
}

// touch reads a little of each line's stack. Sorted lines lie scattered over the
// Set, and here the CPU can wait for many at once, which it does not while a line
// is made.
func touch(s *stacks.Set, lines []line) (sum uint32) {
	for i := range lines {
		if stack := s.Stack(lines[i].stack); len(stack) > 0 {
			sum += stack[0] + stack[len(stack)/2] + stack[len(stack)-1]
		}
	}
	return sum
}

// joined is all names, each with a ";" behind.
type joined struct {
	text []byte
	at   []uint32 // name i is text[at[i]:at[i+1]]
}

func joinNames(names []string) *joined {
	j := &joined{at: make([]uint32, 1, len(names)+1)}
	for _, n := range names {
		j.text = append(append(j.text, n...), ';')
		j.at = append(j.at, uint32(len(j.text)))
	}
	return j
}

func (j *joined) appendLine(b []byte, names []uint32, weight int64) []byte {
	for _, id := range names {
		b = append(b, j.text[j.at[id]:j.at[id+1]]...)
	}
	b[len(b)-1] = ' '
	b = strconv.AppendInt(b, weight, 10)
	return append(b, '\n')
}
