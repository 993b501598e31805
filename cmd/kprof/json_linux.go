//go:build !portable

package main

import (
	"io"

	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
)

func writeProbesJSON(w io.Writer, probes []tracefs.Probe) error {
	type probe struct {
		Event      string  `json:"event"`
		Hits       *uint64 `json:"hits"`   // null where the kernel does not say
		Misses     *uint64 `json:"misses"` // likewise
		Owner      string  `json:"owner"`
		Definition string  `json:"definition"`
	}
	all := []probe{}
	for _, p := range probes {
		one := probe{Event: p.Event().String(), Owner: p.OwnerText(event.KeptGroup), Definition: p.String()}
		if p.Kind == tracefs.Breakpoint {
			one.Hits = &p.Hits
		}
		if p.MissesKnown {
			one.Misses = &p.Misses
		}
		all = append(all, one)
	}
	return writeJSON(w, all)
}
