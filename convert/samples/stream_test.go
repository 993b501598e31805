package samples

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata/perftext"
)

// listed is a sample with all that its stage adds to it.
func listed(s *Sample, comm string) string {
	return fmt.Sprintf("%d %s %d/%d %v %x", s.Time, comm, s.PID, s.TID, s.Counts, s.Callchain)
}

// TestStreamAsFile: a Stream that gets the records of a file gives the samples that are
// in it, each with the same state.
func TestStreamAsFile(t *testing.T) {
	for _, name := range []string{"demo.data", "recordings/armv7.data", "recordings/s390x.data", "recordings/deferred-7.3.data"} {
		r := perftext.Open(t, "../../testdata/"+name)
		f, err := Scan(t.Context(), r, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var whole, rounds []string
		if err := f.Each(t.Context(), func(s *Sample) { whole = append(whole, listed(s, f.Timeline.Comm(s.State.Name, s.TID))) }); err != nil {
			t.Fatal(err)
		}
		var stream *Stream
		begun := 0
		stream = NewStream(r.Events, Consumer{
			Begin: func(uint64) { begun++ },
			Emit: func(s *Sample) {
				rounds = append(rounds, listed(s, stream.Timeline.Comm(s.State.Name, s.TID)))
			},
		})
		for rec, err := range r.Records() {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type >= abi.RecordHeaderAttr {
				continue
			}
			b := rec.Header.AppendTo(nil, r.Order())
			if err := stream.Write(b, rec.Payload); err != nil {
				t.Fatal(err)
			}
			if rec.Type == abi.RecordFinishedRound {
				stream.FinishRound()
			}
		}
		stream.Finish()
		slices.Sort(whole)
		slices.Sort(rounds)
		if len(whole) == 0 || begun != 1 || !slices.Equal(whole, rounds) {
			t.Errorf("%s: %d samples, as a stream %d, begun %d times:\n%s\nas a stream\n%s", name, len(whole), len(rounds), begun,
				strings.Join(whole[:min(3, len(whole))], "\n"), strings.Join(rounds[:min(3, len(rounds))], "\n"))
		}
		if st := stream.Stats(); st.BadRecords != 0 || int(st.Records[abi.RecordSample]) < len(whole) && f.Stats().MissingDeferredChains == 0 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
