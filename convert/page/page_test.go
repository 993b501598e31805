package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
)

// pageOf writes a page.
func pageOf(t testing.TB, s *stacks.Set, o Options) string {
	t.Helper()
	return pageWithin(t, usualLimits, s, o)
}

// pageWithin writes a page within limits.
func pageWithin(t testing.TB, limits pageLimits, s *stacks.Set, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := write(&b, s, o, limits); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pageRows reads the data of a page by itself, from what pageHead says of it: each
// row as a line "event|outer;inner|key=value …|values", and of times
// "time|…|values of its row".
func pageRows(t testing.TB, page string) (head map[string]any, rows, moments []string) {
	t.Helper()
	_, text, _ := strings.Cut(page, `id="data">`)
	text, _, _ = strings.Cut(text, "<")
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(data)
	long := func() uint64 {
		v, err := binary.ReadUvarint(in)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	next := func() int { return int(long()) }
	raw := make([]byte, next())
	io.ReadFull(in, raw)
	if err := json.Unmarshal(raw, &head); err != nil {
		t.Fatal(err)
	}
	list := func(v any) []any { l, _ := v.([]any); return l }
	number := func(v any) int { return int(v.(float64)) }
	field := func(v any, name string) any { return v.(map[string]any)[name] }
	names, frames := list(head["names"]), list(head["frames"])

	callees := make([][]int, len(frames)/6+1)
	for i := range callees {
		for n := next(); n > 0; n-- {
			callees[i] = append(callees[i], next())
		}
	}
	nodes := number(head["nodes"])
	depth := make([]int, nodes)
	for i := 1; i < nodes; i++ {
		depth[i] = depth[i-1] + 1 - next()
	}
	paths, path, above := make([]string, nodes), []string{}, []int{len(callees) - 1}
	for i := 1; i < nodes; i++ {
		frame := callees[above[depth[i]-1]][next()]
		above = append(above[:depth[i]], frame)
		path = append(path[:depth[i]-1], names[number(frames[6*frame])].(string))
		paths[i] = strings.Join(path, ";")
	}
	labels := func(id int) string {
		l, text := list(list(head["labels"])[id]), []string{}
		for i := 0; i < len(l); i += 2 {
			k := number(l[i])
			text = append(text, list(head["keys"])[k].(string)+"="+list(list(head["values"])[k])[number(l[i+1])].(string))
		}
		return strings.Join(text, " ")
	}
	var keys []string
	var labelsOf, counts []int // by row
	sums := map[string][]int64{}
	for _, e := range list(head["events"]) {
		at := make([]string, number(field(e, "rows")))
		values := make([][]int64, len(at))
		node := 0
		for i := range at {
			node += next()
			at[i] = field(e, "name").(string) + "|" + paths[node] + "|"
		}
		for i := range at {
			labelsOf = append(labelsOf, next())
			at[i] += labels(labelsOf[len(labelsOf)-1]) + "|"
		}
		for _, c := range list(field(e, "columns")) {
			for i := range at {
				if f := number(field(c, "factor")); f != 0 {
					values[i] = append(values[i], values[i][0]*int64(f))
					continue
				}
				v, err := binary.ReadVarint(in)
				if err != nil {
					t.Fatal(err)
				}
				values[i] = append(values[i], v)
			}
		}
		for i := range at {
			keys = append(keys, at[i])
			counts = append(counts, int(values[i][0]))
			sum := sums[at[i]] // rows that only their mappings tell apart
			for c, v := range values[i] {
				if c == len(sum) {
					sum = append(sum, 0)
				}
				sum[c] += v
			}
			sums[at[i]] = sum
		}
	}
	if head["cut"].(bool) {
		for _, e := range list(head["events"]) {
			for range list(field(e, "columns")) {
				for n := next(); n > 0; n-- {
					next()
					next()
					next()
				}
			}
		}
	}
	moments = []string{}
	if number(head["moments"]) > 0 {
		clock, err := strconv.ParseInt(head["clock"].(string), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]uint64, len(list(head["labels"])))
		for i := range first {
			first[i] = long()
		}
		row := 0
		for _, e := range list(head["events"]) {
			for range number(field(e, "rows")) {
				if !field(e, "counted").(bool) {
					counts[row] = next()
				}
				row++
			}
		}
		for row, n := range counts {
			bin := first[labelsOf[row]]
			for range n {
				bin += long()
				moments = append(moments, fmt.Sprint(clock+int64(bin)*int64(number(head["bin"])))+"|"+keys[row]+fmt.Sprint(sums[keys[row]]))
			}
		}
		if len(moments) != number(head["moments"]) {
			t.Errorf("%d moments, the head says %v", len(moments), head["moments"])
		}
		if head["weighed"].(bool) {
			for range moments {
				next()
			}
		}
		slices.Sort(moments)
	}
	for key, sum := range sums {
		rows = append(rows, key+fmt.Sprint(sum))
	}
	if in.Len() > 0 {
		t.Errorf("%d bytes behind the last column", in.Len())
	}
	slices.Sort(rows)
	return head, rows, moments
}

// setRows is what pageRows is to be, from the Set.
func setRows(s *stacks.Set) (rows, moments []string) {
	n := s.Names()
	key := func(x stacks.Sample) string {
		var path, labels []string
		stack := s.Stack(x.Stack)
		for i := len(stack) - 1; i >= 0; i-- {
			names := n.Of(stack[i])
			for j := len(names) - 1; j >= 0; j-- {
				path = append(path, shownName(n.Names[names[j]]))
			}
		}
		if len(path) == 0 {
			path = []string{"[unknown]"}
		}
		for _, l := range s.Labels(x.Labels) {
			v := l.Str
			if v == "" {
				v = strings.TrimSuffix(fmt.Sprintf("%d %s", l.Num, l.Unit), " ")
			}
			labels = append(labels, l.Key+"="+v)
		}
		return s.Events[x.Event].Name + "|" + strings.Join(path, ";") + "|" + strings.Join(labels, " ") + "|"
	}
	sums := map[string][]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		sum := sums[key(x)]
		if sum == nil {
			sum = make([]int64, len(x.Values))
		}
		for c, v := range x.Values {
			sum[c] += v
		}
		sums[key(x)] = sum
	}
	for k, v := range sums {
		rows = append(rows, k+fmt.Sprint(v))
	}
	slices.Sort(rows)
	moments = []string{}
	for _, m := range s.TimedSamples {
		k := key(s.Sample(int(m.Sample)))
		moments = append(moments, fmt.Sprint(m.Time)+"|"+k+fmt.Sprint(sums[k]))
	}
	slices.Sort(moments)
	return rows, moments
}

// oddSet has two events, inlined frames, a stack without any, labels with units,
// values below 0 and above 2⁵³, times, and names of all sorts.
func oddSet() *stacks.Set {
	s := stacks.New(
		stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cycles", Unit: "count"}}},
		stacks.Event{Name: "alloc:<b>", Values: []stacks.ValueType{{Type: "bytes", Unit: "bytes"}}},
	)
	kernel := s.AddMapping(stacks.Mapping{File: "[kernel.kallsyms]", Kind: stacks.KindKernel})
	program := s.AddMapping(stacks.Mapping{File: "/opt/a b/prog", Kind: stacks.KindUser})
	named := func(m int32, kind stacks.Kind, names ...string) uint32 {
		l := s.AddLocation(m, uint64(len(s.Locations)), kind)
		var lines []stacks.Line
		for _, n := range names {
			lines = append(lines, stacks.Line{Function: s.AddFunction(stacks.Function{Name: n, File: "src/" + n})})
		}
		s.SetLines(l, lines...)
		return l
	}
	main := named(program, stacks.KindUser, "main")
	outer := named(program, stacks.KindUser, "in_<innermost>", "in&between", "outer")
	again := named(program, stacks.KindUser, "main")
	read := named(kernel, stacks.KindKernel, "vfs_read")
	odd := named(kernel, stacks.KindKernel, "bad \xff utf-8")
	long := named(program, stacks.KindUser, strings.Repeat("x<", 2000))
	nameless := s.AddLocation(program, 99, stacks.KindUser)
	empty := named(kernel, stacks.KindKernel, "")
	nowhere := s.AddLocation(stacks.NoMapping, 7, stacks.KindUnknown)

	labels := func(comm string, pid int64) stacks.LabelsID {
		return s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}, {Key: "pid", Num: pid}, {Key: "size", Num: pid * 8, Unit: "bytes"}})
	}
	for i, stack := range [][]uint32{
		{main}, {outer, main}, {outer, again}, {again, outer, main}, {read, nameless, main}, {odd, read, main},
		{long, main}, {nowhere}, {}, {empty}, {read}, {read, outer, main},
	} {
		id := s.Intern(stack)
		n := int64(i + 1)
		row := s.Add(0, id, labels("<i>sh", n%3), n, n*1000)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(5e12) + uint64((i*7)%11)*1000, Sample: uint32(row), Value: 1000})
		s.Add(0, id, 0, 1, 1000)
		s.Add(1, id, labels("other", n%2), []int64{-5, 1 << 60, math.MinInt64, 3}[i%4])
	}
	s.SortTimedSamples()
	return s
}

// TestHTMLData: what is in the page is what is in the Set.
func TestHTMLData(t *testing.T) {
	noValues := stacks.New(stacks.Event{Name: "nothing", Values: stackstest.CountAndTime})
	for name, s := range map[string]*stacks.Set{
		"odd": oddSet(), "rows": stackstest.SetOf(stackstest.PlainRows(3, 300)), "wide": stackstest.Wide(2000, 12, 300), "empty": noValues,
	} {
		_, rows, moments := pageRows(t, pageOf(t, s, Options{}))
		wantRows, wantMoments := setRows(s)
		if diff := cmp.Diff(wantRows, rows); diff != "" {
			t.Errorf("%s: rows: %s", name, diff)
		}
		if diff := cmp.Diff(wantMoments, moments); diff != "" {
			t.Errorf("%s: moments: %s", name, diff)
		}
	}
}

// TestTimeBins: times are those of the bins that they are in, which are as short as there is room
// for, by how long those lived that had samples; none is left out.
func TestTimeBins(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	var ids []stacks.StackID
	for i := range 40 {
		l := s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprint("f", i)})})
		ids = append(ids, s.Intern([]uint32{l}))
	}
	r := rand.New(rand.NewPCG(4, 4))
	const samples, lived = 20_000, 16_000_000 // of each in 20 s, one after the other
	for i := range uint64(samples) {
		at := i * 1_000_000
		pid := at / lived
		row := s.Add(0, ids[r.IntN(len(ids))], s.InternLabels([]stacks.Label{{Key: "pid", Num: int64(pid)}}), 1)
		s.AddTimedSample(stacks.TimedSample{Time: 1e12 + 1 + at + r.Uint64N(999_999), Sample: uint32(row), Value: 1})
	}
	s.SortTimedSamples()
	_, want := setRows(s)
	for _, x := range []struct {
		bits int // of each sample
		bin  uint64
	}{{32, 1}, {14, 1000}, {10, 20_000}, {7, 200_000}, {0, 500_000}} { // 16 ms are 2^13.97 µs; 2^15 bins there are in any case
		head, _, got := pageRows(t, pageWithin(t, pageLimits{1 << 20, samples, x.bits * samples}, s, Options{}))
		if bin := uint64(head["bin"].(float64)); bin != x.bin {
			t.Errorf("%d bits: bins of %d ns, want %d", x.bits, bin, x.bin)
		}
		var binned []string
		for _, m := range want {
			at, rest, _ := strings.Cut(m, "|")
			ns, err := strconv.ParseUint(at, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			first := s.TimedSamples[0].Time
			binned = append(binned, fmt.Sprint(first+(ns-first)/x.bin*x.bin)+"|"+rest)
		}
		slices.Sort(binned)
		if !slices.Equal(binned, got) {
			t.Errorf("%d bits: the samples are not in their bins", x.bits)
		}
		if said := strings.Contains(fmt.Sprint(head["comments"]), "bins"); said != (x.bin > 1) {
			t.Errorf("%d bits: the page says %v", x.bits, head["comments"])
		}
	}
}

// TestHTMLCut: of a profile with too many nodes or times, what is left out is light,
// is told, and is still in the sums.
func TestHTMLCut(t *testing.T) {
	s := stackstest.Wide(3000, 12, 600)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		x := s.Sample(i)
		stack := s.Stack(x.Stack)
		s.Add(0, s.Intern(stack[r.IntN(len(stack)):]), x.Labels, r.Int64N(30), 1)
	}
	heavy := s.Sample(1234)
	s.Add(0, heavy.Stack, heavy.Labels, 5000, 1)
	for i := range 9 {
		s.AddTimedSample(stacks.TimedSample{Time: uint64(i + 1), Sample: 5, Value: 1})
	}
	var b strings.Builder
	const most = 5000
	if err := write(&b, s, Options{}, pageLimits{most, 8, 1 << 20}); err != nil {
		t.Fatal(err)
	}
	head, rows, moments := pageRows(t, b.String())
	if n := head["nodes"].(float64); n < most || n > 2*most {
		t.Errorf("%v nodes, asked for %d", n, most)
	}
	if said := fmt.Sprint(head["comments"]); !strings.Contains(said, "lightest") || !strings.Contains(said, "the times of 9 samples") || len(moments) > 0 {
		t.Errorf("%d times, and the page says %s", len(moments), said)
	}

	// Each path is there up to where it is cut.
	kept := map[string]bool{}
	for _, row := range rows {
		names := strings.Split(strings.Split(row, "|")[1], ";")
		for i := range names {
			kept[strings.Join(names[:i], ";")] = true
			if names[i] != "…" {
				kept[strings.Join(names[:i+1], ";")] = true
			}
		}
	}
	n := s.Names()
	sums := map[string][]int64{}
	keptLeast, cutMost := int64(math.MaxInt64), int64(0)
	weights := map[string]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		names := path(s, n, x)
		for k := range names {
			weights[strings.Join(names[:k+1], ";")] += x.Values[0]
		}
		end := 0
		for end < len(names) && kept[strings.Join(names[:end+1], ";")] {
			end++
		}
		if end < len(names) {
			names = append(names[:end:end], "…")
		}
		var labels []string
		for _, l := range s.Labels(x.Labels) {
			labels = append(labels, l.Key+"="+labelText(l))
		}
		key := "cpu-clock|" + strings.Join(names, ";") + "|" + strings.Join(labels, " ") + "|"
		if sums[key] == nil {
			sums[key] = []int64{0, 0}
		}
		sums[key][0] += x.Values[0]
		sums[key][1] += x.Values[1]
	}
	var want []string
	for key, sum := range sums {
		want = append(want, key+fmt.Sprint(sum))
	}
	slices.Sort(want)
	equal(t, "rows", rows, want)
	for path, w := range weights {
		if kept[path] {
			keptLeast = min(keptLeast, w)
		} else {
			cutMost = max(cutMost, w)
		}
	}
	if cutMost > 2*max(keptLeast, 1) {
		t.Errorf("a path of %d is cut, and one of %d kept", cutMost, keptLeast)
	}
	if !strings.Contains(strings.Join(rows, "\n"), "…|") {
		t.Error("nothing is cut")
	}

	p := openPage(t, b.String(), browsertest.View{})
	equal(t, "functions", pageFunctions(p, 0), costsOf(s, 0))
	equal(t, "sum", total(p), s.Totals(0)[0])
}

// TestHTMLPolicy: the page allows its own scripts and styles, by hash, and no
// other; and no text of the profile is part of its markup.
func TestHTMLPolicy(t *testing.T) {
	page := pageOf(t, oddSet(), Options{Title: `</title><script>alert(1)</script>{{data}}{{script}}`})
	for _, not := range []string{"<script>alert", "in_<innermost>", "http://", "https://", "src=", "<b>"} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %s", not)
		}
	}
	if n := strings.Count(page, "<script"); n != 2 || strings.Count(page, "</script") != n || strings.Count(page, "<style") != 1 {
		t.Errorf("%d scripts, not that of the data and that of the page", n)
	}
	_, policy, _ := strings.Cut(page, `Content-Security-Policy" content="`)
	policy, _, _ = strings.Cut(policy, `"`)
	for _, tag := range []string{"style", "script"} {
		_, text, _ := strings.Cut(page, "<"+tag+">")
		text, _, _ = strings.Cut(text, "</"+tag+">")
		if want := tag + "-src " + sourceHash(text); !strings.Contains(policy, want) {
			t.Errorf("the policy has no %s: %s", want, policy)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %s", policy)
	}
}

func TestHTMLErrors(t *testing.T) {
	s := oddSet()
	for want, o := range map[string]Options{
		"write page: no event 2 among 2":                       {Event: 2},
		`write page: no column 1 among 1 of event "alloc:<b>"`: {Event: 1, Column: 1},
		`write page: no column -1 among 2 of event "cycles"`:   {Column: -1},
		"write page: no event -1 among 2":                      {Event: -1},
	} {
		if err := Write(io.Discard, s, o); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	whole := len(pageOf(t, s, Options{}))
	for left := 0; left < whole; left += whole / 50 {
		if err := Write(&stackstest.Failing{N: left}, s, Options{}); !errors.Is(err, stackstest.ErrFull) {
			t.Errorf("error after %d of %d bytes: %v", left, whole, err)
		}
	}
}
