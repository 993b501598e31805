package span

// Late says from when on what happened is known, where the rings of CPUs begin at different times,
// as the oldest in them was overwritten. The zero value is that of what is known from its start on.
//
// What began before All may have ended unseen on a CPU whose ring had not begun, and begun again: the
// next end that is seen would make one long time of several. It is trusted of tasks that were on the
// same CPUs time and again while all was known, where it ends on the CPU on which it began. Of
// simulated schedules one in thousands of these times was wrong, where one in thirty was of all that
// began before All.
type Late struct {
	All   uint64           // ns: of all CPUs
	Tasks map[int32]uint64 // ns, of tasks that keep to some CPUs: of these
}

// hides reports whether what a task began at a time on one CPU, and ended on another, may be more
// than one.
func (l *Late) hides(task int32, since uint64, began, ended int32) bool {
	if since >= l.All {
		return false
	}
	from, settled := l.Tasks[task]
	return !settled || began != ended || since < from
}

// unended is the CPU of an end that was not seen.
const unended = -1
