//go:build !portable

package main

import (
	"strconv"

	"kprof/perfevent"
)

// frequency is the value of a flag that is one of samples, in Hz; max is the highest that the kernel
// takes, as in perf record.
type frequency uint64

func (f *frequency) String() string {
	if *f == 0 {
		return "" // for help, which shows other defaults
	}
	return strconv.FormatUint(uint64(*f), 10)
}

func (f *frequency) Set(s string) error {
	if s == "max" {
		*f = frequency(perfevent.MaxSampleRate())
		return nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errFrequency
	}
	*f = frequency(n)
	return nil
}

func (*frequency) Type() string { return "Hz" }

const errFrequency = wrongValue("wants a number of samples a second, or max")
