package convert

import (
	"errors"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"kprof/convert/replay"
)

// TimeBound is one end of a TimeRange. The zero value is none.
type TimeBound struct {
	Given    bool
	Relative bool   // Nanos counts from the first sample
	Nanos    uint64 // of the recording's clock, or since the first sample
	Percent  bool   // Share says it all
	Share    float64
}

// fixed reports whether a bound is of the recording's clock, or none at all.
func (b TimeBound) fixed() bool { return !b.Relative && !b.Percent }

// TimeRange says which samples to take by their times, both ends included. The zero
// value takes all.
type TimeRange struct{ From, To TimeBound }

// TimeReason says why samples cannot be selected by a TimeRange.
type TimeReason uint8

// Why samples cannot be selected by their times.
const (
	NoTimes            TimeReason = iota // the input is a profile, which has no times
	NoSampleTimes                        // no sample of the recording has a time
	PercentOfPipe                        // how long a recording from a pipe will be is not known
	PercentOfPipedText                   // nor of text from a pipe, or of compressed text
)

// TimeError reports that samples cannot be selected by a TimeRange.
type TimeError struct{ Reason TimeReason }

func (e *TimeError) Error() string {
	switch e.Reason {
	case NoSampleTimes:
		return "its samples have no times"
	case PercentOfPipe:
		return "times in percent need a recording in a file: it is not known how long one from a pipe will be"
	case PercentOfPipedText:
		return "times in percent need text in a file that is not compressed: it is not known how long other text will be"
	}
	return "it has no times to select by: only recordings have"
}

var (
	errTimeRange = errors.New("wants start,end, either of which may be left out: in seconds of the recording's clock, with + in seconds from the first sample, or in percent")
	errTimeOrder = errors.New("it ends before it starts")
)

// ParseTimeRange parses START,END, either of which may be left out: seconds of the
// recording's clock, "+S" for seconds from the first sample, "P%" for a share of the
// time from the first to the last; and perf's "P%-Q%", and "P%/N", the Nth of such
// parts.
func ParseTimeRange(s string) (r TimeRange, err error) {
	from, to, ok := strings.Cut(s, ",")
	if lo, hi, span := strings.Cut(s, "-"); span && strings.HasSuffix(lo, "%") {
		from, to, ok = lo, hi, strings.HasSuffix(hi, "%")
	}
	if size, nth, slice := strings.Cut(s, "%/"); slice {
		p, err1 := strconv.ParseFloat(size, 64)
		n, err2 := strconv.Atoi(nth)
		if err1 != nil || err2 != nil || !(p > 0) || n < 1 || float64(n-1)*p >= 100 {
			return r, errTimeRange
		}
		r.From = TimeBound{Given: true, Percent: true, Share: float64(n-1) * p / 100}
		r.To = TimeBound{Given: true, Percent: true, Share: min(float64(n)*p/100, 1)}
		return r, nil
	}
	if !ok || from == "" && to == "" {
		return r, errTimeRange
	}
	for _, b := range []struct {
		text string
		to   *TimeBound
	}{{from, &r.From}, {to, &r.To}} {
		if *b.to, ok = parseTimeBound(b.text); !ok {
			return r, errTimeRange
		}
	}
	a, b := r.From, r.To
	if !b.Given || a.Relative != b.Relative || a.Percent != b.Percent {
		return r, nil // or not comparable yet
	}
	if b.Nanos < a.Nanos || b.Share < a.Share {
		return r, errTimeOrder
	}
	return r, nil
}

func parseTimeBound(s string) (b TimeBound, ok bool) {
	if s == "" {
		return b, true
	}
	b.Given = true
	if p, percent := strings.CutSuffix(s, "%"); percent {
		x, err := strconv.ParseFloat(p, 64)
		b.Percent, b.Share = true, x/100
		return b, err == nil && x >= 0 && x <= 100
	}
	s, b.Relative = strings.CutPrefix(s, "+")
	ns, err := seconds(s)
	b.Nanos = ns
	return b, err == nil && s != ""
}

// apply makes the range one of a conversion.
func (r TimeRange) apply(o *replay.Options) {
	if r.From.fixed() && r.To.fixed() {
		o.From, o.To = r.From.Nanos, r.To.Nanos
		if r.To.Given && o.To == 0 {
			o.To = 1 // 0 would be no bound
		}
		return
	}
	o.Window = r.window
}

// window is a replay.Options.Window.
func (r TimeRange) window(first, last uint64) (from, to uint64, err error) {
	if first == 0 {
		return 0, 0, &TimeError{Reason: NoSampleTimes}
	}
	if last == 0 && (r.From.Percent || r.To.Percent) {
		return 0, 0, &TimeError{Reason: PercentOfPipe}
	}
	at := func(b TimeBound) uint64 {
		ns, overflow := b.Nanos, uint64(0)
		switch {
		case b.Percent:
			ns = uint64(math.Round(b.Share * float64(last-first)))
			fallthrough
		case b.Relative:
			if ns, overflow = bits.Add64(first, ns, 0); overflow != 0 {
				ns = math.MaxUint64
			}
		}
		return ns
	}
	from = at(r.From)
	if r.To.Given {
		to = max(at(r.To), 1)
	}
	return from, to, nil
}

// seconds parses a time in seconds into nanoseconds; "" is 0.
func seconds(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	whole, frac, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseUint(whole, 10, 33)
	if err != nil {
		return 0, err
	}
	if len(frac) > 9 {
		frac = frac[:9]
	}
	ns, err := strconv.ParseUint(frac+strings.Repeat("0", 9-len(frac)), 10, 64)
	return sec*1e9 + ns, err
}
