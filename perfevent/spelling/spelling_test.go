package spelling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	names := []string{"cycles", "cpu-cycles", "ref-cycles", "cpu-clock", "task-clock", "vfs_read", "vfs_readv", "vfs_write", "schedule", "cs"}
	for _, tt := range []struct{ word, want string }{
		{"cycels", "cycles"}, // letters swapped
		{"cycle", "cycles"},
		{"CYCLES", "cycles"},
		{"clock", "cpu-clock task-clock"},   // contained
		{"schedulers", "schedule"},          // two letters of ten
		{"schedule_everything", "schedule"}, // begins with it
		{"shedule", "schedule"},
		{"vfs_rad", "vfs_read"},
		{"cpuclock", "cpu-clock"},
		{"vfs", ""}, // too short for what contains it
		{"task", "task-clock"},
		{"cs_switched", ""}, // begins with what is too short
		{"xs", "cs"},
		{"nothing", ""},
		{"", ""},
	} {
		if got := strings.Join(Closest(tt.word, names), " "); got != tt.want {
			t.Errorf("Closest(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
	if got := Closest("name", []string{"name1", "name2", "name1", "name3", "name4", "name5", "name6"}); len(got) != Most {
		t.Errorf("%d names of six, want %d: %q", len(got), Most, got)
	}
}

// The distance is symmetric, zero for the same word, and says "more" where it is.
func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abcd", "badc", 2},
		{"kitten", "sitting", 3}, {"ca", "abc", 3}, {"sched_swich", "sched_switch", 1},
	} {
		for most := range 5 {
			ab, ba := distance(tt.a, tt.b, most), distance(tt.b, tt.a, most)
			if got := min(ab, most+1); got != min(tt.want, most+1) || min(ba, most+1) != got {
				t.Errorf("distance(%q, %q, %d) = %d and %d, want %d", tt.a, tt.b, most, ab, ba, tt.want)
			}
		}
	}
}

func TestQuestion(t *testing.T) {
	if got := Question(nil) + Question([]string{"a"}) + Question([]string{"a", "b"}) + Question([]string{"a", "b", "c"}); got != "; did you mean a?; did you mean a or b?; did you mean a, b or c?" {
		t.Error(got)
	}
}

func ExampleClosest() {
	events := []string{"page-faults", "minor-faults", "cpu-clock"}
	fmt.Println("no event pagefaults" + Question(Closest("pagefaults", events)))
	// Output: no event pagefaults; did you mean page-faults?
}

// TestClosestContained: of those that contain a word, or that it begins with, the nearest in length are first.
func TestClosestContained(t *testing.T) {
	names := []string{"a_long_read_name", "my_reads", "xx_read_xx", "read_once", "rea"}
	if got, want := strings.Join(Closest("read", names), " "), "rea"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := strings.Join(Closest("read", names[:4]), " "), "my_reads read_once xx_read_xx a_long_read_name"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := strings.Join(Closest("read_once_or_twice", []string{"read", "read_once", "read_once_or_more_often"}), " "), "read_once read"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestClosestOrder(t *testing.T) {
	got := Closest("read", []string{"reads", "read", "ready", "vfs_read"})
	if !slices.Equal(got, []string{"read", "reads", "ready"}) {
		t.Error(got)
	}
}
