package format

import (
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestUnits finds a field for each name of the table in the formats that there are: one
// that is a number. A single kernel need not have every event, nor call a field as others
// do: all names are found where there is a collection of several.
func TestUnits(t *testing.T) {
	texts := livetest.Formats(t)
	found := map[[2]string]bool{}
	here := map[string]bool{}
	kernels := map[string]bool{}
	for name, text := range texts {
		kernel, event, _ := strings.Cut(name, "/")
		kernels[kernel] = true
		f, err := Parse(text, Machine{})
		if err != nil {
			t.Fatal(err)
		}
		system, _, _ := strings.Cut(event, ":")
		here[system] = true
		for _, u := range units {
			if !matches(u.event, event) {
				continue
			}
			for n := range strings.FieldsSeq(u.fields) {
				if x := f.Field(n); x != nil && x.Scalar() {
					found[[2]string{u.event, n}] = true
					if Unit(event, n) == "" {
						t.Errorf("%s of %s has no unit", n, event)
					}
				}
			}
		}
	}
	for _, u := range units {
		if system, _, _ := strings.Cut(u.event, ":"); len(kernels) == 1 || !here[system] {
			continue
		}
		for n := range strings.FieldsSeq(u.fields) {
			if !found[[2]string{u.event, n}] {
				t.Errorf("no %s of %s in any of %d formats", n, u.event, len(texts))
			}
		}
	}
	if Unit("kmem:kmalloc", "bytes_alloc") != Bytes || Unit("sched:sched_stat_runtime", "runtime") != Nanoseconds ||
		Unit("block:block_rq_issue", "nr_sector") != Sectors || Unit("kmem:kmalloc", "node") != "" {
		t.Error("units of known fields")
	}
}
