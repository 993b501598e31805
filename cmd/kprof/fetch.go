package main

import (
	"time"

	"github.com/spf13/cobra"

	"kprof/convert"
)

func newFetch() *cobra.Command {
	var s storeFlags
	var q querying
	var svg svgFlags
	var from, out, f string
	c := &cobra.Command{
		Use:   "fetch --from URL [--query SELECTOR] {-o FILE | -f FORMAT}",
		Short: "Get a profile from a store of profiles, such as Grafana Pyroscope",
		Long: `Fetch asks a store for the sum of the profiles that a selector chooses, and writes it
in any format of kprof convert. With --by host, or another label, samples say which
it was.

Other commands take the same as an input: the address of the store with the query
behind it, as in 'http://localhost:4040/?query={host="web1"}&since=2h'.`,
		Example: `  kprof fetch --from http://localhost:4040 --since 2h -o fleet.pb.gz
  kprof fetch --from http://localhost:4040 --query '{host="web1"}' -o web1.svg
  kprof report 'http://localhost:4040/?by=host' --by host`,
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" {
				return usagef("say which store to ask: --from URL, such as http://localhost:4040")
			}
			o, err := chooseProfileOutput(out, f, "fetch")
			if err != nil {
				return err
			}
			if o.svg, err = svg.options(o.format); err != nil {
				return err
			}
			query, err := q.store(time.Now())
			if err != nil {
				return err
			}
			client, err := s.client(from)
			if err != nil {
				return err
			}
			defer client.Close()
			if err := o.prepare(); err != nil {
				return err
			}
			p, err := fetchProfile(cmd.Context(), client, query, convert.Options{})
			if err != nil {
				return err
			}
			return o.write(&profile{p})
		},
	}
	fl := c.Flags()
	fl.StringVar(&from, "from", "", "`URL` of the store")
	fl.StringVarP(&out, "output", "o", "", "`file` to write, - for standard output")
	fl.StringVarP(&f, "format", "f", "", "pprof, folded, svg, html or text, whatever the file is called")
	q.flags(c)
	s.flags(c)
	svg.flags(c)
	return c
}
