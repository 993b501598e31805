package store

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Label is a label of a series.
type Label struct{ Name, Value string }

// appendMessage appends a message as a field.
func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendInt(b []byte, field protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

// pushRequest is a push.v1.PushRequest of one profile, a compressed profile.proto.
//
//	PushRequest      { RawProfileSeries series = 1 }
//	RawProfileSeries { LabelPair labels = 1; RawSample samples = 2 }
//	LabelPair        { string name = 1; string value = 2 }
//	RawSample        { bytes raw_profile = 1; string ID = 2 }
func pushRequest(labels []Label, profile []byte, id string) []byte {
	var series []byte
	for _, l := range labels {
		series = appendMessage(series, 1, appendString(appendString(nil, 1, l.Name), 2, l.Value))
	}
	sample := appendMessage(make([]byte, 0, len(profile)+64), 1, profile)
	series = appendMessage(series, 2, appendString(sample, 2, id))
	return appendMessage(make([]byte, 0, len(series)+8), 1, series)
}

// mergeRequest is a querier.v1.SelectMergeProfileRequest, times in ms of Unix time.
func mergeRequest(profileType, selector string, start, end int64) []byte {
	b := appendString(nil, 1, profileType)
	b = appendString(b, 2, selector)
	return appendInt(appendInt(b, 3, start), 4, end)
}

// valuesRequest is a types.v1.LabelValuesRequest.
func valuesRequest(name, matcher string, start, end int64) []byte {
	b := appendString(nil, 1, name)
	b = appendString(b, 2, matcher)
	return appendInt(appendInt(b, 3, start), 4, end)
}

// typesRequest is a querier.v1.ProfileTypesRequest.
func typesRequest(start, end int64) []byte { return appendInt(appendInt(nil, 1, start), 2, end) }

// errAnswer says that an answer is not of the messages known.
var errAnswer = errors.New("malformed answer")

// fields calls f with each field of a message that is bytes, and skips the others.
func fields(b []byte, f func(field protowire.Number, value []byte) error) error {
	for len(b) > 0 {
		field, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", errAnswer, protowire.ParseError(n))
		}
		b = b[n:]
		if wire != protowire.BytesType {
			n = protowire.ConsumeFieldValue(field, wire, b)
			if n < 0 {
				return fmt.Errorf("%w: %w", errAnswer, protowire.ParseError(n))
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", errAnswer, protowire.ParseError(n))
		}
		b = b[n:]
		if err := f(field, value); err != nil {
			return err
		}
	}
	return nil
}

// stringsOf returns the strings of one field of a message.
func stringsOf(b []byte, field protowire.Number) (list []string, err error) {
	err = fields(b, func(f protowire.Number, value []byte) error {
		if f == field {
			list = append(list, string(value))
		}
		return nil
	})
	return list, err
}
