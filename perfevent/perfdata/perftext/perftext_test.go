package perftext_test

import (
	"bytes"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// TestAssemble reads a recording back in every form.
func TestAssemble(t *testing.T) {
	rec, err := perftext.Parse(`
event sched:sched_switch type=tracepoint config=7 ids=1,2 period=3 config1=4
event cpu-clock freq=99 ids=3 sample=identifier,ip,tid,time flags=sample_id_all,comm  # a comment
buildid id=00112233 file=/bin/a
comm t=5 pid=-1 tid=2 comm="a # b" exec
sample t=6 id=2 pid=1 kernel 0x10 user 0x20
round
raw 0900 0000 0000 0800
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		for _, pipe := range []bool{false, true} {
			for _, z := range []abi.RecordType{0, abi.RecordCompressed, abi.RecordCompressed2} {
				f := perftext.Form{Order: o, Pipe: pipe, Zstd: z}
				b, err := rec.Assemble(f)
				if err != nil {
					t.Fatal(err)
				}
				r, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
				if err != nil {
					t.Fatalf("%v: %v", f, err)
				}
				checkRead(t, f, r)
			}
		}
	}
}

func checkRead(t *testing.T, f perftext.Form, r *perfdata.Reader) {
	var got []string
	for rec, err := range r.Records() {
		if err != nil {
			if f.Order == abi.BigEndian { // the raw bytes are little-endian
				break
			}
			t.Fatalf("%v: %v", f, err)
		}
		switch l := &r.Events.Events[0].Layout; rec.Type {
		case abi.RecordComm:
			c, err := l.DecodeComm(rec.Header, rec.Payload)
			id, ok := l.DecodeTrailer(rec.Payload)
			if err != nil || !ok || c != (abi.Comm{PID: -1, TID: 2, Comm: "a # b", Exec: true}) || id.Time != 5 || id.ID != 1 {
				t.Errorf("%v: %+v, %+v, %v", f, c, id, err)
			}
		case abi.RecordSample:
			var s abi.Sample
			err := l.DecodeSample(&s, rec.Misc, rec.Payload)
			if err != nil || s.IP != 0x10 || s.Misc != abi.MiscKernel || s.ID != 2 || s.Time != 6 || len(s.Callchain) != 4 {
				if len(rec.Payload) > 0 {
					t.Errorf("%v: %+v, %v", f, s, err)
				}
			}
		}
		if rec.Type < abi.RecordHeaderAttr || rec.Type == abi.RecordFinishedRound {
			got = append(got, rec.Type.String())
		}
	}
	want := "COMM SAMPLE FINISHED_ROUND SAMPLE"
	if f.Order == abi.BigEndian {
		want = "COMM SAMPLE FINISHED_ROUND"
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("%v: records %s, want %s", f, s, want)
	}
	e := r.Events.Events
	if len(e) != 2 || e[0].Name != "sched:sched_switch" || e[1].Name != "cpu-clock" ||
		e[0].Attr.Config1 != 4 || e[0].Attr.SamplePeriod != 3 || e[1].Attr.Flags&abi.FlagFreq == 0 ||
		r.Events.OfID(2) != e[0] || r.Events.OfID(3) != e[1] {
		t.Errorf("%v: events %+v", f, e)
	}
	if b := r.Features.BuildIDs; len(b) != 1 || b[0].Name != "/bin/a" || string(b[0].ID) != "\x00\x11\x22\x33" {
		t.Errorf("%v: build ids %+v", f, b)
	}
}

func TestParseErrors(t *testing.T) {
	livetest.Table(t, func(text string) string {
		if _, err := perftext.Parse(text); err != nil {
			return err.Error()
		}
		return ""
	}, map[string]string{
		"mmap":                        "",
		"event":                       "line 1: event without a name",
		"\nsample t=1":                "line 2: sample before any event",
		"nonsense":                    `line 1: unknown record "nonsense"`,
		"comm pid=x":                  `line 1: strconv.ParseUint: parsing "x": invalid syntax`,
		"comm pid=1 pid=2":            "line 1: pid is given twice",
		"comm what=1":                 `line 1: unknown field "what"`,
		"comm more":                   `line 1: unknown word "more"`,
		`comm comm="a`:                `line 1: string literal "a: invalid syntax`,
		"raw 0":                       "line 1: encoding/hex: odd length hex string",
		"event a flags=none":          `line 1: flags: no "none"`,
		"event a\nsample 0x1 thing=2": `line 2: unknown field "thing"`,
		"event a sample=regs":         `line 1: sample: no "regs"`,
		"truncate":                    "line 1: truncate wants a number",
	})
}

// FuzzParse parses and assembles arbitrary text.
func FuzzParse(f *testing.F) {
	fuzztest.Add(f)
	for _, text := range perftext.Goldens(f, "../../../convert/replay/testdata") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer memtest.Within(t, 1<<20+500*len(text))()
		r, err := perftext.Parse(text)
		if err != nil {
			return
		}
		r.Records(abi.BigEndian)
		for _, form := range []perftext.Form{{}, {Order: abi.BigEndian, Pipe: true}} {
			if _, err := r.Assemble(form); err != nil {
				t.Errorf("%v: %v", form, err)
			}
		}
	})
}
