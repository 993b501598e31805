package viewer

import (
	"strings"
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// unitSet has values of a unit at two functions, of no times, as profiles of other tools.
func unitSet(unit string, values [2]int64) *stacks.Set {
	s := stacks.New(stacks.Event{Name: "wall", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "wall", Unit: unit}}})
	for i, name := range []string{"more", "less"} {
		l := s.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		s.Add(0, s.Intern([]uint32{l}), 0, 1, values[i])
	}
	return s
}

// TestUnits: times are ms to the Firefox Profiler, in whatever unit the profile has them, as V8's are µs;
// and so they are here of Chrome's µs.
func TestUnits(t *testing.T) {
	const ms = "tracing-ms\n  0: more (User) = 3\n  3: less (User) = 2.5\nmore (User) 0-3\n0/1: less (User) 3-5.5\n"
	type profile struct {
		unit   string
		values [2]int64
	}
	livetest.Table(t, func(p profile) string {
		s, o := unitSet(p.unit, p.values), Options{Column: 1}
		_, firefox, _ := strings.Cut(firefoxText(t, export(t, Firefox, s, o)), "true: ")
		chrome := chromeText(t, export(t, Chrome, s, o))
		return firefox + chrome[strings.Index(chrome, "more"):]
	}, map[profile]string{
		{"nanoseconds", [2]int64{3e6, 25e5}}:  ms,
		{"microseconds", [2]int64{3e3, 25e2}}: ms,
		{"milliseconds", [2]int64{3, 1}}:      "tracing-ms\n  0: more (User) = 3\n  3: less (User) = 1\nmore (User) 0-3\n0/1: less (User) 3-4\n",
		{"seconds", [2]int64{3, 1}}:           "tracing-ms\n  0: more (User) = 3000\n  3000: less (User) = 1000\nmore (User) 0-3000\n0/1: less (User) 3000-4000\n",
		{"bytes", [2]int64{3000, 1000}}:       "bytes\n  0: more (User) = 3000\n  3000: less (User) = 1000\nmore (User) 0-3\n0/1: less (User) 3-4\n",
		{"count", [2]int64{3000, 1000}}:       "samples\n  0: more (User) = 3000\n  3000: less (User) = 1000\nmore (User) 0-3\n0/1: less (User) 3-4\n",
	})
}
