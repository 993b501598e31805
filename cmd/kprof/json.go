package main

import (
	"encoding/json"
	"io"

	"kprof/convert/table"
)

// What --json writes: one document, indented, names as they are in the input.

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// reportJSON is what kprof report --json writes. Total and the values of rows are
// in Unit.
type reportJSON struct {
	Event  string       `json:"event"`
	Type   string       `json:"type"` // of the value: "cpu", "samples"
	Unit   string       `json:"unit"`
	Total  int64        `json:"total"`
	By     string       `json:"by"` // "function", or what is grouped by
	Rows   []reportCost `json:"rows"`
	Left   int          `json:"left_out"` // rows that --limit left out
	Losses []string     `json:"losses"`   // what the recording does not hold
}

type reportCost struct {
	Name    string `json:"name"`
	Mapping string `json:"mapping,omitempty"`
	Self    int64  `json:"self"`
	Cum     int64  `json:"cum"`
}

func writeReportJSON(w io.Writer, p *profile, ro table.TopOptions) error {
	costs, total, err := table.Costs(p.Set, ro)
	if err != nil {
		return err
	}
	e := p.Set.Events[ro.Event]
	out := reportJSON{
		Event: e.Name, Type: e.Values[ro.Column].Type, Unit: e.Values[ro.Column].Unit,
		Total: total, By: ro.By, Rows: []reportCost{}, Losses: append([]string{}, ro.Notes...),
	}
	if out.By == "" {
		out.By = "function"
	}
	if ro.Limit > 0 && len(costs) > ro.Limit {
		out.Left = len(costs) - ro.Limit
		costs = costs[:ro.Limit]
	}
	for _, c := range costs {
		out.Rows = append(out.Rows, reportCost{c.Name, c.Mapping, c.Self, c.Cum})
	}
	return writeJSON(w, out)
}
