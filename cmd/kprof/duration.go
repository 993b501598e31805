package main

import (
	"math"
	"strconv"
	"time"
)

// duration is the value of a flag that is a time: a number is one of seconds.
type duration time.Duration

func (d *duration) String() string {
	if *d == 0 {
		return "" // for help, which shows other defaults
	}
	return time.Duration(*d).String()
}

func (d *duration) Set(s string) error {
	if seconds, err := strconv.ParseFloat(s, 64); err == nil {
		if ns := seconds * 1e9; ns >= 0 && ns < math.MaxInt64 {
			*d = duration(math.Round(ns))
			return nil
		}
		return errDuration
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return errDuration
	}
	*d = duration(v)
	return nil
}

func (*duration) Type() string { return "time" }

const errDuration = wrongValue("wants a time such as 10, 10s, 500ms or 2m")

// wrongValue says what the value of a flag has to be.
type wrongValue string

func (w wrongValue) Error() string { return string(w) }
