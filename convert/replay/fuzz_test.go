package replay

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/perfevent/spanrule"
	"kprof/symbolize/unwind"
)

// seeds are the goldens in several forms, and what a walk found hard.
func seeds(f *testing.F) {
	for i, g := range goldens(f) {
		for k, fm := range forms() {
			if fm.live || fm.stream || (i+k)%3 != 0 {
				continue
			}
			b, err := g.rec.Assemble(fm.Form)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, byte(k))
		}
	}
}

// fieldSeeds are recordings of events with fields.
func fieldSeeds(f *testing.F) {
	for _, form := range []perftext.Form{{}, {Order: abi.BigEndian}, {Pipe: true}} {
		b, err := fieldRecording([]alloc{{-5, 8, "a", 0}, {7, 64, "b", -2}, {0, 1 << 63, "x", 3}}, form.Order).Assemble(form)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, byte(8))
	}
}

// FuzzConvert converts arbitrary bytes as a file, as a stream and as what rings
// hold. Nothing panics or takes memory without end; a recording in pipe mode
// comes to the same number of samples from a file and from a pipe.
func FuzzConvert(f *testing.F) {
	fuzztest.Add(f)
	seeds(f)
	fieldSeeds(f)
	for _, form := range []perftext.Form{{}, {Order: abi.BigEndian}, {Pipe: true}} {
		b, err := switchRecording(form.Order, true).Assemble(form)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, byte(16|2))
	}
	rules := mustRules(f, "span:syscalls", "span:*", "span:raw_syscalls:sys_enter..raw_syscalls:sys_exit by id, field.common_pid nested")
	for _, form := range []perftext.Form{{}, {Order: abi.BigEndian}, {Pipe: true}} {
		b, err := syscallRecording(form.Order).recording().Assemble(form)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, byte(32))
	}
	f.Fuzz(func(t *testing.T, b []byte, flags byte) {
		if len(b) > 1<<16 {
			return
		}
		var opts Options
		if flags&1 != 0 {
			opts.Labels = LabelTID | LabelCPU
		}
		if flags&2 != 0 {
			opts.From = 10
		}
		if flags&4 != 0 {
			opts.Unwind = &Unwind{Frames: func(stacks.Mapping) *unwind.Table { return unwind.FramePointers }}
		}
		if flags&8 != 0 { // as the seeds of fieldRecording have them
			opts.Where, opts.Value = mustExpr(t, "delta >= 0 || field.comm != 'x'"), mustExpr(t, "bytes_alloc - ret")
			opts.FieldLabels = []string{"ret", "field.comm", "bytes_alloc"}
		}
		if flags&16 != 0 { // whose rows are spans, not samples
			opts = Options{Selection: Selection{OffCPU: true, WallClock: flags&4 != 0, Wakers: flags&2 != 0, Times: flags&1 != 0, FieldLabels: []string{OffCPUState}}}
		}
		if flags&32 != 0 {
			rule := rules[flags&3%3]
			opts = Options{Selection: Selection{Spans: []*spanrule.Rule{rule}, Beside: flags&64 != 0, OffCPU: flags&16 != 0, Times: true, SpanFields: true, FieldLabels: []string{"ret"}}}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		set, st, err := convertBytes(b, false, opts)
		runtime.ReadMemStats(&after)
		// Buffers and tables of fixed size, 1 MiB of each at the most, and what
		// the records and zstd's window bring.
		if n := after.TotalAlloc - before.TotalAlloc; n > 128<<20+200*uint64(len(b)) {
			t.Errorf("%d bytes allocated for %d", n, len(b))
		}
		if opts.pairs() {
			if _, st, err := convertBytes(b, true, opts); err == nil && st.OffCPU.Spans < st.OffCPU.Open {
				t.Errorf("%+v", st.OffCPU)
			}
			return
		}
		groups := readsCounters(b)
		if err == nil {
			checkTotals(t, dump(set, st, nil), st, groups)
		}
		if set, st, err := convertBytes(b, true, opts); err == nil {
			checkTotals(t, dump(set, st, nil), st, groups)
		}
		if opts.Where == nil {
			fuzzLive(t, b, opts)
		}
	})
}

// readsCounters reports whether samples of a recording may be those of several
// events, or of none.
func readsCounters(b []byte) bool {
	r, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return false
	}
	for range r.Records() { // for the events of pipe mode
		continue
	}
	return slices.ContainsFunc(r.Events.Events, func(e *perfdata.Event) bool { return e.Attr.SampleType&abi.SampleRead != 0 })
}

// checkTotals checks that each sample is accounted for.
func checkTotals(t *testing.T, text string, st Stats, groups bool) {
	t.Helper()
	var taken, counted uint64
	for _, e := range st.Samples {
		counted += e.Samples
		taken += e.Taken
	}
	if all := st.Records[abi.RecordSample]; !groups && counted+st.UnknownEvent != all || taken+st.BadSamples > counted {
		t.Errorf("%d samples, of them %d of no event, %d bad, %d taken, %d counted:\n%s",
			all, st.UnknownEvent, st.BadSamples, taken, counted, text)
	}
}

// fuzzLive takes bytes as records of an event with all that a chain can have.
func fuzzLive(t *testing.T, b []byte, opts Options) {
	events := []abi.Event{{Name: "e", Attr: abi.Attr{
		SampleType: abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCallchain, Flags: abi.FlagSampleIDAll,
	}}}
	tl := timeline.New(timeline.Options{Forget: true, Exits: 1, Areas: 1, Ancestors: 2})
	c := newCollector(tl, perfdata.NewEventSet(abi.LittleEndian, events), opts)
	for len(b) > 0 {
		n := min(len(b), 256)
		if err := c.Write(b[:n/3], b[n/3:n]); err != nil {
			t.Fatal(err)
		}
		if err := c.FinishRound(); err != nil {
			t.Fatal(err)
		}
		b = b[n:]
	}
	set, st, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	checkTotals(t, dump(set, st, nil), st, false)
}
