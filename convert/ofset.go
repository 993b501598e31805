package convert

import "kprof/convert/stacks"

// OfSet returns the profile of a Set with names that somebody else made, as what Options
// select of it: where that is nothing, an *EmptyError beside it.
func OfSet(s *stacks.Set, o Options) (*Profile, error) {
	p := &Profile{Set: s, Source: o.Name, opts: &o}
	if err := p.selectRows(&o); err != nil {
		if _, empty := err.(*EmptyError); empty {
			return p, err
		}
		return nil, err
	}
	return p, p.Reshape()
}
