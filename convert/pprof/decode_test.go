package pprof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

	"kprof/convert/stacks"
	"kprof/perfevent/memtest"
)

// whole reads a profile as google/pprof does, all of it in memory.
func whole(data []byte) (*stacks.Set, error) {
	p, err := parseData(data)
	if err != nil {
		return nil, err
	}
	return fromProfile(p)
}

// exact is all of a Set as text, in its order.
func exact(s *stacks.Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n%d %d %v %d %q %q %q %q\n%+v\n%+v\n%+v\n", s.Comments, s.TimeNanos, s.DurationNanos, s.PeriodType,
		s.Period, s.DefaultType, s.DocURL, s.DropFrames, s.KeepFrames, s.Events, s.Mappings, s.Functions)
	for i, l := range s.Locations {
		fmt.Fprintf(&b, "%d %#x %d %+v\n", l.Mapping, l.Addr, l.Kind, s.Lines(uint32(i)))
	}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		fmt.Fprintf(&b, "%d %v %v %+v\n", x.Event, x.Values, s.Stack(x.Stack), s.Labels(x.Labels))
	}
	return b.String()
}

// TestReadsLikeGoogle reads profiles of all sorts in two passes and with google/pprof.
func TestReadsLikeGoogle(t *testing.T) {
	for name, data := range profiles(t) {
		t.Run(name, func(t *testing.T) { sameRead(t, data, true) })
	}
}

// sameRead compares the two ways to read a profile. Both refuse it or neither does;
// if strict, it is none that the first way leaves to the second.
func sameRead(t *testing.T, data []byte, strict bool) {
	t.Helper()
	want, wantErr := whole(data)
	if strict {
		if _, err := (input{data: data}).read(); err != nil || wantErr != nil {
			t.Fatalf("%v; google/pprof: %v", err, wantErr)
		}
	}
	got, err := (ReadOptions{}).read(bytes.NewReader(data), maxSize)
	if sum := (*stacks.TooLargeSumError)(nil); errors.As(err, &sum) { // google/pprof lets them wrap
		return
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%v; google/pprof: %v", err, wantErr)
	}
	if err != nil {
		if strings.TrimPrefix(err.Error(), "read pprof: ") != wantErr.Error() {
			t.Errorf("%v; google/pprof: %v", err, wantErr)
		}
		return
	}
	if w, g := exact(want), exact(got); w != g {
		t.Error(cmp.Diff(w, g))
	}
}

// profiles are good ones, some compressed and some not.
func profiles(t *testing.T) map[string][]byte {
	all := map[string][]byte{"handmade": handmade()}
	for seed := range uint64(40) {
		events := oneEvent()
		if seed%2 == 1 {
			events = threeEvents()
		}
		all[fmt.Sprint("random", seed)] = encode(t, randomSet(seed, events))
	}
	var cpu, heap, goroutines bytes.Buffer
	if err := pprof.StartCPUProfile(&cpu); err == nil {
		pprof.Do(t.Context(), pprof.Labels("a", "x", "b", ""), func(context.Context) {
			for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
				sink += burn(1e5)
			}
		})
		pprof.StopCPUProfile()
		all["cpu"] = cpu.Bytes()
	}
	runtime.GC()
	for name, b := range map[string]*bytes.Buffer{"heap": &heap, "goroutine": &goroutines} {
		if err := pprof.Lookup(name).WriteTo(b, 0); err != nil {
			t.Fatal(err)
		}
		all[name] = b.Bytes()
		// As `go tool pprof -proto` writes it: all numbers again.
		p, err := profile.ParseData(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := p.Compact().Write(&again); err != nil {
			t.Fatal(err)
		}
		all[name+" -proto"] = again.Bytes()
	}
	return all
}

// handmade is a profile of what the format allows and nobody writes: fields in any
// order and of no known number, some twice, numbers that are not packed, ids that
// are sparse, labels without a value, and the bits of a number past its 64th.
func handmade() []byte {
	var b, m, l buf
	text := func(s string) { b.bytes(profileStringTable, []byte(s)) }
	text("")
	valueType := func(field int, typ, unit int64) {
		m.int(valueTypeType, typ)
		m.int(valueTypeUnit, unit)
		b.bytes(field, m)
		m = nil
	}
	label := func(fields ...int64) { // key, str, num, unit
		for i, v := range fields {
			l.int(i+1, v)
		}
		m.bytes(sampleLabel, l)
		l = nil
	}
	sample := func() {
		b.bytes(profileSample, m)
		m = nil
	}
	m.bytes(sampleValue, []byte{3, 4})
	m.uint(sampleLocation, 1<<40)
	m.uint(sampleLocation, 2)
	label(1, 2) // a: x
	label(3, 0, 7, 4)
	label(3, 0, 8)
	label(3, 0, 0, 3) // its unit is its key
	label(1, 6)       // an empty string that is not the first
	label(1)
	label(1, 5)
	sample()
	valueType(profileSampleType, 1, 2)
	valueType(profilePeriodType, 1, 2)
	text("a")
	text("x")
	text("bytes")
	for range 3 { // the same sample again, in a row
		m.uint(sampleValue, 1)
		m.bytes(sampleValue, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
		m.bytes(sampleLocation, []byte{2, 2})
		m.bytes(sampleLocation, nil)
		m.bytes(9, []byte("no field"))
		m = append(m, 0, 0, 9<<3|wire64, 1, 2, 3, 4, 5, 6, 7, 8, 10<<3|wire32, 1, 2, 3, 4)
		sample()
	}
	m.uint(sampleValue, 1)
	m.uint(sampleValue, 1)
	sample()
	b = append(b, 0, 0, 0xa1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0xad, 1, 1, 2, 3, 4) // fields 20 and 21, as above
	b.bytes(22, []byte("no field"))
	for _, id := range []uint64{2, 1 << 40, 3} {
		m.uint(locationAddress, 0x1000+id)
		m.uint(locationMapping, 1<<33)
		for _, line := range []int64{1, 2} {
			l.uint(lineFunction, 1<<35)
			l.int(lineLine, line)
			m.bytes(locationLine, l)
			l = nil
		}
		m.uint(locationID, 5)
		m.uint(locationID, id) // the last counts
		b.bytes(profileLocation, m)
		m = nil
	}
	m.uint(functionID, 1<<35)
	m.int(functionName, 2)
	b.bytes(profileFunction, m)
	m = nil
	m.uint(mappingID, 1<<33)
	m.int(mappingFile, 1)
	b.bytes(profileMapping, m)
	text("unit")
	text("y")
	text("")
	b.bytes(profileComment, []byte{1, 2, 0x83, 0})
	b.uint(profileComment, 4)
	valueType(profileSampleType, 3, 3)
	b.uint(profilePeriod, 4)
	b.uint(profilePeriod, 5)
	b.uint(profileTimeNanos, 5)
	return b
}

func pack(b []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b)
	w.Close()
	return z.Bytes()
}

// TestMutated reads a hundred damaged profiles, or as many as KPROF_MUTATIONS says.
// Whatever was done to them, what google/pprof makes of them is what they are.
func TestMutated(t *testing.T) {
	n := 100
	if s := os.Getenv("KPROF_MUTATIONS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	var good [][]byte
	for seed := range uint64(10) {
		var raw bytes.Buffer
		if err := stream(randomSet(seed, [][]stacks.Event{oneEvent(), threeEvents()}[seed%2]), &raw); err != nil {
			t.Fatal(err)
		}
		good = append(good, raw.Bytes())
	}
	good = append(good, handmade())
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		data := mutate(r, good[r.IntN(len(good))], good[r.IntN(len(good))])
		if r.IntN(2) == 0 {
			data = pack(data)
		}
		start := time.Now()
		done := memtest.Within(t, 64<<20+1000*len(data))
		_, err := Read(bytes.NewReader(data))
		done()
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("mutation %d took %v", i, took)
		}
		sameRead(t, data, false)
		if t.Failed() {
			t.Fatalf("mutation %d of %d bytes (%v): %q", i, len(data), err, data)
		}
	}
}

// TestTooLargeSum: sums of a column do not begin anew from below zero, whichever samples they are of.
func TestTooLargeSum(t *testing.T) {
	for _, x := range []struct {
		name   string
		values []int64
		column string // that is too large
	}{
		{"as large as can be", []int64{math.MaxInt64 - 1, 1}, ""},
		{"one more", []int64{math.MaxInt64 - 1, 1, 1}, "space"},
		{"of both signs", []int64{math.MaxInt64, -1}, "space"},
		{"the least value", []int64{math.MinInt64}, "space"},
	} {
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "objects", Unit: "count"}, {Type: "space", Unit: "bytes"}}}
		for i, v := range x.values {
			id := uint64(i/2 + 1) // the first two have one stack
			if i%2 == 0 {
				f := &profile.Function{ID: id, Name: fmt.Sprint("f", id)}
				p.Function = append(p.Function, f)
				p.Location = append(p.Location, &profile.Location{ID: id, Line: []profile.Line{{Function: f}}})
			}
			p.Sample = append(p.Sample, &profile.Sample{Location: p.Location[i/2 : i/2+1], Value: []int64{1, v}})
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		_, err := Read(&b)
		sum := (*stacks.TooLargeSumError)(nil)
		errors.As(err, &sum)
		if (err == nil) != (x.column == "") || sum != nil && sum.Column != x.column || err != nil && sum == nil {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// mutate damages a profile in a few places: bits, numbers that count or measure,
// pieces left out, doubled, or from another profile.
func mutate(r *rand.Rand, data, other []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + r.IntN(4) {
		at := r.IntN(len(data) + 1)
		n := min(1+r.IntN(1<<r.IntN(8)), len(data)-at)
		piece := bytes.Clone(data[at : at+n])
		switch r.IntN(6) {
		case 0:
			if at < len(data) {
				data[at] ^= 1 << r.IntN(8)
			}
		case 1:
			if at < len(data) {
				data[at] = []byte{0, 1, 2, 0x7f, 0x80, 0xff}[r.IntN(6)]
			}
		case 2:
			data = append(data[:at], data[at+n:]...)
		case 3:
			data = append(data[:at:at], append(bytes.Repeat(piece, 1+r.IntN(5)), data[at:]...)...)
		case 4:
			from := r.IntN(len(other))
			data = append(data[:at:at], append(bytes.Clone(other[from:min(from+n, len(other))]), data[at:]...)...)
		case 5:
			data = data[:at]
		}
		if len(data) == 0 {
			return other[:1]
		}
	}
	return data
}
