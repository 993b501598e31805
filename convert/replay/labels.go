package replay

import (
	"fmt"

	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/cgroup"
)

// labelKey is all that labels of a sample may say.
type labelKey struct {
	name          timeline.NameID
	pid, tid, cpu int32
	fields        uint32 // number of a list, see fieldLabels
	cgroup        uint64 // id; 0 for none
}

// labels makes the labels of samples: comm and pid, and what was asked for.
type labels struct {
	tl    *timeline.Timeline
	set   *stacks.Set
	which Labels
	ids   map[labelKey]stacks.LabelsID
	last  []labelled       // direct-mapped cache of ids, by task
	lists [][]stacks.Label // of fields, by number

	asked  uint64
	others uint64 // samples whose labels do not tell the task
	most   uint64 // lists that there may be at all, 0 for any number
}

// maxLabels bounds the different lists of labels, and an eighth of the samples may
// have more: a recording may have each of its samples from another process.
// Samples of further tasks have labels that tell nothing.
const maxLabels = 1 << 17

// otherTasks is the name of tasks that are not told apart.
const otherTasks = "[others]"

type labelled struct {
	key labelKey
	id  stacks.LabelsID
	set bool
}

func newLabels(tl *timeline.Timeline, set *stacks.Set, which Labels) labels {
	return labels{
		tl: tl, set: set, which: which,
		lists: make([][]stacks.Label, 1), // the first has none
		ids:   map[labelKey]stacks.LabelsID{},
		last:  make([]labelled, 1<<10),
	}
}

// of returns the id of a task's labels in the Set.
func (l *labels) of(key labelKey) stacks.LabelsID {
	if l.which&LabelTID == 0 && key.name != timeline.NoName {
		key.tid = 0
	}
	if l.which&LabelCPU == 0 {
		key.cpu = 0
	}
	l.asked++
	last := &l.last[(uint32(key.pid^key.tid)+key.fields)%uint32(len(l.last))]
	if !last.set || last.key != key {
		id, known := l.ids[key]
		if n := uint64(len(l.ids)); !known && (n >= maxLabels+l.asked/8 || l.most > 0 && n >= l.most) {
			l.others++
			return l.set.InternLabels([]stacks.Label{{Key: "comm", Str: otherTasks}})
		}
		if !known {
			id = l.intern(key)
			l.ids[key] = id
		}
		*last = labelled{key, id, true}
	}
	return last.id
}

func (l *labels) intern(key labelKey) stacks.LabelsID {
	list := []stacks.Label{
		{Key: "comm", Str: l.tl.Comm(key.name, key.tid)},
		{Key: "pid", Num: int64(key.pid)},
	}
	if l.which&LabelTID != 0 {
		list = append(list, stacks.Label{Key: "tid", Num: int64(key.tid)})
	}
	if l.which&LabelCPU != 0 && key.cpu >= 0 {
		list = append(list, stacks.Label{Key: "cpu", Num: int64(key.cpu)})
	}
	if key.cgroup != 0 {
		list = append(list, l.cgroup(key.cgroup)...)
	}
	return l.set.InternLabels(append(list, l.lists[key.fields]...))
}

// CgroupLabel and ContainerLabel are the keys of labels that samples have whose event tells
// their cgroup: its path, and what runs in it (cgroup.Container), where that is known.
const (
	CgroupLabel    = "cgroup"
	ContainerLabel = "container"
)

func (l *labels) cgroup(id uint64) []stacks.Label {
	path, ok := l.tl.Cgroup(id)
	if !ok {
		return []stacks.Label{{Key: CgroupLabel, Str: fmt.Sprintf("[cgroup %d]", id)}}
	}
	list := []stacks.Label{{Key: CgroupLabel, Str: path}}
	if name := cgroup.Container(path); name != "" {
		list = append(list, stacks.Label{Key: ContainerLabel, Str: name})
	}
	return list
}
