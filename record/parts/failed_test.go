package parts_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/record/parts"
)

// roomless is parts on a disk that may be full.
type roomless struct {
	files
	full    bool
	opened  int
	written map[int32]int // samples of tasks, in parts that could be finished
	ended   int           // parts
}

type roomlessPart struct {
	to      *roomless
	failed  error
	samples map[int32]int
	names   map[int32]bool
}

func (r *roomless) open() (parts.Part, error) {
	if r.full {
		return nil, unix.ENOSPC
	}
	r.opened++
	return &roomlessPart{to: r, samples: map[int32]int{}, names: map[int32]bool{}}, nil
}

func (p *roomlessPart) Write(a, b []byte) error {
	if p.to.full {
		p.failed = unix.ENOSPC
	}
	for rec := append(append([]byte(nil), a...), b...); len(rec) > 0; rec = rec[o.Uint16(rec[6:]):] {
		switch o.Uint32(rec) {
		case 9: // PERF_RECORD_SAMPLE, of IDENTIFIER, IP, TID, TIME
			p.samples[int32(o.Uint32(rec[24:]))]++
		case 3: // PERF_RECORD_COMM
			p.names[int32(o.Uint32(rec[8:]))] = true
		}
	}
	return p.failed
}

func (p *roomlessPart) FinishRound() error { return p.failed }

func (p *roomlessPart) Finish(parts.About) error {
	p.to.mu.Lock()
	defer p.to.mu.Unlock()
	p.to.ended++
	if p.failed != nil {
		return p.failed
	}
	for pid, n := range p.samples {
		if !p.names[pid] {
			return fmt.Errorf("a part with samples of %d, and not its name", pid)
		}
		p.to.written[pid] += n
	}
	return nil
}

// TestFailed: where a part cannot be written the recording goes on, if whoever is told says so, with
// parts that know what runs, and each part is told of once; else it ends.
func TestFailed(t *testing.T) {
	for _, window := range []time.Duration{0, parts.AllTime} {
		for _, goOn := range []bool{true, false} {
			disk := &roomless{written: map[int32]int{}}
			told := 0
			failed := func(err error) error {
				if !errors.Is(err, unix.ENOSPC) {
					t.Errorf("%v is told", err)
				}
				disk.mu.Lock()
				defer disk.mu.Unlock()
				if told++; goOn {
					return nil
				}
				return err
			}
			d := parts.NewDivider(&events()[2], parts.Options{Window: window, Open: disk.open, Failed: failed})
			m := newMaker()
			err := d.Begin()
			round := func(pid int32, switchAfter bool) {
				if err == nil {
					if switchAfter {
						d.Switch()
					}
					err = errors.Join(d.Write(m.sample(sampling, 5, pid, pid, 0x1000), nil), d.FinishRound())
					d.Wait()
				}
			}
			if err == nil {
				err = d.Write(append(m.comm(1, 7, 7, "a", false), m.comm(1, 8, 8, "b", false)...), nil)
			}
			round(7, true)
			round(7, false) // the part before is whole now
			disk.full = true
			round(8, false)
			round(8, true) // nor can another be begun
			round(8, false)
			disk.full = false
			round(7, true)
			round(7, true)
			round(7, false)
			err = errors.Join(err, d.Close())
			want := map[int32]int{7: 3} // of the first part, and the last two rounds, since the disk has room
			tellings := 2               // the part that was being written, and the one that could not be begun
			if window > 0 {
				want, tellings = map[int32]int{7: 4, 8: 1}, 1 // all but the three rounds that were to be written then
			}
			if !goOn {
				if !errors.Is(err, unix.ENOSPC) {
					t.Errorf("window %v: it goes on: %v", window, err)
				}
				continue
			}
			if err != nil || told != tellings || fmt.Sprint(disk.written) != fmt.Sprint(want) || disk.ended != disk.opened {
				t.Errorf("window %v: %v, %d failures are told, want %d; there are %v samples, want %v; %d of %d parts were ended", window, err, told, tellings, disk.written, want, disk.ended, disk.opened)
			}
		}
	}
}
