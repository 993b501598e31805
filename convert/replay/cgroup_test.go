package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata/perftext"
)

// TestCgroups: samples are labelled by the path of their cgroup, and by the container in it;
// by the number of one whose path was not recorded; and not at all where events do not tell it.
func TestCgroups(t *testing.T) {
	const container = "/docker/3f4e1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7"
	record := func(id uint64, path string) string {
		path += strings.Repeat("\x00", 8-len(path)%8)
		return fmt.Sprintf("record type=19 misc=0 data=%s%x%s\n", words(id), path, words(7<<32|7, 0)) // its sample id
	}
	sample := func(id uint64) string {
		return fmt.Sprintf("record type=9 misc=2 data=%s\n", words(0x1000, 7<<32|7, 1, 0, id))
	}
	for told, want := range map[bool][]string{
		true:  {"[cgroup 9] ", container + " docker:3f4e1a2b3c4d", "/system.slice/ssh.service ssh.service", "/ "},
		false: {" "},
	} {
		text := "event cycles type=hardware sample=ip,tid,time,callchain flags=sample_id_all,cgroup\n" +
			record(5, container) + record(6, "/system.slice/ssh.service") + record(1, "/")
		for _, id := range []uint64{9, 5, 6, 1, 5} {
			if told {
				text += sample(id)
			} else {
				text += "sample t=1 pid=7 user 0x1000\n"
			}
		}
		for _, f := range []form{{}, {Form: perftext.Form{Pipe: true}}, {Form: perftext.Form{Pipe: true}, stream: true}} {
			rec := perftext.MustParse(text)
			if told {
				rec.Events[0].Attr.SampleType |= abi.SampleCgroup
			}
			set, _, err := f.convert(rec, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range set.NumSamples() {
				cgroup, _ := set.Label(set.Sample(i).Labels, CgroupLabel)
				container, _ := set.Label(set.Sample(i).Labels, ContainerLabel)
				got = append(got, cgroup.Str+" "+container.Str)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%v, told %v: -want +got\n%s", f, told, d)
			}
		}
	}
}
