package page

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
)

// TestSiblings: functions of the same name are one in the tree by name, whatever holds them and
// those that call them; in the other they are told apart by that.
func TestSiblings(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	s := stacks.New(stacks.Event{Name: "cpu", Values: stackstest.CountAndTime[:1]})
	type place struct{ name, file string }
	places := map[uint32]place{}
	var locs []uint32
	for m := range 3 {
		file := fmt.Sprint("lib", m)
		id := s.AddMapping(stacks.Mapping{File: file, Kind: stacks.KindUser})
		for i := range 4 {
			l := s.AddLocation(id, uint64(i), stacks.KindUser)
			s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprint("f", i)})})
			places[l] = place{fmt.Sprint("f", i), file}
			locs = append(locs, l)
		}
	}
	byName, byPlace := map[string]int64{}, map[string]bool{}
	for range 3000 {
		var stack []uint32
		var names, files []string
		for range 1 + r.IntN(7) {
			l := locs[r.IntN(len(locs))]
			stack = append([]uint32{l}, stack...)
			names, files = append(names, places[l].name), append(files, places[l].name+" "+places[l].file)
			byName[strings.Join(names, ";")] += 0
			byPlace[strings.Join(files, ";")] = true
		}
		byName[strings.Join(names, ";")]++
		s.Add(0, s.Intern(stack), 0, 1)
	}
	p := openHTML(t, s, browsertest.View{})
	got := browsertest.Eval[map[string]int64](p, `(() => {
		const {tree: {parent, depth, frame, again, rowNode}, frameName, names, events: [{values: [values]}]} = kprof.p;
		const paths = [[]], out = {};
		for (let i = 1; i < parent.length; i++) {
			const name = names[frameName[frame[i]]], above = paths[parent[i]];
			if (parent[i] >= i || depth[i] !== above.length + 1 || again[i] !== Number(above.includes(name))) throw new Error('node ' + i);
			paths[i] = [...above, name];
			if (out[paths[i].join(';')] !== undefined) throw new Error('twice: ' + paths[i].join(';'));
			out[paths[i].join(';')] = 0;
		}
		rowNode.forEach((node, row) => { out[paths[node].join(';')] += values[row] });
		return out;
	})()`)
	equal(t, "by name", got, byName)
	equal(t, "by what holds them", browsertest.Eval[int](p, "kprof.p.full.parent.length"), len(byPlace)+1)
}
