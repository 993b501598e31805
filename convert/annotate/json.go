package annotate

import (
	"encoding/json"
	"io"

	"kprof/convert/stacks"
)

// jsonAnnotation is what WriteJSON writes; values are in Unit.
type jsonAnnotation struct {
	Event     string        `json:"event"`
	Type      string        `json:"type"`
	Unit      string        `json:"unit"`
	Total     int64         `json:"total"`
	Functions []jsonListing `json:"functions"`
	Missing   []jsonMissing `json:"missing"`
	Inlined   []jsonInlined `json:"inlined"`
}

type jsonListing struct {
	Function     string    `json:"function"`
	File         string    `json:"file"`
	Recorded     string    `json:"recorded_file"`
	BuildID      string    `json:"build_id,omitempty"`
	Self         int64     `json:"self"`
	Cum          int64     `json:"cum"`
	Instructions []jsonRow `json:"instructions"`
}

type jsonRow struct {
	Offset   uint64 `json:"offset"`
	Text     string `json:"text"`
	Self     int64  `json:"self"`
	Cum      int64  `json:"cum"`
	Source   string `json:"source,omitempty"`
	Line     int    `json:"line,omitempty"`
	Function string `json:"function,omitempty"` // the innermost inlined one
}

type jsonMissing struct {
	Recorded string `json:"recorded_file"`
	Self     int64  `json:"self"`
	Cum      int64  `json:"cum"`
	Reason   string `json:"reason"`
}

type jsonInlined struct {
	Into string `json:"into"`
	Self int64  `json:"self"`
	Cum  int64  `json:"cum"`
}

// WriteJSON writes the annotation as one JSON object: the event, the total, functions with
// their instructions, of what there is no code, and what the function was inlined into.
func (a *Annotation) WriteJSON(w io.Writer, s *stacks.Set, o Options) error {
	e := s.Events[o.Event]
	out := jsonAnnotation{
		Event: e.ColumnName(o.Column), Type: e.Values[o.Column].Type, Unit: e.Values[o.Column].Unit, Total: a.Total,
		Functions: []jsonListing{}, Missing: []jsonMissing{}, Inlined: []jsonInlined{},
	}
	for _, l := range a.Listings {
		j := jsonListing{Function: l.Function, File: l.Path, Recorded: l.Mapping.File, BuildID: l.Mapping.BuildID, Self: l.Self, Cum: l.Cum, Instructions: []jsonRow{}}
		for _, r := range l.Rows {
			j.Instructions = append(j.Instructions, jsonRow{r.Off, r.Text, r.Self, r.Cum, r.Source.File, r.Source.Line, r.Source.Function})
		}
		out.Functions = append(out.Functions, j)
	}
	for _, m := range a.Missing {
		out.Missing = append(out.Missing, jsonMissing{m.Mapping.File, m.Self, m.Cum, m.Err.Error()})
	}
	for _, x := range a.Inlined {
		out.Inlined = append(out.Inlined, jsonInlined(x))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
