package record

import "fmt"

// synthesizeBatch is how much of the synthesized records is written at once;
// the rings are drained in between.
const synthesizeBatch = 256 << 10

// synthesized are records that a Synthesizer made and that are not yet written.
type synthesized struct {
	records []byte
	ends    []int // of each record
}

func (b *synthesized) add(rec []byte) {
	b.records = append(b.records, rec...)
	b.ends = append(b.ends, len(b.records))
}

// synthesize writes what a Synthesizer makes. That runs on a thread like any other: what
// a thread before all others does for long keeps its CPU from them, and where it waits for
// another of our threads without sleeping, as to give up rights does (SetCapabilities), and
// that one is to run on the same CPU, it waits until the kernel takes the CPU from it, which is
// 0.95 s by default (sched(7), sched_rt_runtime_us).
func (r *run) synthesize(from Synthesizer) error {
	if from == nil {
		return nil
	}
	// Who has the batch is the synthesizer, but for the time between full and taken.
	var batch synthesized
	full, taken, made := make(chan struct{}), make(chan error), make(chan error, 1)
	go func() {
		made <- from(func(rec []byte) error {
			batch.add(rec)
			if len(batch.records) < synthesizeBatch {
				return nil
			}
			full <- struct{}{}
			return <-taken
		})
	}()
	for {
		select {
		case <-full:
			err := r.write(&batch)
			if err == nil {
				err = r.round()
			}
			taken <- err
		case err := <-made:
			if err != nil {
				return fmt.Errorf("synthesize the state of running processes: %w", err)
			}
			return r.write(&batch)
		}
	}
}

// write gives a batch to the sink, and empties it.
func (r *run) write(b *synthesized) error {
	if len(b.records) == 0 {
		return nil
	}
	begin := 0
	for _, end := range b.ends {
		r.tally.tee(b.records[begin:end])
		begin = end
	}
	err := r.sink.Write(b.records, nil)
	b.records, b.ends = b.records[:0], b.ends[:0]
	return err
}
