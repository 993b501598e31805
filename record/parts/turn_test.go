package parts_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"kprof/perfevent/abi"
	"kprof/record/parts"
)

// retainer keeps the files of maps as symbols.BuildIDs does: those that were mapped in the last
// turns.
type retainer struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[string]int // the turn in which a file was mapped last
	turn int
}

// take takes records with maps.
func (r *retainer) take(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, file := range filesIn(b) {
		r.seen[file] = r.turn
	}
}

func (r *retainer) turnOver(running []byte) {
	const keptTurns = 2
	r.mu.Lock()
	r.turn++
	for file, turn := range r.seen {
		if turn < r.turn-keptTurns {
			delete(r.seen, file)
		}
	}
	r.mu.Unlock()
	r.take(running)
}

// filesIn are the files of the maps in records.
func filesIn(b []byte) (files []string) {
	l := newMaker().layout
	for len(b) > 0 {
		h := abi.DecodeHeader(b, o)
		if m, err := l.DecodeMmap(h, b[abi.HeaderSize:h.Size]); h.Type == abi.RecordMmap2 && err == nil {
			files = append(files, m.File)
		}
		b = b[h.Size:]
	}
	return files
}

// retainedPart is a part of which all files have to be kept until it is finished.
type retainedPart struct {
	*retainer
	records []byte
	slow    time.Duration // to finish
}

func (p *retainedPart) Write(a, b []byte) error {
	p.records = append(append(p.records, a...), b...)
	return nil
}

func (p *retainedPart) FinishRound() error { return nil }

func (p *retainedPart) Finish(parts.About) error {
	time.Sleep(p.slow)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, file := range filesIn(p.records) {
		if _, kept := p.seen[file]; !kept {
			p.t.Errorf("%s is in a part that is not finished, and was let go", file)
		}
	}
	return nil
}

// TestTurn: of a recording without end the files of programs that ended are let go, but none that
// a part has which is not finished, however long that takes.
func TestTurn(t *testing.T) {
	const rounds = 2000
	for _, x := range []struct {
		name  string
		o     parts.Options
		every int // rounds after which another part is asked for
		slow  int // of so many parts one takes longer to finish
	}{
		{"asked", parts.Options{}, 5, 20},
		{"size", parts.Options{Size: 4 << 10}, 0, 20},
		{"each is slow", parts.Options{}, 5, 1},
		{"window", parts.Options{Window: parts.AllTime, Bytes: 4 << 10}, 50, 3},
		{"window that nobody asks for", parts.Options{Window: parts.AllTime, Bytes: 4 << 10}, 0, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := &retainer{t: t, seen: map[string]int{}}
			random := rand.New(rand.NewPCG(1, 2))
			slow := rand.New(rand.NewPCG(3, 4)) // Open's, which a window has called by a goroutine of its own
			x.o.Open = func() (parts.Part, error) {
				p := &retainedPart{retainer: r}
				if slow.IntN(x.slow) == 0 {
					p.slow = 3 * time.Millisecond
				}
				return p, nil
			}
			x.o.Turn = r.turnOver
			d := parts.NewDivider(&events()[2], x.o)
			m := newMaker()
			var running []int32
			now, most := uint64(1), 0
			write := func(rec []byte) {
				r.take(rec)
				if err := d.Write(rec, nil); err != nil {
					t.Fatal(err)
				}
				now += 2e7
			}
			write(m.mmap(now, 1, 0x1000, 0x1000, 0, "init")) // stays
			for n := range int32(rounds) {
				pid := 100 + n
				write(m.fork(now, pid, 1, pid, 1))
				write(m.comm(now, pid, pid, "x", true))
				write(m.mmap(now, pid, 0x1000, 0x1000, 0, fmt.Sprint("program ", pid)))
				write(m.sample(sampling, now, pid, pid, 0x1000))
				if running = append(running, pid); len(running) > 5 {
					i := random.IntN(len(running))
					write(m.exit(now, running[i], running[i]))
					running[i] = running[5]
					running = running[:5]
				}
				if x.every > 0 && int(n)%x.every == x.every-1 {
					d.Switch()
				}
				if err := d.FinishRound(); err != nil {
					t.Fatal(err)
				}
				if n%10 == 9 && x.slow > 1 { // meanwhile what is not slow is finished
					d.Wait()
				}
				most = max(most, len(r.seen))
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if most > rounds/5 {
				t.Errorf("of %d programs %d files were kept, in %d turns", rounds, most, r.turn)
			}
			if _, kept := r.seen["init"]; !kept {
				t.Error("what runs since the beginning was let go")
			}
		})
	}
}
