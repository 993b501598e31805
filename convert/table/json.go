package table

import (
	"encoding/json"
	"io"

	"kprof/convert/stacks"
)

// jsonTop is what JSON writes. Total and the values of rows are in Unit.
type jsonTop struct {
	Event  string     `json:"event"`
	Type   string     `json:"type"` // of the value: "cpu", "samples"
	Unit   string     `json:"unit"`
	Total  int64      `json:"total"`
	By     string     `json:"by"` // "function", or what is grouped by
	Rows   []jsonCost `json:"rows"`
	Left   int        `json:"left_out"` // rows that Limit left out
	Losses []string   `json:"losses"`   // what the recording does not hold

	Durations *jsonDurations `json:"durations,omitempty"` // of all, where values are times
}

type jsonCost struct {
	Name    string `json:"name"`
	Mapping string `json:"mapping,omitempty"`
	Self    int64  `json:"self"`
	Cum     int64  `json:"cum"`

	Durations *jsonDurations `json:"durations,omitempty"` // of a group by labels, or of the calls of a function
}

// JSON writes what Top shows as one JSON object: the event, the total, and rows of name,
// mapping, self and cum. Notes are its losses. Of times there are the distributions, of all
// or of each group.
func JSON(w io.Writer, s *stacks.Set, o TopOptions) error {
	costs, total, err := Costs(s, o)
	if err != nil {
		return err
	}
	event := s.Events[o.Event]
	out := jsonTop{
		Event: event.ColumnName(o.Column), Type: event.Values[o.Column].Type, Unit: event.Values[o.Column].Unit,
		Total: total, By: o.By, Rows: []jsonCost{}, Losses: append([]string{}, o.Notes...),
	}
	if out.By == "" {
		out.By = "function"
	}
	of, calls := o.distributions(s), o.calls(s)
	if o.By == "" {
		out.Durations = toJSON(of[""])
	}
	if o.Limit > 0 && len(costs) > o.Limit {
		out.Left = len(costs) - o.Limit
		costs = costs[:o.Limit]
	}
	for _, c := range costs {
		row := jsonCost{Name: c.Name, Mapping: c.Mapping, Self: c.Self, Cum: c.Cum}
		if o.By != "" {
			row.Durations = toJSON(of[c.Name])
		} else {
			row.Durations = toJSON(calls[c.Name])
		}
		out.Rows = append(out.Rows, row)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
