package parts

import (
	"slices"
	"time"
)

// What a window holds are whole rounds. When it is to be written, that takes until the
// next round, whose names and maps belong to its samples too; meanwhile it is replaced by
// an empty one, so that nothing is written twice. A round that leaves the window leaves
// its names and maps to the state.

// maxFreeRounds bounds the buffers that are kept to be filled again.
const maxFreeRounds = 4

// finishWindow takes the round that has ended into the window.
func (d *Divider) finishWindow(now time.Time, asked bool) error {
	d.round.from, d.round.at, d.ended = d.ended, now, now
	if d.dumping && d.busy.Load() == 0 { // else it goes on being what was recorded last
		d.dumping = false
		d.dump(false)
	}
	d.window = append(d.window, d.round)
	d.bytes += int64(cap(d.round.records))
	d.round = round{}
	if n := len(d.free); n > 0 {
		d.round, d.free = d.free[n-1], d.free[:n-1]
	}
	gone := 0
	for ; gone < len(d.window)-1; gone++ {
		old := now.Sub(d.window[gone].at) > d.o.Window
		if !old && d.bytes <= d.o.Bytes {
			break
		}
		d.full = !old
		d.leave(d.window[gone])
	}
	d.window = slices.Delete(d.window, 0, gone)
	d.dumping = d.dumping || asked
	if d.o.Turn != nil && d.busy.Load() == 0 && !d.window[0].from.Before(d.turned) {
		d.turned = now // what was reported before is in the state, or no longer there
		d.o.Turn(d.state.AppendTo(nil))
	}
	return nil
}

// leave gives up what a round has but the names and maps in it.
func (d *Divider) leave(r round) {
	d.bytes -= int64(cap(r.records))
	d.fold(r.sideband)
	if len(d.free) < maxFreeRounds {
		d.free = append(d.free, round{records: r.records[:0], sideband: r.sideband[:0]})
	}
}

// dump has the window written, with the names and maps of the round that is being taken.
func (d *Divider) dump(last bool) {
	j := job{state: d.state.AppendTo(nil), records: d.window}
	samples := uint64(0)
	for _, r := range d.window {
		samples += r.samples
		d.fold(r.sideband)
	}
	if n := len(d.window); n > 0 {
		j.about = d.about(samples, d.window[n-1].at.Sub(d.window[0].from), last)
		j.about.Full = d.full
	}
	j.records = append(j.records, round{records: d.round.sideband})
	d.round.sideband = append([]byte(nil), d.round.sideband...) // that one is the job's
	d.window, d.bytes, d.full = nil, 0, false
	d.hand(j)
}

// closeWindow makes the last part of what is in the window.
func (d *Divider) closeWindow() error {
	d.window = append(d.window, d.round)
	last := &d.window[len(d.window)-1]
	last.from, last.at = d.ended, time.Now()
	d.round = round{}
	for _, r := range d.window {
		if r.samples > 0 {
			d.dump(true)
			return nil
		}
	}
	return nil
}
