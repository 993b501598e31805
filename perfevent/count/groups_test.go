package count

import (
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// shape is groups as text: members joined by blanks, in braces when together.
func shape(groups []Group) string {
	var all []string
	for _, g := range groups {
		var names []string
		for _, s := range g.Specs {
			names = append(names, s.Text)
		}
		one := strings.Join(names, " ")
		if g.Together {
			one = "{" + one + "}"
		}
		if g.Weak {
			one += "W"
		}
		all = append(all, one)
	}
	return strings.Join(all, " | ")
}

func TestParseGroups(t *testing.T) {
	livetest.Table(t, func(arg string) string {
		groups, err := ParseGroups(arg)
		if err != nil {
			t.Errorf("%q: %v", arg, err)
		}
		return shape(groups)
	}, map[string]string{
		"cycles":                          "cycles",
		"cycles,instructions":             "cycles | instructions",
		"{cycles,instructions}":           "{cycles instructions}",
		" { cycles , instructions } ":     "{cycles instructions}",
		"{cycles}":                        "cycles",
		"cs,{cycles,instructions},faults": "cs | {cycles instructions} | faults",
		"{cs,faults},{cycles,branches}":   "{cs faults} | {cycles branches}",
		"{cycles,instructions}:u":         "{cycles:u instructions:u}",
		"{cycles:k,instructions}:u,cs":    "{cycles:k instructions:u} | cs",
		"{cycles,instructions}:uW":        "{cycles:u instructions:u}W",
		"{cycles:W,instructions:k}:u":     "{cycles:Wu instructions:k}W",
		"{cycles}:W,cs:W":                 "cycles | cs:W",
		"{cpu/event=1,umask=2/,cycles}:k": "{cpu/event=1,umask=2/k cycles:k}",
		"cpu/event=1,umask=2/,cs":         "cpu/event=1,umask=2/ | cs",
		"{sched:sched_switch,cs}":         "{sched:sched_switch cs}",
		"kprobe:vfs_read":                 "kprobe:vfs_read",
	})
	for _, arg := range []string{
		"", "{", "{}", "{cycles", "{cycles,{cs,faults}}", "{cycles}u", "{cycles}:", "{cycles}:Y", "cycles,", "{cycles},",
		"{cycles},,{cs}", "cycles}", "{kprobe:vfs_read,cs}:u",
	} {
		if groups, err := ParseGroups(arg); err == nil {
			t.Errorf("%q is taken for %s", arg, shape(groups))
		}
	}
}

// FuzzParseGroups: whatever is parsed is not empty, and what was written without braces
// is what event.ParseSpecs makes of it.
func FuzzParseGroups(f *testing.F) {
	for _, s := range []string{"cycles,{cs,faults}:u", "{cpu/event=1/,cycles}:k", "{,}", "a{b}c", "kprobe:f $arg1,{x}", "{mem:0x10/8:rw,cs}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		groups, err := ParseGroups(arg)
		if err != nil {
			return
		}
		if len(groups) == 0 {
			t.Fatalf("%q: nothing, and no error", arg)
		}
		for _, g := range groups {
			if len(g.Specs) == 0 || g.Together != (len(g.Specs) > 1) {
				t.Fatalf("%q: a group of %d, together %v", arg, len(g.Specs), g.Together)
			}
		}
	})
}
