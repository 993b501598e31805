package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"kprof/convert/pprof"
	"kprof/convert/stacks"
)

// The calls that ask (querier/v1/querier.proto).
const (
	mergeProcedure  = "querier.v1.QuerierService/SelectMergeProfile"
	valuesProcedure = "querier.v1.QuerierService/LabelValues"
	typesProcedure  = "querier.v1.QuerierService/ProfileTypes"
)

// Query says which profiles of a store to add up.
type Query struct {
	// Selector is label matchers, as Prometheus has them: {host="web1", arch=~"x86.*"}. ""
	// is {}, all profiles.
	Selector string
	// Type is NAME:SAMPLE:UNIT:PERIOD:UNIT, or NAME of all columns of a profile. "" is the
	// only name that there is, or process_cpu of several.
	Type       string
	Start, End time.Time
	// By is a label, such as host: samples get its value as a label. "" for none.
	By string
	// MaxBy bounds how many values of By are asked for. Default: 1000.
	MaxBy int
}

// NoProfilesError says that a store has nothing that was asked for.
type NoProfilesError struct {
	Query Query
	Types []string // that there are in that time
}

func (e *NoProfilesError) Error() string {
	text := fmt.Sprintf("the store has no profile %s from %s to %s", matchers(e.Query.Selector),
		e.Query.Start.UTC().Format(time.RFC3339), e.Query.End.UTC().Format(time.RFC3339))
	switch {
	case len(e.Types) == 0:
		return text + ", nor any other at that time"
	case e.Query.Type != "":
		return text + fmt.Sprintf(" of type %q; of types %s it has some", e.Query.Type, strings.Join(e.Types, ", "))
	}
	return text + "; of others it has types " + strings.Join(e.Types, ", ")
}

// NoLabelError says that none of the profiles of a query has the label that is to tell them
// apart.
type NoLabelError struct{ Label string }

func (e *NoLabelError) Error() string {
	return fmt.Sprintf("none of these profiles has a label %q, by which they were to be told apart", e.Label)
}

func matchers(selector string) string {
	if selector = strings.TrimSpace(selector); selector == "" {
		return "{}"
	}
	return selector
}

// Check says what is wrong with a query.
func (q *Query) Check() error {
	if s := matchers(q.Selector); !strings.HasPrefix(s, "{") || !strings.HasSuffix(s, "}") {
		return fmt.Errorf("%q is no selector such as {host=\"web1\"}", q.Selector)
	}
	if n := strings.Count(q.Type, ":"); n != 0 && n != 4 {
		return fmt.Errorf("%q is no type of profile such as process_cpu:cpu:nanoseconds:cpu:nanoseconds", q.Type)
	}
	if !q.Start.Before(q.End) {
		return fmt.Errorf("the time ends at %s, before it starts", q.End.UTC().Format(time.RFC3339))
	}
	return nil
}

// With returns the query for those with one more label.
func (q Query) With(name, value string) Query {
	s := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(matchers(q.Selector), "{"), "}"))
	if s = strings.TrimSuffix(s, ","); s != "" {
		s += ", "
	}
	q.Selector = fmt.Sprintf("{%s%s=%q}", s, name, value)
	return q
}

// Periods divides the time of a query into parts of a length, the last of which may be
// shorter. No profile is in two of them.
func (q Query) Periods(every time.Duration) []Query {
	var parts []Query
	for at := q.Start; at.Before(q.End); at = at.Add(every) {
		part := q
		part.Start = at
		if next := at.Add(every); next.Before(q.End) {
			part.End = next.Add(-time.Millisecond) // in which stores count
		}
		parts = append(parts, part)
	}
	return parts
}

// Types returns the types of profiles that a store has in the time of a query, sorted.
func (c *Client) Types(ctx context.Context, q Query) ([]string, error) {
	answer, err := c.call(ctx, typesProcedure, typesRequest(q.Start.UnixMilli(), q.End.UnixMilli()), maxPushAnswer)
	if err != nil {
		return nil, err
	}
	var ids []string
	err = fields(answer, func(f protowire.Number, b []byte) error {
		if f != 1 {
			return nil
		}
		id, err := stringsOf(b, 1)
		ids = append(ids, id...)
		return err
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// Values returns the values that a label has in the profiles of a query, sorted.
func (c *Client) Values(ctx context.Context, q Query, label string) ([]string, error) {
	answer, err := c.call(ctx, valuesProcedure, valuesRequest(label, matchers(q.Selector), q.Start.UnixMilli(), q.End.UnixMilli()), 16<<20)
	if err != nil {
		return nil, err
	}
	values, err := stringsOf(answer, 1)
	slices.Sort(values)
	return slices.Compact(values), err
}

// Fetch returns the sum of the profiles of a query, with all columns of their type: a
// *NoProfilesError if there is none. Its one event is called as it was sent, if the
// profiles agree. With Query.By samples get that label, where their profiles have it: a
// *NoLabelError if none has.
func (c *Client) Fetch(ctx context.Context, q Query) (*stacks.Set, error) {
	if q.By != "" {
		m := stacks.NewMerger(stacks.MergeOptions{})
		labelled := false
		err := c.FetchEach(ctx, q, func(value string, s *stacks.Set) error {
			s.Comments = nil
			if value == "" {
				return m.Add(s, stacks.Addend{})
			}
			labelled = true
			return m.Add(s, stacks.Addend{Labels: []stacks.Label{{Key: q.By, Str: value}}})
		})
		if err == nil && !labelled {
			err = &NoLabelError{q.By}
		}
		if err != nil {
			return nil, err
		}
		s := m.Set()
		s.TimeNanos, s.DurationNanos = q.Start.UnixNano(), int64(q.End.Sub(q.Start))
		s.Comments = c.comments(q)
		return s, nil
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	types, event, err := c.typesOf(ctx, &q)
	if err != nil {
		return nil, err
	}
	s, err := c.fetch(ctx, q, types, event)
	if err == nil && s == nil {
		err = c.noProfiles(ctx, q)
	}
	return s, err
}

// FetchEach calls take with the profiles of a query, one for each value of the label By,
// sorted by these: what some do not have is not a series of theirs. Those that do not have
// the label are the first, of the value "". The Set is take's. If there is none, it returns a
// *NoProfilesError.
func (c *Client) FetchEach(ctx context.Context, q Query, take func(value string, s *stacks.Set) error) error {
	if err := q.Check(); err != nil {
		return err
	}
	types, event, err := c.typesOf(ctx, &q)
	if err != nil {
		return err
	}
	values, err := c.Values(ctx, q.With(nameLabel, nameOf(types[0])), q.By)
	if err != nil {
		return err
	}
	most := q.MaxBy
	if most == 0 {
		most = 1000
	}
	if len(values) > most {
		return fmt.Errorf("label %s has %d values in these profiles; at most %d are told apart", q.By, len(values), most)
	}
	any := false
	for _, v := range slices.Concat([]string{""}, values) { // {label=""} is true of no label
		s, err := c.fetch(ctx, q.With(q.By, v), types, event)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		any = true
		if err := take(v, s); err != nil {
			return err
		}
	}
	if !any {
		return c.noProfiles(ctx, q)
	}
	return nil
}

// noProfiles is the error that there is none.
func (c *Client) noProfiles(ctx context.Context, q Query) error {
	all, err := c.Types(ctx, q)
	if err != nil {
		return err
	}
	return &NoProfilesError{q, all}
}

// fetch returns the sum of the profiles of a query, each type a column of the event; nil
// if there are none.
func (c *Client) fetch(ctx context.Context, q Query, types []string, event stacks.Event) (*stacks.Set, error) {
	m := stacks.NewMerger(stacks.MergeOptions{})
	for column, t := range types {
		set, err := c.merged(ctx, t, q)
		if err != nil {
			return nil, err
		}
		if set == nil {
			continue
		}
		if err := m.Add(widened(set, event, column), stacks.Addend{}); err != nil {
			return nil, err
		}
	}
	s := m.Set()
	if s.NumSamples() == 0 {
		return nil, nil
	}
	s.TimeNanos, s.DurationNanos = q.Start.UnixNano(), int64(q.End.Sub(q.Start))
	s.Comments = c.comments(q)
	return s, nil
}

// comments say where a profile is from.
func (c *Client) comments(q Query) []string {
	return []string{"store: " + c.base + " " + matchers(q.Selector)}
}

// nameOf is the first part of a type.
func nameOf(t string) string {
	name, _, _ := strings.Cut(t, ":")
	return name
}

// maxColumns is how many columns a profile may have: those of Go's heap are four.
const maxColumns = 32

// typesOf returns the types to ask for, and the event whose columns they are: it is called
// as it was sent, if the profiles of a query agree.
func (c *Client) typesOf(ctx context.Context, q *Query) ([]string, stacks.Event, error) {
	types, err := c.columnTypes(ctx, q)
	if err != nil {
		return nil, stacks.Event{}, err
	}
	event := stacks.Event{Name: nameOf(types[0])}
	for _, t := range types {
		part := strings.Split(t, ":")
		event.Values = append(event.Values, stacks.ValueType{Type: part[1], Unit: part[2]})
	}
	if names, err := c.Values(ctx, q.With(nameLabel, event.Name), "event"); err == nil && len(names) == 1 {
		event.Name = names[0]
	}
	return types, event, nil
}

// columnTypes returns the types of the columns of one profile.
func (c *Client) columnTypes(ctx context.Context, q *Query) ([]string, error) {
	if strings.Contains(q.Type, ":") {
		return []string{q.Type}, nil
	}
	all, err := c.Types(ctx, *q)
	if err != nil {
		return nil, err
	}
	name, err := q.typeName(all)
	if err != nil {
		return nil, err
	}
	types := slices.DeleteFunc(slices.Clone(all), func(t string) bool {
		parts := strings.Split(t, ":")
		return parts[0] != name || len(parts) != 5
	})
	if len(types) == 0 {
		return nil, &NoProfilesError{*q, all}
	}
	// One period: the first that there is. Samples come first, as everywhere.
	period := types[0][strings.LastIndex(types[0][:strings.LastIndexByte(types[0], ':')], ":"):]
	types = slices.DeleteFunc(types, func(t string) bool { return !strings.HasSuffix(t, period) })
	if len(types) > maxColumns {
		return nil, fmt.Errorf("the store has %d types of %s in that time; say which: %s, …", len(types), name, strings.Join(types[:3], ", "))
	}
	slices.SortStableFunc(types, func(a, b string) int {
		is := func(t string) int {
			if strings.HasPrefix(t, name+":samples:count:") {
				return 0
			}
			return 1
		}
		return is(a) - is(b)
	})
	return types, nil
}

// typeName is the type that a query asks for of those that there are, "" where there are none.
func (q *Query) typeName(all []string) (string, error) {
	if q.Type != "" {
		return q.Type, nil
	}
	var names []string
	for _, t := range all {
		if name := nameOf(t); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return "", nil
	case len(names) == 1:
		return names[0], nil
	case slices.Contains(names, "process_cpu"):
		return "process_cpu", nil
	}
	return "", fmt.Errorf("the store has profiles of several types, say which: %s", strings.Join(names, ", "))
}

// Typed returns a query with the type that it asks for in all of its time, so that its Periods
// ask for no other where they have none of that.
func (c *Client) Typed(ctx context.Context, q Query) (Query, error) {
	if q.Type != "" {
		return q, nil
	}
	all, err := c.Types(ctx, q)
	if err != nil {
		return q, err
	}
	q.Type, err = q.typeName(all)
	return q, err
}

// merged asks for the sum of the profiles of one type, nil if there are none.
func (c *Client) merged(ctx context.Context, profileType string, q Query) (*stacks.Set, error) {
	answer, err := c.call(ctx, mergeProcedure, mergeRequest(profileType, matchers(q.Selector), q.Start.UnixMilli(), q.End.UnixMilli()), maxQueryAnswer)
	if err != nil || len(answer) == 0 {
		return nil, err
	}
	// A google.v1.Profile is a profile.proto.
	set, err := pprof.Read(bytes.NewReader(answer))
	if err != nil {
		return nil, err
	}
	if len(set.Events) != 1 || len(set.Events[0].Values) != 1 {
		if set.NumSamples() == 0 {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: the store answers with %d events: %w", profileType, len(set.Events), errAnswer)
	}
	return set, nil
}

// widened is a Set of one column as one of an event's columns, in which the others are 0.
func widened(s *stacks.Set, e stacks.Event, column int) *stacks.Set {
	w := stacks.New(e)
	w.PeriodType, w.Period = s.PeriodType, s.Period
	c := copier{from: s, to: w, location: map[uint32]uint32{}, mapping: map[int32]int32{}}
	values := make([]int64, len(e.Values))
	for i := range s.NumSamples() {
		x := s.Sample(i)
		values[column] = x.Values[0]
		w.Add(0, c.stack(x.Stack), 0, values...)
	}
	return w
}
