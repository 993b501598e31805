package storetest

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"
	otlp "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// otlpFail answers as OTLP does, with a google.rpc.Status.
func otlpFail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(status)
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	_, _ = w.Write(protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), message))
}

// export is the call of OTLP that takes profiles, as HTTP has it.
func (s *Server) export(w http.ResponseWriter, r *http.Request) {
	fault, n := s.fault()
	if refuse(w, r, fault, map[Fault]func(){
		Exhausted: func() {
			w.Header().Set("Retry-After", "0")
			otlpFail(w, http.StatusTooManyRequests, "too many requests")
		},
		Unknown: func() { otlpFail(w, http.StatusBadGateway, "no collector is there") },
	}) {
		return
	}
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case r.Header.Get("Content-Type") != "application/x-protobuf":
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	case s.Authorized != nil && !s.Authorized(r):
		otlpFail(w, http.StatusUnauthorized, "no token")
		return
	}
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(in)
		if err != nil {
			otlpFail(w, http.StatusBadRequest, err.Error())
			return
		}
		in = z
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return // it was cut short
	}
	pushes, err := otlpPushes(raw)
	if err != nil {
		s.mu.Lock()
		s.errs = append(s.errs, err.Error())
		s.mu.Unlock()
		otlpFail(w, http.StatusBadRequest, err.Error())
		return
	}
	rejected, message := int64(0), ""
	if s.Partial != nil {
		rejected, message = s.Partial(n)
	}
	s.mu.Lock()
	s.keep(pushes[:max(0, len(pushes)-int(rejected))])
	s.mu.Unlock()
	var partial []byte
	if rejected > 0 || message != "" {
		b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(rejected))
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), message)
		partial = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), b)
	}
	s.finish(w, r, fault, "application/x-protobuf", partial)
}

// otlpPushes checks an ExportProfilesServiceRequest, which has the fields of a
// ProfilesData, against what its format wants, and returns each Profile.
func otlpPushes(raw []byte) (pushes []Push, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("an index is out of range: %v", e)
		}
	}()
	var data otlp.ProfilesData
	if err := proto.Unmarshal(raw, &data); err != nil {
		return nil, err
	}
	d := data.Dictionary
	if d == nil || len(raw) > 4<<20 {
		return nil, fmt.Errorf("no dictionary, or %d bytes", len(raw))
	}
	for table, zero := range map[string]bool{
		"mapping": proto.Equal(d.MappingTable[0], &otlp.Mapping{}), "location": proto.Equal(d.LocationTable[0], &otlp.Location{}),
		"function": proto.Equal(d.FunctionTable[0], &otlp.Function{}), "string": d.StringTable[0] == "",
		"attribute": proto.Equal(d.AttributeTable[0], &otlp.KeyValueAndUnit{}), "stack": proto.Equal(d.StackTable[0], &otlp.Stack{}),
		"link": len(d.LinkTable[0].TraceId) == 16 && len(d.LinkTable[0].SpanId) == 8,
	} {
		if !zero {
			return nil, fmt.Errorf("the first of the %ss is not empty", table)
		}
	}
	seen := map[string]bool{}
	for _, t := range d.StringTable {
		if seen[t] || !utf8.ValidString(t) {
			return nil, fmt.Errorf("string %q is there twice, or not UTF-8", t)
		}
		seen[t] = true
	}
	for _, of := range data.ResourceProfiles {
		for _, scope := range of.ScopeProfiles {
			labels := map[string]string{}
			for _, a := range slices.Concat(of.Resource.GetAttributes(), scope.Scope.GetAttributes()) {
				if _, twice := labels[a.Key]; twice {
					return nil, fmt.Errorf("attribute %s is there twice", a.Key)
				}
				labels[a.Key] = a.Value.GetStringValue()
			}
			for _, p := range scope.Profiles {
				converted, err := fromOTLP(p, d)
				if err != nil {
					return nil, err
				}
				pushes = append(pushes, Push{labels, hex.EncodeToString(p.ProfileId), converted})
			}
		}
	}
	return pushes, nil
}

// fromOTLP is a Profile as pprof has it; it panics at an index that is out of range.
func fromOTLP(p *otlp.Profile, d *otlp.ProfilesDictionary) (*profile.Profile, error) {
	valueType := func(v *otlp.ValueType) *profile.ValueType {
		if v == nil {
			return nil
		}
		return &profile.ValueType{Type: d.StringTable[v.TypeStrindex], Unit: d.StringTable[v.UnitStrindex]}
	}
	attributes := func(indices []int32) map[string]string {
		m := map[string]string{}
		for _, i := range indices {
			m[d.StringTable[d.AttributeTable[i].KeyStrindex]] = d.AttributeTable[i].Value.GetStringValue()
		}
		return m
	}
	if len(p.ProfileId) != 16 || len(p.Samples) == 0 || len(p.Samples) > 16000 {
		return nil, fmt.Errorf("%d bytes of id, %d samples", len(p.ProfileId), len(p.Samples))
	}
	to := &profile.Profile{
		SampleType: []*profile.ValueType{valueType(p.SampleType)}, PeriodType: valueType(p.PeriodType), Period: p.Period,
		TimeNanos: int64(p.TimeUnixNano), DurationNanos: int64(p.DurationNano),
	}
	for i, m := range d.MappingTable[1:] {
		to.Mapping = append(to.Mapping, &profile.Mapping{
			ID: uint64(i + 1), Start: m.MemoryStart, Limit: m.MemoryLimit, Offset: m.FileOffset, File: d.StringTable[m.FilenameStrindex],
			BuildID: attributes(m.AttributeIndices)["process.executable.build_id.gnu"],
		})
	}
	for i, f := range d.FunctionTable[1:] {
		to.Function = append(to.Function, &profile.Function{
			ID: uint64(i + 1), Name: d.StringTable[f.NameStrindex], SystemName: d.StringTable[f.SystemNameStrindex],
			Filename: d.StringTable[f.FilenameStrindex], StartLine: f.StartLine,
		})
	}
	for i, l := range d.LocationTable[1:] {
		at := &profile.Location{ID: uint64(i + 1), Address: l.Address}
		if l.MappingIndex > 0 {
			at.Mapping = to.Mapping[l.MappingIndex-1]
		}
		for _, x := range l.Lines {
			at.Line = append(at.Line, profile.Line{Function: to.Function[x.FunctionIndex-1], Line: x.Line, Column: x.Column})
		}
		attributes(l.AttributeIndices)
		to.Location = append(to.Location, at)
	}
	for _, s := range p.Samples {
		if len(s.Values) != 1 || s.Values[0] == 0 || s.LinkIndex != 0 {
			return nil, fmt.Errorf("a sample has %d values", len(s.Values))
		}
		sample := &profile.Sample{Value: s.Values}
		for _, l := range d.StackTable[s.StackIndex].LocationIndices {
			sample.Location = append(sample.Location, to.Location[l-1])
		}
		to.Sample = append(to.Sample, sample)
	}
	return to, to.CheckValid()
}
