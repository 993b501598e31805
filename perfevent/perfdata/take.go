package perfdata

import (
	"fmt"
	"io"

	"kprof/perfevent/abi"
)

// Bounds on what a recording may make a reader keep besides its events.
const (
	maxFeatureBytes = 256 << 20 // of all features together, of which BPF programs have most
	maxTracingBytes = 64 << 20
	maxTypeNames    = 1 << 14
	maxNamings      = 1 << 10 // how often all events are named anew
)

// auxtraceSize is the size of an AUXTRACE record's payload, struct
// perf_record_auxtrace (tools/lib/perf/include/perf/event.h).
const auxtraceSize = 40

// trailing returns how many bytes follow a record that belong to it.
func (r *Reader) trailing(rec *Record) (int64, error) {
	o, p := r.header.order, rec.Payload
	if n := largeSize(rec.Header); n > 0 && len(p) == 0 {
		return n - abi.HeaderSize, nil
	}
	switch rec.Type {
	case abi.RecordAuxtrace:
		if len(p) < auxtraceSize || len(p)%8 != 0 {
			return 0, nil // none of perf's: before Linux 3.16 the number was others'
		}
		if n := int64(o.Uint64(p)); n >= 0 {
			return n, nil
		}
		return 0, &TruncatedError{Offset: rec.Offset, Reason: "AUXTRACE record of a negative size"}
	case abi.RecordHeaderTracingData:
		if len(p) < 4 {
			return 0, &TruncatedError{Offset: rec.Offset, Reason: fmt.Sprintf("TRACING_DATA record of %d bytes", len(p))}
		}
		if b := tracingInside(p, o); b != nil {
			return 0, nil
		}
		return int64(o.Uint32(p)), nil
	}
	return 0, nil
}

// takeUp takes up what a record tells of the recording. Such records make the header
// in pipe mode, but perf heeds them in file mode too.
func (r *Reader) takeUp(rec *Record) error {
	o, p := r.header.order, rec.Payload
	switch rec.Type {
	case abi.RecordHeaderAttr:
		a, n, err := abi.DecodeAttr(p, o)
		if err != nil {
			return &TruncatedError{Offset: rec.Offset, Reason: err.Error()}
		}
		if len(r.Events.Events) >= maxEvents {
			return &TruncatedError{Offset: rec.Offset, Reason: fmt.Sprintf("more than %d events", maxEvents)}
		}
		e := r.Events.Add(abi.Event{Attr: a, IDs: decodeIDs(p[n:], o)})
		r.nameEvent(e)
	case abi.RecordEventUpdate:
		r.updateEvent(p)
	case abi.RecordHeaderEventType:
		if len(p) > 8 && len(r.typeNames) < maxTypeNames {
			if r.typeNames == nil {
				r.typeNames = map[uint64]string{}
			}
			r.typeNames[o.Uint64(p)] = cString(p[8:])
			r.renamed = true
		}
	case abi.RecordHeaderBuildID:
		r.takeBuildID(rec)
	case abi.RecordHeaderTracingData, recordTracingData:
		r.takeTracing(tracingInside(p, o))
	case recordEventID:
		r.takeEventIDs(p)
	case recordSplit:
		r.takePart(p)
	case recordSplitEnd:
		return r.takeParts(rec.Offset)
	case abi.RecordHeaderFeature:
		if len(p) > 8 { // perf's mark of the end has no body
			if id := o.Uint64(p); id < 256 {
				r.header.features.Add(Feature(id))
				r.takeFeature(Feature(id), append([]byte(nil), p[8:]...))
				r.renamed = true
			}
		}
	}
	return nil
}

// oldHeader returns the feature that the record at a place is in a pipe of ChromeOS's
// perf of 2012: there the features from HOSTNAME to NUMA_TOPOLOGY are the records
// from 69 on, before all others. What has the number 69 today needs events.
func (r *Reader) oldHeader(t abi.RecordType, place int64) (Feature, bool) {
	const first = abi.RecordIDIndex
	if place == 1 {
		r.oldHeaders = r.header.pipe && t == first
	}
	if !r.oldHeaders || r.firstEvent > 0 && place > r.firstEvent || t < first || t > first+abi.RecordType(FeatureNUMATopology-FeatureHostname) {
		return 0, false
	}
	return FeatureHostname + Feature(t-first), true
}

// takeBuildID takes up a build id, which perf inject writes for each file.
func (r *Reader) takeBuildID(rec *Record) {
	b := append(rec.Header.AppendTo(nil, r.header.order), rec.Payload...)
	if r.featureBytes += len(b); r.featureBytes > maxFeatureBytes {
		return
	}
	id, err := DecodeBuildID(b, r.header.order)
	if err != nil {
		r.BadFeatures = append(r.BadFeatures, fmt.Errorf("offset %d: %w", rec.Offset, err))
		return
	}
	r.Features.BuildIDs = append(r.Features.BuildIDs, id)
}

// updateEvent takes the name out of an EVENT_UPDATE record: u64 type, u64 id,
// and for type 2 a string (tools/lib/perf/include/perf/event.h).
func (r *Reader) updateEvent(p []byte) {
	const typeName = 2
	o := r.header.order
	if len(p) < 16 || o.Uint64(p) != typeName {
		return
	}
	if e := r.Events.updated(o.Uint64(p[8:])); e != nil {
		e.Name = cString(p[16:])
		delete(r.provisional, e.Index)
	}
}

// takeFeature decodes a feature. One that cannot be decoded is remembered and
// otherwise left out: nothing of the samples depends on it.
func (r *Reader) takeFeature(f Feature, body []byte) {
	if r.featureBytes+len(body) > maxFeatureBytes {
		r.BadFeatures = append(r.BadFeatures, fmt.Errorf("%s: features of more than %d bytes in all", f, maxFeatureBytes))
		return
	}
	r.featureBytes += len(body)
	if err := r.Features.Decode(f, body, r.header.order); err != nil {
		r.BadFeatures = append(r.BadFeatures, fmt.Errorf("%s: %w", f, err))
	}
}

// readFeatures reads the features that follow the data section: a table of
// sections, one for each bit set, and their bodies.
func (r *Reader) readFeatures() {
	at := r.data.off + r.data.size
	for f := range r.header.features.All() {
		var b [16]byte
		if _, err := r.at.ReadAt(b[:], int64(at)); err != nil {
			r.BadFeatures = append(r.BadFeatures, fmt.Errorf("%s: table of features ends at offset %d", f, at))
			return
		}
		at += 16
		s, cut := section{r.header.order.Uint64(b[:]), r.header.order.Uint64(b[8:])}.bounded(r.size)
		if cut || s.size > uint64(maxFeatureBytes-r.featureBytes) {
			r.BadFeatures = append(r.BadFeatures, fmt.Errorf("%s: section of %d bytes at offset %d", f, s.size, s.off))
			continue
		}
		body := make([]byte, s.size)
		if _, err := r.at.ReadAt(body, int64(s.off)); err != nil && s.size > 0 {
			r.BadFeatures = append(r.BadFeatures, fmt.Errorf("%s: %w", f, err))
			continue
		}
		r.takeFeature(f, body)
	}
}

// readTracingData reads the tracing data that follows its record in pipe mode.
func (r *Reader) readTracingData(s *stream, n int64) error {
	if n > maxTracingBytes || len(r.Features.TracingData) > 0 {
		return s.skip(n)
	}
	// Grow with what is there, not with what the record says.
	for n > 0 {
		b, err := s.take(int(min(n, 1<<16)))
		if err == io.ErrUnexpectedEOF {
			return &TruncatedError{Offset: s.off, Reason: "inside the tracing data"}
		}
		if err != nil {
			return err
		}
		r.Features.TracingData = append(r.Features.TracingData, b...)
		n -= int64(len(b))
	}
	r.readFormats()
	r.renamed = true
	return nil
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
