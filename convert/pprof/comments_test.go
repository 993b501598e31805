package pprof

import (
	"bytes"
	"fmt"
	rpprof "runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:noinline
func descend(depth int, f func()) {
	if depth > 0 {
		descend(depth-1, f)
		return
	}
	inlined(f)
}

func inlined(f func()) { f() }

// TestTextOfGo: Go's text has the names and lines that its profile.proto has, but for the runtime's.
func TestTextOfGo(t *testing.T) {
	var began, ended sync.WaitGroup
	end := make(chan struct{})
	for range 3 {
		began.Add(1)
		ended.Go(func() {
			descend(3, func() {
				began.Done()
				<-end
			})
		})
	}
	began.Wait()
	stacks := func(debug int) (all []string) {
		var b bytes.Buffer
		if err := rpprof.Lookup("goroutine").WriteTo(&b, debug); err != nil {
			t.Fatal(err)
		}
		s, err := Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.NumSamples() {
			x := s.Sample(i)
			text := fmt.Sprint(x.Values[0])
			for _, loc := range s.Stack(x.Stack) {
				if len(s.Lines(loc)) == 0 {
					t.Errorf("debug=%d: a frame without a name", debug)
				}
				for _, line := range s.Lines(loc) {
					f := s.Functions[line.Function]
					if f.Name != "[runtime]" && !strings.HasPrefix(f.Name, "runtime.") {
						text += fmt.Sprintf(" %s %s:%d", f.Name, f.File, line.Line)
					}
				}
			}
			if strings.Contains(text, ".inlined ") {
				all = append(all, text)
			}
		}
		slices.Sort(all)
		return all
	}
	want := stacks(0)
	if diff := cmp.Diff(want, stacks(1)); diff != "" || len(want) == 0 {
		t.Errorf("%d stacks, -profile.proto +text:\n%s", len(want), diff)
	}
	close(end)
	ended.Wait()
}

// TestCommentsOfGo: a frame that several stacks have, or that calls itself, is named once; what is
// no frame is passed over.
func TestCommentsOfGo(t *testing.T) {
	text := "goroutine profile: total 4\n" +
		"3 @ 0x9 0x11 0x21 0x21 0x31\n" +
		"#\t0x10\tmain.a+0x1\t/x/a.go:1\n#\t0x20\tmain.in+0x2\t/x/b.go:2\n#\t0x20\tmain.out+0x2\t/x/b.go:3\n" +
		"#\t0x20\tmain.in+0x2\t/x/b.go:2\n#\t0x20\tmain.out+0x2\t/x/b.go:3\n\n" +
		"2 @ 0x9 0x7 0x11\n#\t0x10\tmain.a+0x1\t/x/a.go:1\n" +
		"1 @ 0x11 0x41 0x31\n" +
		"#\t0x10\tmain.a+0x1\t/x/a.go:1\n#\t0x40\n#\t0x50\tmain.other+0x1\t/x/a.go:1\n# x\n#\tz\tmain.z+0x1\t/x/a.go:1\n#\t0x30\tmain.c\t/x/a.go:1\n#\t0x30\tmain.c+0x1\t/x/a.go:x\n"
	s, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for loc := range s.Locations {
		text := fmt.Sprintf("%#x", s.Locations[loc].Addr)
		for _, line := range s.Lines(uint32(loc)) {
			text += fmt.Sprintf(" %s:%d", s.Functions[line.Function].Name, line.Line)
		}
		got = append(got, text)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"0x10 main.a:1", "0x20 main.in:2 main.out:3", "0x30", "0x40", "0x6 [runtime]:0", "0x8 [runtime]:0"}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(s.Stack(0)); n != 4 {
		t.Errorf("%d frames, want 4, without runtime.goexit", n)
	}
}
