package replay

import "testing"

// TestOffCPUDuration: sums of off-CPU time make no recording longer.
func TestOffCPUDuration(t *testing.T) {
	for _, g := range goldens(t) {
		if g.name != "off-cpu-sums" {
			continue
		}
		set, st, err := form{}.convert(g.rec, g.opts)
		if err != nil || st.FirstTime != 5 || st.LastTime != 6 || set.DurationNanos != 1 {
			t.Errorf("from %d to %d, %d ns, %v; want from 5 to 6", st.FirstTime, st.LastTime, set.DurationNanos, err)
		}
	}
}
