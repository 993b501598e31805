package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/store"
)

// storeFlags are the flags that say who asks a store, and how.
type storeFlags struct {
	tenant, bearerFile, basicFile string
	ca, cert, key                 string
	headers                       []string
	timeout                       time.Duration
	protocol                      store.Protocol
}

func (s *storeFlags) flags(c *cobra.Command) {
	f := c.Flags()
	defer under(f, headingStore)()
	f.StringVar(&s.tenant, "tenant", "", "`name` of the tenant, where the store has several")
	f.StringVar(&s.bearerFile, "bearer-file", "", "`file` with the token that the store wants")
	f.StringVar(&s.basicFile, "basic-auth-file", "", "`file` with USER:PASSWORD")
	f.StringArrayVar(&s.headers, "http-header", nil, "a `header` of each request, as in 'X-Scope: a'; or @FILE with some, a line each, as other users see the command line")
	f.StringVar(&s.ca, "ca", "", "`file` of certificates, PEM, that the store's is checked by (default those of this machine)")
	f.StringVar(&s.cert, "cert", "", "`file` of our own certificate, PEM")
	f.StringVar(&s.key, "key", "", "`file` of its key, PEM")
	f.DurationVar(&s.timeout, "timeout", 30*time.Second, "how long one request to the store may take")
}

// client returns what makes requests to a store.
func (s *storeFlags) client(address string) (*store.Client, error) {
	o := store.ClientOptions{
		URL: address, Protocol: s.protocol, Tenant: s.tenant, BearerFile: s.bearerFile, BasicAuthFile: s.basicFile,
		CAFile: s.ca, CertFile: s.cert, KeyFile: s.key, Timeout: s.timeout,
		Header: http.Header{}, Proxy: http.ProxyFromEnvironment,
	}
	for _, h := range s.headers {
		if file, ok := strings.CutPrefix(h, "@"); ok {
			if o.HeaderFile != "" {
				return nil, usagef("--http-header: one @FILE only")
			}
			o.HeaderFile = file
			continue
		}
		key, value, ok := strings.Cut(h, ":")
		if value = strings.TrimSpace(value); !ok {
			return nil, usagef("--http-header wants NAME: VALUE, or @FILE")
		}
		if err := store.CheckHeader(key, value); err != nil {
			return nil, usagef("--http-header: %w", err)
		}
		o.Header.Add(key, value)
	}
	if s.timeout <= 0 {
		return nil, usagef("--timeout %v: wants a time", s.timeout)
	}
	c, err := store.NewClient(o)
	if err == nil && c.Unencrypted() {
		notef("%s is not encrypted: others on the way can read the secrets", c.URL())
	}
	return c, err
}

// querying is the flags that say which profiles of a store to take.
type querying struct {
	query, profileType, by string
	since, until           string
}

func (q *querying) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&q.query, "query", "", "a `selector` by labels, such as '{host=\"web1\"}' (default all)")
	f.StringVar(&q.profileType, "type", "", "`name` of the profiles, such as process_cpu, or the whole type with its colons")
	f.StringVar(&q.since, "since", "1h", "`time` from which on: how long ago, or as in 2006-01-02T15:04:05Z")
	f.StringVar(&q.until, "until", "0s", "`time` up to which, as of --since")
	f.StringVar(&q.by, "by", "", "tell profiles apart by this `label`, such as host: samples get it")
}

// store returns the query.
func (q *querying) store(now time.Time) (store.Query, error) {
	from, err := timeAt("--since", q.since, now)
	if err != nil {
		return store.Query{}, err
	}
	to, err := timeAt("--until", q.until, now)
	if err != nil {
		return store.Query{}, err
	}
	query := store.Query{Selector: q.query, Type: q.profileType, Start: from, End: to, By: q.by}
	if err := query.Check(); err != nil {
		return query, usageError{err}
	}
	return query, nil
}

// timeAt reads a time, or how long ago it was.
func timeAt(flag, s string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, usagef("%s %q: wants how long ago, as in 90m, or a time as in 2006-01-02T15:04:05Z", flag, s)
	}
	return t, nil
}

// isStore reports whether the name of an input is the address of a store with a query.
func isStore(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// parseStore reads the address of a store with a query: http://HOST:PORT/?query={…}, and
// the flags of kprof fetch as further parameters. A + is one there, as in RFC 3986, and no space
// as in forms: selectors have patterns, and times zones.
func parseStore(name string) (address string, q querying, s storeFlags, err error) {
	q = querying{since: "1h", until: "0s"}
	s = storeFlags{timeout: 30 * time.Second}
	address, parameters, _ := strings.Cut(name, "?")
	values, err := url.ParseQuery(strings.ReplaceAll(parameters, "+", "%2B"))
	if err != nil {
		return "", q, s, usagef("the parameters of %s are not those of a URL", address)
	}
	known := map[string]*string{
		"query": &q.query, "type": &q.profileType, "since": &q.since, "until": &q.until, "by": &q.by,
		"tenant": &s.tenant, "bearer-file": &s.bearerFile, "basic-auth-file": &s.basicFile, "ca": &s.ca, "cert": &s.cert, "key": &s.key,
	}
	for key := range values {
		to, ok := known[key]
		switch {
		case !ok:
			return "", q, s, usagef("%s has no parameter %q: it has those that are flags of kprof fetch", address, key)
		case len(values[key]) > 1:
			return "", q, s, usagef("%s has two parameters %q", address, key)
		}
		*to = values.Get(key)
	}
	return address, q, s, nil
}

// loadStore is loadQuiet of an address of a store with a query.
func loadStore(ctx context.Context, name string, opts convert.Options) (*convert.Profile, error) {
	address, querying, flags, err := parseStore(name)
	if err != nil {
		return nil, err
	}
	q, err := querying.store(time.Now())
	if err != nil {
		return nil, err
	}
	c, err := flags.client(address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return fetchProfile(ctx, c, q, opts)
}

// storeTime is how long a store may take in all.
const storeTime = 10 * time.Minute

// fetchProfile asks a store.
func fetchProfile(ctx context.Context, c *store.Client, q store.Query, opts convert.Options) (*convert.Profile, error) {
	ctx, end := (*signals)(nil).limited(ctx, storeTime)
	defer end()
	set, err := c.Fetch(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.URL(), err)
	}
	opts.Name = q.Selector
	if opts.Name == "" {
		opts.Name = "{}"
	}
	p, err := convert.OfSet(set, opts)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.URL(), worded(err))
	}
	return p, err
}
