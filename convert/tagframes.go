package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprof/convert/printable"
	"kprof/convert/stacks"
	"kprof/convert/transform"
)

// NoLabelError says that no sample has a label.
type NoLabelError struct {
	Key  string
	Have []string // keys of labels that samples have, sorted
}

func (e *NoLabelError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("samples have no label %q, nor any other", e.Key)
	}
	return fmt.Sprintf("samples have no label %q, but %s", e.Key, strings.Join(e.Have, ", "))
}

// noTag is the frame of samples without the label.
const noTag = "(none)"

// Reshape makes frames of the values of labels, as Options.TagRoot and TagLeaf say:
// functions called as the value, in a file called as the key, that no linker knows; then it removes the frames that a
// profile of another tool says to (drop_frames, as pprof does), and does Options.Transforms.
// It is for profiles of New, once they have names; Read does so itself. A key that no sample
// has is a *NoLabelError, a transform that leaves nothing a *transform.NoneError, unless
// Options.Part says otherwise.
func (p *Profile) Reshape() error {
	if p.Set.NumSamples() == 0 {
		return nil
	}
	first := uint32(len(p.Set.Locations))
	if err := p.addTagFrames(); err != nil {
		return err
	}
	if len(p.opts.Transforms) > 0 {
		p.Stats.Durations, p.Stats.Calls = nil, nil // of all stacks
	}
	end := uint32(len(p.Set.Locations))
	steps := p.opts.Transforms
	if p.Set.DropFrames != "" {
		prune, err := transform.Prune(p.Set.DropFrames, p.Set.KeepFrames)
		if err != nil {
			return fmt.Errorf("frames that the profile says to drop: %w", err)
		}
		steps = slices.Concat([]transform.Transform{prune}, steps)
	}
	if len(steps) > 0 {
		for event := range p.Set.Events {
			p.whole = append(p.whole, p.Set.Totals(event))
		}
	}
	err := transform.Apply(p.Set, steps, func(loc uint32) bool { return loc >= first && loc < end })
	if p.opts.Part && errors.As(err, &p.none) {
		return nil
	}
	return err
}

// AllStacks is the sum of a column over all stacks that were read, where Options.Transforms may
// have left out some; else it is false.
func (p *Profile) AllStacks(event, column int) (sum int64, transformed bool) {
	if event >= len(p.whole) {
		return 0, false
	}
	return p.whole[event][column], true
}

func (p *Profile) addTagFrames() error {
	if len(p.opts.TagRoot)+len(p.opts.TagLeaf) == 0 {
		return nil
	}
	s := p.Set
	for _, key := range slices.Concat(p.opts.TagRoot, p.opts.TagLeaf) {
		if !p.opts.Part && !hasLabel(s, key) {
			return &NoLabelError{key, s.LabelKeys()}
		}
	}
	locations := map[stacks.Function]uint32{}
	frames := func(l stacks.LabelsID, keys []string) []uint32 {
		var locs []uint32
		for _, key := range slices.Backward(keys) {
			f := stacks.Function{Name: tagValue(s, l, key), File: key} // see Set.IsLabel
			loc, known := locations[f]
			if !known {
				loc = s.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
				s.SetLines(loc, stacks.Line{Function: s.AddFunction(f)})
				locations[f] = loc
			}
			locs = append(locs, loc)
		}
		return locs
	}
	type ends struct{ leaf, root []uint32 }
	known := make([]*ends, s.NumLabels())
	s.Extend(func(l stacks.LabelsID) (leaf, root []uint32) {
		if known[l] == nil {
			known[l] = &ends{frames(l, p.opts.TagLeaf), frames(l, p.opts.TagRoot)}
		}
		return known[l].leaf, known[l].root
	})
	return nil
}

// tagValue is the value of a label, or the values, as pprof writes them.
func tagValue(s *stacks.Set, l stacks.LabelsID, key string) string {
	var values []string
	for _, label := range s.Labels(l) {
		switch {
		case label.Key != key:
		case label.Str != "":
			values = append(values, label.Str)
		default:
			values = append(values, printable.Value(label.Num, label.Unit))
		}
	}
	if len(values) == 0 {
		return noTag
	}
	return strings.Join(values, ",")
}

// LabelKeys are the keys of the labels that samples have, sorted.
func (p *Profile) LabelKeys() []string { return p.Set.LabelKeys() }
