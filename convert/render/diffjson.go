package render

import (
	"encoding/json"
	"fmt"
	"io"

	"kprof/convert/diff"
)

// diffDocument is a comparison as JSON. Costs are shares from 0 to 1, or values
// per second, operation or event; "relative" is a difference as a share of the
// base's total.
type diffDocument struct {
	Event     string         `json:"event"`
	Type      string         `json:"type"`
	Unit      string         `json:"unit"`
	Per       string         `json:"per"`
	Alpha     float64        `json:"alpha"`
	MinEffect float64        `json:"min_effect"`
	Tests     int            `json:"tests"`
	Method    string         `json:"method"`
	Base      diffSide       `json:"base"`
	New       diffSide       `json:"new"`
	Total     diffCost       `json:"total"`
	Notes     []string       `json:"notes"`
	Functions []diffFunction `json:"functions"`
	Merged    []diffMerged   `json:"merged"`
}

type diffSide struct {
	Inputs  []string `json:"inputs"`
	Samples float64  `json:"samples"`
	Value   int64    `json:"value"`
	Total   float64  `json:"total"`
}

type diffCost struct {
	Base        float64 `json:"base"`
	New         float64 `json:"new"`
	Diff        float64 `json:"diff"`
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	Relative    float64 `json:"relative"`
	P           float64 `json:"p"`
	Adjusted    float64 `json:"p_adjusted"`
	Significant bool    `json:"significant"`
	BaseValue   int64   `json:"base_value"`
	NewValue    int64   `json:"new_value"`
}

type diffFunction struct {
	Name       string        `json:"name"`
	Verdict    string        `json:"verdict"`
	Self       diffCost      `json:"self"`
	Cum        diffCost      `json:"cum"`
	With       []string      `json:"with,omitempty"`
	Within     string        `json:"within,omitempty"`
	Paths      []diffPath    `json:"paths,omitempty"`
	OtherPaths *diffPath     `json:"other_paths,omitempty"`
	Code       *diffCodeSize `json:"code,omitempty"`
}

type diffPath struct {
	Stack []string `json:"stack,omitempty"`
	Count int      `json:"count,omitempty"`
	Base  float64  `json:"base"`
	New   float64  `json:"new"`
	Diff  float64  `json:"diff"`
}

type diffCodeSize struct {
	Base *diffCodeOf `json:"base,omitempty"`
	New  *diffCodeOf `json:"new,omitempty"`
}

type diffCodeOf struct {
	Size     uint64 `json:"size"`
	Padded   bool   `json:"size_up_to_next_symbol,omitempty"`
	Searched bool   `json:"searched_debug_info"`
	Inlined  bool   `json:"inlined"`
}

type diffMerged struct {
	Name      string         `json:"name"`
	Originals []diffOriginal `json:"originals"`
}

type diffOriginal struct {
	Name  string   `json:"name"`
	Rules []string `json:"rules"`
	Base  bool     `json:"base"`
	New   bool     `json:"new"`
}

// DiffJSON writes a comparison, noise included, as one JSON object.
func DiffJSON(w io.Writer, r *diff.Result, o DiffOptions) error {
	d := diffDocument{
		Event: r.Event, Type: r.Value.Type, Unit: r.Value.Unit,
		Per:   [...]string{"share", "second", "ops", "event"}[r.Per],
		Alpha: r.Alpha, MinEffect: r.MinEffect, Tests: r.Tests, Method: r.Method,
		Base:      diffSide{r.Base.Runs, r.Base.Samples, r.Base.Value, r.Base.Total},
		New:       diffSide{r.New.Runs, r.New.Samples, r.New.Value, r.New.Total},
		Total:     jsonCost(r, &r.Total, r.Base.Value, r.New.Value),
		Notes:     append([]string{}, r.Notes...),
		Functions: make([]diffFunction, 0, len(r.Functions)),
		Merged:    make([]diffMerged, 0, len(r.Merged)),
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		x := diffFunction{
			Name: f.Name, Verdict: f.Verdict.String(), With: f.With, Within: f.Within,
			Self: jsonCost(r, &f.Self, f.BaseSelf, f.NewSelf),
			Cum:  jsonCost(r, &f.Cum, f.BaseCum, f.NewCum),
		}
		for _, p := range f.Paths {
			x.Paths = append(x.Paths, diffPath{Stack: p.Stack, Base: p.Base, New: p.New, Diff: p.New - p.Base})
		}
		if n, p := f.NumPaths-len(f.Paths), f.OtherPaths; n > 0 {
			x.OtherPaths = &diffPath{Count: n, Base: p.Base, New: p.New, Diff: p.New - p.Base}
		}
		if c, ok := o.Code[f.Name]; ok {
			x.Code = &diffCodeSize{jsonCode(c.Base), jsonCode(c.New)}
		}
		d.Functions = append(d.Functions, x)
	}
	for _, m := range r.Merged {
		x := diffMerged{Name: m.Name}
		for _, o := range m.Originals {
			rules := make([]string, 0, len(o.Rules))
			for _, rule := range o.Rules {
				rules = append(rules, rule.String())
			}
			x.Originals = append(x.Originals, diffOriginal{o.Name, rules, o.Base, o.New})
		}
		d.Merged = append(d.Merged, x)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(d); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

func jsonCost(r *diff.Result, d *diff.Difference, base, new int64) diffCost {
	return diffCost{d.Base, d.New, d.Diff, d.Low, d.High, d.Diff / r.Base.Total, d.P, d.Adjusted, d.Significant, base, new}
}

func jsonCode(c CodeOf) *diffCodeOf {
	if !c.Known {
		return nil
	}
	return &diffCodeOf{c.Size, c.Padded, c.Searched, c.Inlined}
}
