package store

import (
	"fmt"
	"slices"
	"strings"
)

// Limits are what a store takes. The zero value of each is the default of Pyroscope, with
// room to spare.
type Limits struct {
	Samples    int // in a profile: 15,000 of 16,000
	Bytes      int // of a profile that is not compressed: 1.5 MB, as bursts of a tenant may have 2 MB; of 4 MiB
	LabelNames int // of a series: 30
	// BytesPerSecond that are sent, as they are not compressed: 3.5 MB of 4 MB of a tenant,
	// which may have other senders.
	BytesPerSecond int
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, standard int) {
		if *v == 0 {
			*v = standard
		}
	}
	set(&l.Samples, 15_000)
	set(&l.Bytes, 1_500_000)
	set(&l.LabelNames, 30)
	set(&l.BytesPerSecond, 3_500_000)
	return l
}

// What a store takes of a label.
const (
	maxNameLength  = 1024
	maxValueLength = 2048
)

// Name makes a label's name of any text, in the alphabet of Prometheus:
// [a-zA-Z_][a-zA-Z0-9_]*. A whole profile would be refused for one that is not.
func Name(s string) string {
	var b strings.Builder
	for i := range min(len(s), maxNameLength-1) {
		c := s[i]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		switch {
		case letter, i > 0 && '0' <= c && c <= '9':
			b.WriteByte(c)
		case '0' <= c && c <= '9':
			b.WriteString("_" + string(c))
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// value is what of a text a label may have.
func value(s string) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) > maxValueLength {
		s = strings.ToValidUTF8(s[:maxValueLength], "")
	}
	return s
}

// series returns the labels of a series, sorted by name: those given, later ones instead
// of earlier ones, without those that have no value, and in a protocol's names: see otlpLabel.
func series(labels []Label, limit int, p Protocol) ([]Label, error) {
	var all []Label
	for _, l := range labels {
		if p == OTLP {
			l = otlpLabel(l)
		} else {
			l = Label{Name(l.Name), value(l.Value)}
		}
		if strings.HasPrefix(l.Name, "__") && l.Name != nameLabel {
			return nil, fmt.Errorf("label %s: names that begin with __ are the store's own", l.Name)
		}
		if i := slices.IndexFunc(all, func(o Label) bool { return o.Name == l.Name }); i >= 0 {
			all[i] = l
		} else {
			all = append(all, l)
		}
	}
	all = slices.DeleteFunc(all, func(l Label) bool { return l.Value == "" })
	if len(all) > limit {
		return nil, fmt.Errorf("%d labels, and the store takes %d", len(all), limit)
	}
	slices.SortFunc(all, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// nameLabel is the label of what kind of profile it is.
const nameLabel = "__name__"
