package event

import (
	"slices"
	"strings"

	"kprof/perfevent/abi"
)

// kinds are the PMUs of the kinds of CPU of a hybrid machine, such as cpu_atom and cpu_core; none
// where all CPUs are alike.
func (r *Resolver) kinds() []string {
	found := slices.DeleteFunc(r.PMUs(), func(pmu string) bool { return !exists(r.pmuPath(pmu, "cpus")) })
	if len(found) < 2 {
		return nil
	}
	return found
}

// pmusWith are the PMUs that have an event of that name.
func (r *Resolver) pmusWith(word string) []string {
	return slices.DeleteFunc(r.PMUs(), func(pmu string) bool { return !slices.Contains(r.PMUEvents(pmu), word) })
}

// onEach returns the specs that s is where several PMUs have what it names, as perf does, each as it
// would be written; s itself where not.
func (r *Resolver) onEach(s Spec) []Spec {
	var pmus []string
	switch {
	case s.Kind == KindPMU && s.PMU == "":
		pmus = r.pmusWith(s.Terms[0].Key)
	case s.Kind == KindNumbered && s.Type == abi.TypeRaw: // which x86 has cpu_core alone count
		pmus = r.kinds()
	case s.Kind == KindNumbered && r.EachKind && (s.Type == abi.TypeHardware || s.Type == abi.TypeHWCache):
		pmus = r.kinds()
		if slices.ContainsFunc(pmus, func(pmu string) bool { return !strings.HasPrefix(pmu, "cpu_") }) {
			pmus = nil // kernels of other architectures took no such numbers for long
		}
	}
	if len(pmus) < 2 || strings.Contains(s.Text, "/") {
		return []Spec{s}
	}
	name, modifiers, _ := strings.Cut(s.Text, ":")
	each := make([]Spec, len(pmus))
	for i, pmu := range pmus {
		one := s
		one.Text, one.Kind, one.PMU = pmu+"/"+name+"/"+modifiers, KindPMU, pmu
		if s.Kind == KindNumbered {
			one.Terms = []Term{{Key: name, Value: 1, Bare: true}}
			if s.Type == abi.TypeRaw {
				one.Terms = []Term{{Key: "config", Value: s.Config}}
			}
		}
		each[i] = one
	}
	return each
}
