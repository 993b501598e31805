package diffreport

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"kprof/convert/diff"
	"kprof/convert/printable"
)

// Schema and Version are what a comparison as JSON says of its form. Fields are added
// without another version.
const (
	Schema  = "kprof.diff"
	Version = 1
)

// document is a comparison as JSON. What is not known is null. Costs are shares from 0 to 1, or values
// per second, operation or event; "relative" is a difference as a share of the
// base's total.
type document struct {
	Schema     string   `json:"schema"`
	Version    int      `json:"version"`
	Outcome    string   `json:"outcome"` // changed, not changed, inconclusive
	Verdict    string   `json:"verdict"`
	Resolution *float64 `json:"resolution"` // the smallest difference that could have been told, relative
	Advice     *advice  `json:"advice"`     // what to record to tell differences of a hundredth
	Limit      *limit   `json:"limit,omitempty"`

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
	PerRun    *cost      `json:"total_per_run"` // in units of the value, idle left out; null if the sides count different things
	Factor    float64    `json:"common_factor,omitempty"`
	Notes     []string   `json:"notes"`
	Functions []function `json:"functions"`
	Merged    []merged   `json:"merged"`

	Times *timesDocument `json:"times,omitempty"` // of spans

	// Interrupts were left out of one run of each side, and Programs ran on a machine if that
	// is why it cannot be told what changed.
	Interrupts *interrupts `json:"interrupts,omitempty"`
	Programs   []program   `json:"programs,omitempty"`
}

type interrupts struct {
	Base      float64    `json:"base"` // share of the total, idle left out
	New       float64    `json:"new"`
	Outcome   string     `json:"outcome"` // inconclusive, if functions differ by more than chance within a run
	Functions []function `json:"functions"`
}

type program struct {
	Comm string  `json:"comm"`
	Base float64 `json:"base"` // share of the total
	New  float64 `json:"new"`
}

type side struct {
	Inputs  []string `json:"inputs"`
	Samples float64  `json:"samples"`
	Value   int64    `json:"value"`
	Total   float64  `json:"total"`
	Idle    int64    `json:"idle_value_left_out"`
	CPU     float64  `json:"cpu_seconds"` // 0 if not known, as the duration
	Seconds float64  `json:"duration_seconds"`
	Kernel  string   `json:"kernel,omitempty"`
	BuildID string   `json:"kernel_build_id,omitempty"`
	Arch    string   `json:"arch,omitempty"`
	CPUName string   `json:"cpu,omitempty"`
	Host    string   `json:"host,omitempty"`
}

type advice struct {
	Factor  *float64 `json:"factor"`            // as many samples
	Seconds float64  `json:"seconds,omitempty"` // a run
	Runs    int      `json:"runs"`              // or so many as these, of each side
}

type limit struct {
	Limit     float64  `json:"limit"`
	Outcome   string   `json:"outcome"` // pass, fail, inconclusive
	Text      string   `json:"text"`
	Functions []string `json:"functions,omitempty"` // over the limit
	Total     bool     `json:"total"`               // over the limit
	Slower    []slower `json:"slower,omitempty"`    // times of spans over the limit
	Reasons   []string `json:"reasons,omitempty"`
	Upper     *float64 `json:"upper"` // the largest upper bound of a difference, relative
	UpperOf   string   `json:"upper_of,omitempty"`
}

// slower is a time of spans that is longer.
type slower struct {
	Group string  `json:"group"` // "" for all
	What  string  `json:"what"`
	Ratio float64 `json:"ratio"` // to what it was
}

type cost struct {
	Base        float64  `json:"base"`
	New         float64  `json:"new"`
	Diff        float64  `json:"diff"`
	Low         *float64 `json:"low"`
	High        *float64 `json:"high"`
	Upper       *float64 `json:"upper"` // of the difference, corrected for all that were tested
	Ratio       *float64 `json:"ratio"` // new by base
	Relative    float64  `json:"relative"`
	P           float64  `json:"p"`
	Adjusted    float64  `json:"p_adjusted"`
	Significant bool     `json:"significant"`
	ShareOnly   bool     `json:"share_only,omitempty"`
	BaseValue   int64    `json:"base_value"`
	NewValue    int64    `json:"new_value"`
}

type function struct {
	Name       string     `json:"name"`
	Verdict    string     `json:"verdict"`
	Self       cost       `json:"self"`
	Cum        cost       `json:"cum"`
	With       []string   `json:"with,omitempty"`
	Within     string     `json:"within,omitempty"`
	Around     string     `json:"around,omitempty"`
	Pair       string     `json:"base_name,omitempty"`     // the function that stands for it on the base
	Rewritten  bool       `json:"rewritten,omitempty"`     // these names have little in common
	Built      bool       `json:"only_by_build,omitempty"` // new or gone by its build; its cost is not more than chance
	Suspect    bool       `json:"suspect,omitempty"`
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
	// Differs tells other instructions, Calls whom only those of the new build call.
	Differs bool     `json:"differs,omitempty"`
	Calls   []string `json:"calls,omitempty"`
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

// perNames are what costs are divided by, in JSON.
var perNames = [...]string{"share", "second", "ops", "event", "run"}

// JSON writes a comparison, noise included, as one JSON object.
func JSON(w io.Writer, r *diff.Result, o Options) error {
	t := wordsOf(r, o)
	changed, _ := t.changed()
	d := document{
		Schema: Schema, Version: Version, Outcome: r.Outcome.String(), Verdict: t.verdict(changed, printable.Text),
		Resolution: finite(r.Resolution), Factor: r.CommonFactor,
		Event: r.Event, Type: r.Value.Type, Unit: r.Value.Unit,
		Per:   perNames[r.Per],
		Alpha: r.Alpha, MinEffect: r.MinEffect, Tests: r.Tests, Method: r.Method,
		Base: jsonSide(&r.Base), New: jsonSide(&r.New),
		Total:     jsonCost(r, &r.Total, r.Base.Value, r.New.Value),
		Notes:     append([]string{}, r.Notes...),
		Functions: make([]function, 0, len(r.Functions)),
		Merged:    make([]merged, 0, len(r.Merged)),
		Times:     jsonTimes(o.Times),
	}
	if goal := max(r.MinEffect, goodResolution); goal < r.Resolution {
		factor, seconds, runs := r.Advice(goal)
		d.Advice = &advice{finite(factor), seconds, runs}
	}
	if r.PerRunKnown {
		p := &r.PerRun
		d.PerRun = &cost{
			Base: p.Base, New: p.New, Diff: p.Diff, Low: finite(p.Low), High: finite(p.High), Ratio: finite(p.Ratio()),
			Relative: p.Diff / p.Base, P: p.P, Adjusted: p.Adjusted, Significant: p.Significant, BaseValue: r.Base.Value, NewValue: r.New.Value,
		}
	}
	if j := o.Judgement; j != nil {
		d.Limit = jsonLimit(r, j)
	}
	if in := r.Interrupts; in != nil {
		d.Interrupts = &interrupts{Base: in.Base, New: in.New, Outcome: diff.Unchanged.String(), Functions: []function{}}
		for i := range in.Functions {
			d.Interrupts.Outcome = diff.Inconclusive.String()
			d.Interrupts.Functions = append(d.Interrupts.Functions, jsonFunction(r, &in.Functions[i]))
		}
	}
	for _, p := range r.Programs {
		d.Programs = append(d.Programs, program{p.Comm, p.Base, p.New})
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		x := jsonFunction(r, f)
		for _, p := range f.Paths {
			x.Paths = append(x.Paths, path{Stack: p.Stack, Base: p.Base, New: p.New, Diff: p.New - p.Base})
		}
		if n, p := f.NumPaths-len(f.Paths), f.OtherPaths; n > 0 {
			x.OtherPaths = &path{Count: n, Base: p.Base, New: p.New, Diff: p.New - p.Base}
		}
		if c, ok := o.Code[f.Name]; ok {
			x.Code = &codeSizes{jsonCode(c.Base), jsonCode(c.New), c.Differs, c.Calls}
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
	return writeJSON(w, "comparison", d)
}

// writeJSON writes a document, of which an error says what it is.
func writeJSON(w io.Writer, what string, document any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(document); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

func jsonFunction(r *diff.Result, f *diff.Function) function {
	return function{
		Name: f.Name, Verdict: f.Verdict.String(), With: f.With, Within: f.Within, Around: f.Around, Pair: f.Pair, Rewritten: f.Rewritten, Suspect: f.Suspect, Built: f.Built && (f.Verdict == diff.New || f.Verdict == diff.Gone),
		Self: jsonCost(r, &f.Self, f.BaseSelf, f.NewSelf),
		Cum:  jsonCost(r, &f.Cum, f.BaseCum, f.NewCum),
	}
}

func jsonCost(r *diff.Result, d *diff.Difference, base, new int64) cost {
	return cost{
		Base: d.Base, New: d.New, Diff: d.Diff, Low: finite(d.Low), High: finite(d.High), Upper: finite(d.Upper), Ratio: finite(d.Ratio()),
		Relative: d.Diff / r.Base.Total, P: d.P, Adjusted: d.Adjusted, Significant: d.Significant, ShareOnly: d.ShareOnly,
		BaseValue: base, NewValue: new,
	}
}

// finite is a number that JSON can hold, else null.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

func jsonSide(s *diff.Side) side {
	m := &s.Machine
	return side{
		Inputs: s.Runs, Samples: s.Samples, Value: s.Value, Total: s.Total, Idle: s.Idle, CPU: s.CPU, Seconds: s.Seconds,
		Kernel: m.Kernel, BuildID: m.BuildID, Arch: m.Arch, CPUName: m.CPU, Host: m.Host,
	}
}

func jsonLimit(r *diff.Result, j *diff.Judgement) *limit {
	l := &limit{
		Limit: j.Limit, Outcome: [...]string{diff.Unchanged: "pass", diff.Changed: "fail", diff.Inconclusive: "inconclusive"}[j.Outcome],
		Text: Judgement(r, j), Total: j.Total, Upper: finite(j.Upper), UpperOf: j.UpperOf,
	}
	for _, f := range j.Functions {
		l.Functions = append(l.Functions, f.Name)
	}
	for _, s := range j.Slower {
		l.Slower = append(l.Slower, slower{s.Group, s.What, s.Ratio})
	}
	for _, d := range j.Doubts {
		l.Reasons = append(l.Reasons, d.String())
	}
	return l
}

func jsonCode(c CodeOf) *codeSize {
	if !c.Known {
		return nil
	}
	return &codeSize{c.Size, c.Padded, c.Searched, c.Inlined}
}
