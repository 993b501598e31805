package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kprof/convert"
	"kprof/convert/stacks"
	"kprof/convert/store"
)

// fleetFlags are the flags of kprof diff that have a store asked for both sides.
type fleetFlags struct {
	store storeFlags
	from  string
	times [2]string
	query querying
	every time.Duration
}

// fewMachines is of how many values of the label --by on each side the differences are
// the variance, however long each was recorded: of fewer, those between periods are.
const fewMachines = 4

// maxPeriods bounds the periods of a time, each of which is asked for.
const maxPeriods = 1000

func (f *fleetFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	defer under(fl, headingStore)()
	fl.StringVar(&f.from, "from", "", "`URL` of a store of profiles: --base and --new are selectors, and each host is a run")
	for side, name := range sideNames {
		fl.StringVar(&f.times[side], name+"-time", "", "with --from: the time of the "+name+" side, `FROM..TO`, each as --since")
	}
	fl.StringVar(&f.query.profileType, "type", "", "with --from: `name` of the profiles, such as process_cpu")
	fl.StringVar(&f.query.since, "since", "1h", "with --from: `time` from which on: how long ago, or as in 2006-01-02T15:04:05Z")
	fl.StringVar(&f.query.until, "until", "0s", "with --from: `time` up to which, as of --since")
	fl.StringVar(&f.query.by, "by", "host", "with --from: the `label` whose values are runs")
	fl.DurationVar(&f.every, "every", 0, "with --from: where a side has fewer than 4 hosts, each host and `period` of this length is a run")
	f.store.flags(c)
}

// check says which flag makes no sense without a store.
func (f *fleetFlags) check(c *cobra.Command) error {
	if f.from != "" {
		return nil
	}
	only := &cobra.Command{}
	new(fleetFlags).flags(only)
	var err error
	only.Flags().VisitAll(func(flag *pflag.Flag) {
		if c.Flags().Changed(flag.Name) && err == nil {
			err = usagef("--%s is for a store: name it with --from URL", flag.Name)
		}
	})
	return err
}

// queries are what to ask the store of both sides.
func (f *fleetFlags) queries(selectors [2][]string, args []string, now time.Time) (queries [2][]store.Query, err error) {
	switch {
	case len(args) > 0:
		return queries, usagef("%q: with --from, the sides are --base SELECTOR and --new SELECTOR", args[0])
	case f.query.by == "":
		return queries, usagef("--by wants a label, whose values are runs")
	case f.every != 0 && f.every < time.Second:
		return queries, usagef("--every %v: wants at least 1s", f.every)
	case len(selectors[0])+len(selectors[1]) == 0 && f.times == [2]string{}:
		return queries, usagef("--from wants two sides: --base SELECTOR and --new SELECTOR, or --base-time FROM..TO and --new-time FROM..TO")
	case (len(selectors[0]) == 0) != (len(selectors[1]) == 0) && f.times == [2]string{}:
		return queries, usagef("--base and --new go together")
	}
	for side, list := range selectors {
		q := f.query
		if t := f.times[side]; t != "" {
			var ok bool
			if q.since, q.until, ok = strings.Cut(t, ".."); !ok {
				return queries, usagef("--%s-time %q: wants FROM..TO, as in 2h..1h", sideNames[side], t)
			}
		}
		if len(list) == 0 {
			list = selectors[1-side] // two times of the same
		}
		if len(list) == 0 {
			list = []string{""}
		}
		for _, s := range list {
			q.query = s
			query, err := q.store(now)
			if err != nil {
				return queries, err
			}
			if d := query.End.Sub(query.Start); f.every > 0 && d/f.every > maxPeriods {
				return queries, usagef("--every %v: %v has more than %d of them", f.every, d, maxPeriods)
			}
			queries[side] = append(queries[side], query)
		}
	}
	return queries, nil
}

// load asks the store: each value of the label is a run, or where these are few, each of
// its periods.
func (f *fleetFlags) load(ctx context.Context, queries [2][]store.Query, opts convert.Options) (profiles [2][]*convert.Profile, err error) {
	c, err := f.store.client(f.from)
	if err != nil {
		return profiles, err
	}
	defer c.Close()
	ctx, end := (*signals)(nil).limited(ctx, storeTime)
	defer end()
	few, err := f.few(ctx, c, queries)
	if err != nil {
		return profiles, fmt.Errorf("%s: %w", c.URL(), err)
	}
	for side := range queries {
		for _, whole := range queries[side] {
			parts := []store.Query{whole}
			if few {
				if whole, err = c.Typed(ctx, whole); err != nil {
					return profiles, fmt.Errorf("%s: %s: %w", c.URL(), sideNames[side], err)
				}
				parts = whole.Periods(f.every)
			}
			var none error
			labelled := false
			before := len(profiles[side])
			for _, q := range parts {
				err := c.FetchEach(ctx, q, func(value string, s *stacks.Set) error {
					o := opts
					labelled = labelled || value != ""
					if o.Name = cmp.Or(value, "without "+f.query.by); few {
						o.Name += " " + q.Start.UTC().Format(time.RFC3339)
					}
					p, err := convert.OfSet(s, o)
					if err != nil {
						return worded(err)
					}
					profiles[side] = append(profiles[side], p)
					return nil
				})
				if errors.As(err, new(*store.NoProfilesError)) && few {
					none = err // there may be some of other periods
					continue
				}
				if err != nil {
					return profiles, fmt.Errorf("%s: %s: %w", c.URL(), sideNames[side], err)
				}
			}
			if len(profiles[side]) > before && !labelled {
				none = fmt.Errorf("%w: --by names another", &store.NoLabelError{Label: f.query.by})
			}
			if len(profiles[side]) == before || !labelled {
				return profiles, fmt.Errorf("%s: %s: %w", c.URL(), sideNames[side], none)
			}
		}
	}
	return profiles, nil
}

// few reports whether periods are to be runs, since a side has few machines, and says so.
func (f *fleetFlags) few(ctx context.Context, c *store.Client, queries [2][]store.Query) (bool, error) {
	if f.every == 0 {
		return false, nil
	}
	fewest := math.MaxInt
	for side := range queries {
		seen := map[string]bool{}
		for _, q := range queries[side] {
			values, err := c.Values(ctx, q, f.query.by)
			if err != nil {
				return false, err
			}
			for _, v := range values {
				seen[v] = true
			}
		}
		fewest = min(fewest, len(seen))
	}
	if fewest >= fewMachines {
		return false, nil
	}
	notef("each %s and %v is a run: a verdict is on these machines, and not on others like them", f.query.by, f.every)
	return true, nil
}
