package compare

import (
	"slices"

	"kprof/convert"
	"kprof/convert/bootlog"
	"kprof/convert/stacks"
)

// withoutLevels takes the levels of initcalls from boots, where not all of them have
// levels: kernels before Linux 6.13 do not tell them.
func withoutLevels(profiles [2][]*convert.Profile) {
	all := slices.Concat(profiles[0], profiles[1])
	has := func(p *convert.Profile) bool { return slices.Contains(p.Set.Comments, bootlog.ByLevel) }
	if !slices.ContainsFunc(all, has) {
		return
	}
	if !slices.ContainsFunc(all, func(p *convert.Profile) bool { return !has(p) && isBoot(&p.Set.Events[p.Set.Most()]) }) {
		return
	}
	for _, p := range all {
		if has(p) {
			p.Set = flat(p.Set)
		}
	}
}

// flat is a boot without the outermost frames of its initcalls.
func flat(s *stacks.Set) *stacks.Set {
	f := stacks.New(s.Events...)
	f.DurationNanos, f.TimeNanos = s.DurationNanos, s.TimeNanos
	f.Comments = slices.DeleteFunc(slices.Clone(s.Comments), func(c string) bool { return c == bootlog.ByLevel })
	f.CopyLocations(s)
	for i := range s.NumSamples() {
		x := s.Sample(i)
		stack := s.Stack(x.Stack)
		if comm, _ := s.Label(x.Labels, "comm"); comm.Str == bootlog.InitcallComm && len(stack) > 1 {
			stack = stack[:len(stack)-1]
		}
		f.Add(x.Event, f.Intern(stack), f.InternLabels(s.Labels(x.Labels)), x.Values...)
	}
	return f
}
