package listing

import (
	"testing"

	"kprof/convert/samples"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// TestMemoryColumns checks all columns about accesses to memory, in each format.
func TestMemoryColumns(t *testing.T) {
	e := &Event{
		Kind: &Kind{Event: &perfdata.Event{}},
		Sample: &samples.Sample{Sample: abi.Sample{Weight: 9<<48 | 8<<32 | 7, DataSrc: 0x182820042, Addr: 0x1000, PhysAddr: 0x2000,
			DataPageSize: 2 << 20, CodePageSize: 4096}},
	}
	e.Kind.Event.Attr.SampleType = abi.SampleAddr | abi.SampleDataSrc | abi.SampleWeightStruct | abi.SamplePhysAddr | abi.SampleDataPageSize | abi.SampleCodePageSize
	selected, err := ParseColumns("addr,data_src,weight,ins_lat,retire_lat,phys_addr,data_page_size,code_page_size")
	if err != nil {
		t.Fatal(err)
	}
	if lacks := e.Kind.lacks() & selected.Add; lacks != 0 {
		t.Errorf("the event lacks %q", lacks.Names())
	}
	if e.Kind.Event.Attr.SampleType = abi.SampleWeight; e.Kind.lacks()&selected.Add != selected.Add&^Weight {
		t.Errorf("with a weight alone, the event lacks %q", (e.Kind.lacks() & selected.Add).Names())
	}
	e.Kind.Event.Attr.SampleType = abi.SampleWeightStruct
	k := &shown{kind: e.Kind, columns: selected.Add}
	f := &formatter{header: selected.Add}
	text := string(k.appendMore(f.appendText(nil, e, k, 0), e))
	const src = "|OP LOAD|LVL I/O hit|SNP HitM|TLB Walker or Fault|LCK Yes|BLK  N/A"
	if want := "            1000       182820042 " + src + "               7               8               9            2000 2M 4K"; text != want {
		t.Errorf("text\n%q, want\n%q", text, want)
	}
	if got, want := string(f.appendCSV(nil, e, k, 0)), "0x1000,"+src+",7,8,9,0x2000,2097152,4096"; got != want {
		t.Errorf("CSV\n%q, want\n%q", got, want)
	}
	if got, want := string(f.appendJSON(nil, e, k, 0)), `{"addr":"0x1000","data_src":"`+src+`","weight":7,"ins_lat":8,"retire_lat":9,"phys_addr":"0x2000","data_page_size":2097152,"code_page_size":4096`; got != want {
		t.Errorf("JSON\n%s, want\n%s", got, want)
	}
}
