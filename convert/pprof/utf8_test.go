package pprof

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"kprof/convert/stacks"
)

// stringTable is the table of strings of a profile, as the Go library of protocol buffers reads
// it, which like those of most languages refuses strings that are not UTF-8.
func stringTable(t *testing.T, raw []byte) []string {
	t.Helper()
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("profile.proto"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Profile"),
			Field: []*descriptorpb.FieldDescriptorProto{{
				Name: proto.String("string_table"), Number: proto.Int32(profileStringTable),
				Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			}},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(file.Messages().Get(0))
	if err := proto.Unmarshal(raw, m); err != nil {
		t.Fatal(err)
	}
	list := m.Get(m.Descriptor().Fields().Get(0)).List()
	var table []string
	for i := range list.Len() {
		table = append(table, list.Get(i).String())
	}
	return table
}

// TestUTF8: names and paths that are not UTF-8 are written as what is. Those that become the same
// share a string, and what has them is told apart by its address as before.
func TestUTF8(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "cpu", Unit: "nanoseconds"}}})
	s.Comments = []string{"command: \xe9"}
	labels := func(comm string) stacks.LabelsID { return s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}}) }
	latin := s.AddMapping(stacks.Mapping{File: "/opt/caf\xe9/a", Kind: stacks.KindUser})
	for i, name := range []string{"a\xff", "a\xfe", "", "é"} {
		loc := s.AddLocation(latin, uint64(i), stacks.KindUser)
		if name != "" {
			s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name, SystemName: name})})
		}
		s.Add(0, s.Intern([]uint32{loc}), labels(name), int64(i+1))
	}
	var raw bytes.Buffer
	if err := stream(s, &raw); err != nil {
		t.Fatal(err)
	}
	want := []string{"", "cpu", "nanoseconds", "command: \uFFFD", "comm", "a\uFFFD", "é", "/opt/caf\uFFFD/a", "[a]"}
	if diff := cmp.Diff(want, stringTable(t, raw.Bytes())); diff != "" {
		t.Error(diff)
	}
	again, err := fromRaw(&raw)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range again.NumSamples() {
		x := again.Sample(i)
		loc := again.Stack(x.Stack)[0]
		name := again.PlaceName(loc)
		if lines := again.Lines(loc); len(lines) > 0 {
			name = again.Functions[lines[0].Function].Name
		}
		comm, _ := again.Label(x.Labels, "comm")
		got = append(got, fmt.Sprintf("%s %#x %s %d", comm.Str, again.Locations[loc].Addr, name, x.Values[0]))
	}
	want = []string{"a\uFFFD 0x0 a\uFFFD 1", "a\uFFFD 0x1 a\uFFFD 2", " 0x2 [a] 3", "é 0x3 é 4"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
