package diffreport

import (
	"encoding/json"
	"fmt"
	"io"

	"kprof/convert/diff"
)

// document is a comparison as JSON. Costs are shares from 0 to 1, or values
// per second, operation or event; "relative" is a difference as a share of the
// base's total.
type document struct {
	Event     string     `json:"event"`
	Type      string     `json:"type"`
	Unit      string     `json:"unit"`
	Per       string     `json:"per"`
	Alpha     float64    `json:"alpha"`
	MinEffect float64    `json:"min_effect"`
	Tests     int        `json:"tests"`
	Method    string     `json:"method"`
	Base      side       `json:"base"`
	New       side       `json:"new"`
	Total     cost       `json:"total"`
	Notes     []string   `json:"notes"`
	Functions []function `json:"functions"`
	Merged    []merged   `json:"merged"`
}

type side struct {
	Inputs  []string `json:"inputs"`
	Samples float64  `json:"samples"`
	Value   int64    `json:"value"`
	Total   float64  `json:"total"`
}

type cost struct {
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

type function struct {
	Name       string     `json:"name"`
	Verdict    string     `json:"verdict"`
	Self       cost       `json:"self"`
	Cum        cost       `json:"cum"`
	With       []string   `json:"with,omitempty"`
	Within     string     `json:"within,omitempty"`
	Paths      []path     `json:"paths,omitempty"`
	OtherPaths *path      `json:"other_paths,omitempty"`
	Code       *codeSizes `json:"code,omitempty"`
}

type path struct {
	Stack []string `json:"stack,omitempty"`
	Count int      `json:"count,omitempty"`
	Base  float64  `json:"base"`
	New   float64  `json:"new"`
	Diff  float64  `json:"diff"`
}

type codeSizes struct {
	Base *codeSize `json:"base,omitempty"`
	New  *codeSize `json:"new,omitempty"`
}

type codeSize struct {
	Size     uint64 `json:"size"`
	Padded   bool   `json:"size_up_to_next_symbol,omitempty"`
	Searched bool   `json:"searched_debug_info"`
	Inlined  bool   `json:"inlined"`
}

type merged struct {
	Name      string     `json:"name"`
	Originals []original `json:"originals"`
}

type original struct {
	Name  string   `json:"name"`
	Rules []string `json:"rules"`
	Base  bool     `json:"base"`
	New   bool     `json:"new"`
}

// JSON writes a comparison, noise included, as one JSON object.
func JSON(w io.Writer, r *diff.Result, o Options) error {
	d := document{
		Event: r.Event, Type: r.Value.Type, Unit: r.Value.Unit,
		Per:   [...]string{"share", "second", "ops", "event"}[r.Per],
		Alpha: r.Alpha, MinEffect: r.MinEffect, Tests: r.Tests, Method: r.Method,
		Base:      side{r.Base.Runs, r.Base.Samples, r.Base.Value, r.Base.Total},
		New:       side{r.New.Runs, r.New.Samples, r.New.Value, r.New.Total},
		Total:     jsonCost(r, &r.Total, r.Base.Value, r.New.Value),
		Notes:     append([]string{}, r.Notes...),
		Functions: make([]function, 0, len(r.Functions)),
		Merged:    make([]merged, 0, len(r.Merged)),
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		x := function{
			Name: f.Name, Verdict: f.Verdict.String(), With: f.With, Within: f.Within,
			Self: jsonCost(r, &f.Self, f.BaseSelf, f.NewSelf),
			Cum:  jsonCost(r, &f.Cum, f.BaseCum, f.NewCum),
		}
		for _, p := range f.Paths {
			x.Paths = append(x.Paths, path{Stack: p.Stack, Base: p.Base, New: p.New, Diff: p.New - p.Base})
		}
		if n, p := f.NumPaths-len(f.Paths), f.OtherPaths; n > 0 {
			x.OtherPaths = &path{Count: n, Base: p.Base, New: p.New, Diff: p.New - p.Base}
		}
		if c, ok := o.Code[f.Name]; ok {
			x.Code = &codeSizes{jsonCode(c.Base), jsonCode(c.New)}
		}
		d.Functions = append(d.Functions, x)
	}
	for _, m := range r.Merged {
		x := merged{Name: m.Name}
		for _, o := range m.Originals {
			rules := make([]string, 0, len(o.Rules))
			for _, rule := range o.Rules {
				rules = append(rules, rule.String())
			}
			x.Originals = append(x.Originals, original{o.Name, rules, o.Base, o.New})
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

func jsonCost(r *diff.Result, d *diff.Difference, base, new int64) cost {
	return cost{d.Base, d.New, d.Diff, d.Low, d.High, d.Diff / r.Base.Total, d.P, d.Adjusted, d.Significant, base, new}
}

func jsonCode(c CodeOf) *codeSize {
	if !c.Known {
		return nil
	}
	return &codeSize{c.Size, c.Padded, c.Searched, c.Inlined}
}
