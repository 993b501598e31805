package sniff

import (
	"encoding/binary"
	"math"
)

// Wire types of protocol buffers.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// Messages of OpenTelemetry's profiles (opentelemetry-proto, profiles.proto, resource.proto and common.proto),
// as deep as tells them from others.
var (
	otlpAttribute = &message{1: texts, 2: texts}
	otlpResource  = &message{1: otlpAttribute, 2: number, 3: texts}
	otlpProfiles  = &message{1: {1: otlpResource, 2: texts, 3: texts}, 2: texts}
)

// isOTLP tells whether head begins with the profiles of a resource that says what it is.
func isOTLP(head []byte) bool {
	const resource = 3 // below two tags and lengths, as the attribute is
	f, n := otlpProfiles.field(head, true)
	body := head[:n]
	for range resource {
		if _, body = cutField(body); len(body) == 0 || body[0] != 1<<3|wireBytes {
			return false
		}
	}
	return f == otlpProfiles[1]
}

// isPerfetto tells whether head begins with a packet of a Perfetto trace (trace.proto), to which the service
// that wrote it has added whose it is (trace_packet.proto).
func isPerfetto(head []byte) bool {
	const uid, sequence = 3, 10 // trusted_uid, trusted_packet_sequence_id
	field, packet := cutField(head)
	if field != 1<<3|wireBytes {
		return false
	}
	trusted := false
	for len(packet) > 0 {
		tag, n := binary.Uvarint(packet)
		if n <= 0 || tag>>3 == 0 || tag > math.MaxUint32 {
			return false
		}
		trusted = trusted || tag == uid<<3|wireVarint || tag == sequence<<3|wireVarint
		packet = packet[n:]
		size := 0
		switch tag & 7 {
		case wireVarint:
			size = varintSize(packet, false)
		case wire64:
			size = 8
		case wire32:
			size = 4
		case wireBytes:
			length, n := binary.Uvarint(packet)
			if n > 0 && length <= uint64(len(packet)-n) {
				size = n + int(length)
			}
		}
		if size == 0 || size > len(packet) {
			return false
		}
		packet = packet[size:]
	}
	return trusted
}

// cutField returns the tag of the field that b begins with, and what is in it, nil if that is no bytes, or cut.
func cutField(b []byte) (tag uint64, body []byte) {
	tag, n := binary.Uvarint(b)
	if n <= 0 || tag&7 != wireBytes {
		return tag, nil
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 || length > uint64(len(b)-n-m) {
		return tag, nil
	}
	return tag, b[n+m:][:length]
}
