package bootlog

import (
	"encoding/json"
	"io"
)

type jsonCall struct {
	Kind      string  `json:"kind"`
	Name      string  `json:"name"`
	Module    string  `json:"module,omitempty"`
	Device    string  `json:"device,omitempty"`
	Driver    string  `json:"driver,omitempty"`
	Level     string  `json:"level,omitempty"`
	Subsystem string  `json:"subsystem"`
	PID       int32   `json:"pid,omitempty"`
	Start     float64 `json:"start_s"`
	Duration  float64 `json:"duration_s"`
	Self      float64 `json:"self_s"`
	Return    *int    `json:"return"` // null of what did not return
	Parent    int     `json:"parent"` // index among the calls, or -1
}

type jsonTotal struct {
	Name   string  `json:"name"`
	Calls  int     `json:"calls"`
	Failed int     `json:"failed"`
	Time   float64 `json:"time_s"`
}

type jsonGap struct {
	Start  float64 `json:"start_s"`
	End    float64 `json:"end_s"`
	After  string  `json:"after"`
	Before string  `json:"before"`
}

// JSON writes a log as one JSON object: the calls, and totals by kind, level and
// subsystem. Times are in seconds since the kernel began.
func JSON(w io.Writer, l *Log) error {
	totals := func(all []Total) []jsonTotal {
		rows := []jsonTotal{}
		for _, t := range all {
			rows = append(rows, jsonTotal{t.Name, t.Calls, t.Failed, t.Time.Seconds()})
		}
		return rows
	}
	calls := []jsonCall{}
	for i := range l.Calls {
		c := &l.Calls[i]
		row := jsonCall{
			Kind: c.Kind.String(), Name: c.Name, Module: c.Module, Device: c.Device, Driver: c.Driver, Level: c.Level, Subsystem: c.Subsystem(),
			PID: c.PID, Start: c.Start.Seconds(), Duration: c.Duration.Seconds(), Self: c.Self.Seconds(), Parent: c.Parent,
		}
		if c.Ended {
			row.Return = &c.Return
		}
		calls = append(calls, row)
	}
	gaps := []jsonGap{}
	for _, g := range l.Gaps {
		gaps = append(gaps, jsonGap{g.Start.Seconds(), g.End.Seconds(), g.After, g.Before})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Kernel     string      `json:"kernel"`
		Command    string      `json:"command"`
		First      float64     `json:"first_s"`
		Last       float64     `json:"last_s"`
		Kinds      []jsonTotal `json:"kinds"`
		Levels     []jsonTotal `json:"levels"`
		Subsystems []jsonTotal `json:"subsystems"`
		Calls      []jsonCall  `json:"calls"`
		Gaps       []jsonGap   `json:"gaps"`
	}{l.Kernel, l.Command, l.First.Seconds(), l.Last.Seconds(), totals(l.Kinds()), totals(l.Levels()), totals(l.Subsystems()), calls, gaps})
}
