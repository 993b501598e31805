package main

import (
	"fmt"
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
		if ns := math.Round(seconds * 1e9); ns > 0 && ns < math.MaxInt64 {
			*d = duration(ns)
			return nil
		}
		return errDuration
	}
	v, err := time.ParseDuration(s)
	if err != nil || v <= 0 {
		return errDuration
	}
	*d = duration(v)
	return nil
}

func (*duration) Type() string { return "time" }

const errDuration = wrongValue("wants a time above 0, such as 10, 10s, 500ms or 2m")

// rows is the value of a flag that is a number of rows, 0 for all.
type rows int

// rowsOf makes n, with its default, such a value.
func rowsOf(n *int, byDefault int) *rows {
	*n = byDefault
	return (*rows)(n)
}

func (r *rows) String() string { return strconv.Itoa(int(*r)) }

func (r *rows) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return wrongValue("wants a number of rows, 0 for all")
	}
	*r = rows(n)
	return nil
}

func (*rows) Type() string { return "int" }

// wrongOperations says what is wrong with a number of operations, empty for nothing: costs are divided
// by it.
func wrongOperations(n float64) string {
	if n >= 1e-9 && n <= 1e18 {
		return ""
	}
	return fmt.Sprintf("%v is no number of operations: wants 1e-9 to 1e18", n)
}

// wrongValue says what the value of a flag has to be.
type wrongValue string

func (w wrongValue) Error() string { return string(w) }
