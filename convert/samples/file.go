package samples

import (
	"context"
	"errors"
	"slices"

	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Options say what a recording is to be completed with, and what is asked of it.
type Options struct {
	// JITCode returns what a jitdump says, in the order of time; nil for nobody
	// who reads it. It is asked where times of dumps are those of the recording.
	JITCode func(timeline.JITDump) []timeline.JITCode

	// KernelSymbols says that the kernel's symbols are at hand: they are looked up
	// also where the recording does not say that there is a kernel.
	KernelSymbols bool
	// GuestModules are the modules of the kernel of a virtual machine that was recorded: from where
	// to where they are, with File as perf calls them ("[ext4]").
	GuestModules []stacks.Mapping

	// SampleTimes asks for File.First and Last, which costs a decoding of all samples.
	SampleTimes bool
}

// File is a recording in a file, of which the state of all processes is known.
type File struct {
	Timeline  *timeline.Timeline // complete
	Truncated error              // where and why the recording ended before its end; else nil

	// Samples is how many samples each event has, by its index, as far as that is known
	// before all are decoded: it is 0 only where there is none.
	Samples []uint64
	// First and Last are the times of samples, where Options.SampleTimes asks for them;
	// 0 where samples have none.
	First, Last uint64

	// Order is told while Each runs. To be set before.
	Order Order

	reader   *perfdata.Reader
	sideband *sideband
	sampler  *sampler
	offCPU   *offCPUTimes // of a recording that has them
	sample   abi.Sample
}

// cancelEvery is how many records are read between two looks at the context.
const cancelEvery = 1 << 16

// Scan reads a recording up to its samples: the headers of all records, and what of them
// is side-band. The Reader must be one that is Rewindable. A recording that ends early,
// or with garbage, is not an error: see File.Truncated.
func Scan(ctx context.Context, r *perfdata.Reader, opts Options) (*File, error) {
	tl := timeline.New(timeline.Options{})
	tl.AssumeGuest()
	f := &File{
		Timeline: tl, reader: r,
		sideband: &sideband{tl: tl, events: r.Events, byPlace: byPlace(r.Events)},
	}
	known := len(r.Events.Events)
	f.Samples = make([]uint64, known)
	if r.TraceOffCPU() {
		f.offCPU = &offCPUTimes{}
	}
	records := r.Records()
	if sideband, n := r.Sideband(); sideband != nil && !opts.SampleTimes && f.offCPU == nil {
		records, f.Samples = sideband, slices.Clone(n)
		for _, n := range f.Samples {
			f.sideband.counts[abi.RecordSample] += n
		}
	}
	var place uint64
	for rec, err := range records {
		if err != nil {
			var t *perfdata.TruncatedError
			if !errors.As(err, &t) {
				return nil, err
			}
			f.Truncated = err
			break
		}
		if place%cancelEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if n := len(r.Events.Events); n != known { // pipe mode
			f.moreEvents(known)
			known = n
		}
		if f.offCPU != nil {
			f.offCPU.note(r.Events, &f.sample, rec, place)
		}
		switch rec.Type {
		case abi.RecordSample:
			f.sideband.counts[abi.RecordSample]++
			f.countSample(rec.Misc, rec.Payload)
			if opts.SampleTimes {
				f.timeSample(rec.Misc, rec.Payload)
			}
		default:
			f.sideband.take(rec.Header, rec.Payload, place)
		}
		place++
	}
	if _, hi, _ := r.DataRange(); f.Truncated == nil && r.Truncated {
		f.Truncated = &perfdata.TruncatedError{Offset: hi, Reason: "the recording was not closed, or the file was cut between two records"}
	}
	f.complete(opts)
	return f, nil
}

// complete ends the timeline and makes ready for the samples.
func (f *File) complete(opts Options) {
	if f.offCPU != nil {
		f.offCPU.measure()
	}
	if opts.JITCode != nil && monotonic(f.reader.Events) {
		for _, d := range f.Timeline.JITDumps() {
			f.Timeline.AddJITCode(d, opts.JITCode(d))
		}
	}
	f.Timeline.AddGuestModules(opts.GuestModules)
	f.Timeline.Freeze()
	if opts.KernelSymbols {
		f.Timeline.AssumeKernel()
	}
	f.sampler = &sampler{tl: f.Timeline, events: f.reader.Events, byPlace: f.sideband.byPlace, sideband: f.sideband}
	if f.reader.Simpleperf() {
		f.sampler.simpleperf = &simpleperf{offCPU: f.offCPU}
	}
}

// moreEvents takes up events that the records brought, behind the known ones.
func (f *File) moreEvents(known int) {
	events := f.reader.Events
	f.sideband.byPlace = byPlace(events)
	for i := known; i < len(events.Events); i++ {
		var n uint64
		if f.sideband.counts[abi.RecordSample] > 0 {
			n = 1 // may have some that came before it
		}
		f.Samples = append(f.Samples, n)
	}
}

// countSample counts a sample for its event; one with the values of counters, for
// the events of those.
func (f *File) countSample(misc abi.Misc, payload []byte) {
	events := f.reader.Events
	e := events.OfSample(payload)
	if e == nil {
		return
	}
	f.Samples[e.Index]++
	if e.Attr.SampleType&abi.SampleRead == 0 || e.Layout.DecodeSample(&f.sample, misc, payload) != nil {
		return
	}
	f.Samples[e.Index]--
	for _, v := range f.sample.Reads {
		ev := e
		if e.Attr.ReadFormat&abi.ReadID != 0 {
			ev = events.OfID(v.ID)
		}
		if ev != nil && v.Value > 0 {
			f.Samples[ev.Index]++
		}
	}
}

// timeSample takes up the time of a sample.
func (f *File) timeSample(misc abi.Misc, payload []byte) {
	if e := f.reader.Events.OfSample(payload); e == nil || e.Layout.DecodeSample(&f.sample, misc, payload) != nil {
		return
	}
	if t := timeOf(&f.sample); t != 0 {
		f.First, f.Last = earlier(f.First, t), max(f.Last, t)
	}
}

// Each calls emit with each sample, in the order of the file. It is to be called once.
func (f *File) Each(ctx context.Context, emit func(*Sample)) error {
	f.sampler.emit, f.sampler.order = emit, f.Order
	defer f.sampler.releaseAll()
	var place uint64
	for rec, err := range f.reader.Records() {
		if err != nil {
			if t := (*perfdata.TruncatedError)(nil); errors.As(err, &t) {
				return nil // Scan has told
			}
			return err
		}
		f.sampler.take(rec.Header, rec.Payload, place)
		if place++; place%cancelEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// MeasuresTime reports whether the periods of an event's samples are times in ns, off the CPU
// or in a function, which the event does not say.
func (f *File) MeasuresTime(e *perfdata.Event) bool {
	return MeasuresOffCPU(e) || f.reader.Duration(e) || f.sampler.simpleperf.measuresTime(f.reader.Events, e)
}

// Stats is what was seen; complete after Each.
func (f *File) Stats() Stats { return statsOf(f.sideband, f.sampler) }

// monotonic reports whether the times of a recording are those of
// CLOCK_MONOTONIC, which dumps have.
func monotonic(events *perfdata.EventSet) bool {
	const clockMonotonic = 1
	for _, e := range events.Events {
		if e.Attr.Flags&abi.FlagUseClockID == 0 || e.Attr.ClockID != clockMonotonic {
			return false
		}
	}
	return len(events.Events) > 0
}

// earlier is the lesser of two times, of which 0 is none.
func earlier(a, b uint64) uint64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
