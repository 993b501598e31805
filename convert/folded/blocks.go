package folded

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/stacks"
)

// The header is a line ahead of all others:
//
//	# kprof: crc64=0123456789abcdef duration=NS event=NAME type=TYPE unit=UNIT blocks=BASE64
//
// It has no weight at its end, so that flamegraph.pl and others pass over it. crc64 is that of all
// other lines (ECMA, with one line feed each): the sums are of these lines in this order, and of no others.
// The event, and what its weights are, is there if all lines begin with a comm; its words are as
// in the query of a URL. Words that a reader does not know it passes over.
//
// blocks (RFC 4648, without padding), of which there may be none, are numbers (varints): for how many bits of nanoseconds the
// blocks are long, how many there are, of each at which multiple of its length it begins, less
// that of the one before, and the usual value of a sample, zigzag. Then for each line: in how
// many blocks it has samples, and for each of these twice the number of the block, less that of
// the one before, if it has one sample of the usual value; or that and 1, how many samples, and
// the sum of their values, zigzag.
const (
	headerStart = "# kprof: "
	maxHeader   = 8 << 20 // of its blocks
	leastBlocks = 32      // of which a comparison makes use
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// blocksOf encodes the sums over blocks of time by line, as long as they are below maxHeader; nil if there
// are none, or they are not of the column that is written. firstRows has the first row of
// each row's line.
func blocksOf(s *stacks.Set, o Options, lines []line, firstRows []uint32) []byte {
	if len(s.BlockSums) == 0 {
		return nil
	}
	type samplesOf struct {
		stack  stacks.StackID
		labels stacks.LabelsID
	}
	number := make(map[samplesOf]uint32, len(lines))
	for i, l := range lines {
		number[samplesOf{l.stack, l.labels}] = uint32(i)
	}
	lineOf := func(b *stacks.BlockSum) uint32 {
		x := s.Sample(int(b.Sample))
		if x.Event != o.Event {
			return none
		}
		x = s.Sample(int(firstRows[b.Sample]))
		if i, ok := number[samplesOf{x.Stack, x.Labels}]; ok {
			return i
		}
		return none // its weights are 0 in sum
	}
	for shift := s.BlockShift(); shift < 64; shift++ {
		b, blocks := encodeBlocks(s.BlockSums, shift, lines, lineOf)
		if b == nil || blocks < leastBlocks && shift > s.BlockShift() {
			return nil
		}
		if base64.RawStdEncoding.EncodedLen(len(b)) <= maxHeader {
			return b
		}
	}
	return nil
}

// encodeBlocks encodes sums in blocks of 1<<shift ns, and says how many blocks these are.
func encodeBlocks(sums []stacks.BlockSum, shift uint8, lines []line, lineOf func(*stacks.BlockSum) uint32) ([]byte, int) {
	type entry struct {
		block, count uint32
		value        int64
	}
	of := make([][]entry, len(lines))
	var begins []byte
	var last, usual, blocks uint64
	for i := range sums {
		b := &sums[i]
		line := lineOf(b)
		if line == none {
			continue
		}
		if at := b.Time >> shift; blocks == 0 || at != last {
			begins = binary.AppendUvarint(begins, at-last)
			last = at
			blocks++
		}
		if usual == 0 && b.Count > 0 {
			usual = uint64(b.Value / int64(b.Count))
		}
		if n := len(of[line]); n > 0 && of[line][n-1].block == uint32(blocks-1) {
			e := &of[line][n-1]
			e.count, e.value = e.count+b.Count, e.value+b.Value
			continue
		}
		of[line] = append(of[line], entry{uint32(blocks - 1), b.Count, b.Value})
	}
	if blocks == 0 {
		return nil, 0
	}
	out := binary.AppendUvarint(nil, uint64(shift))
	out = binary.AppendUvarint(out, blocks)
	out = append(out, begins...)
	out = binary.AppendVarint(out, int64(usual))
	for i := range of {
		out = binary.AppendUvarint(out, uint64(len(of[i])))
		before, sum := uint32(0), int64(0)
		for _, e := range of[i] {
			delta := uint64(e.block-before) * 2
			before = e.block
			sum += e.value
			if e.count == 1 && e.value == int64(usual) {
				out = binary.AppendUvarint(out, delta)
				continue
			}
			out = binary.AppendUvarint(out, delta+1)
			out = binary.AppendUvarint(out, uint64(e.count))
			out = binary.AppendVarint(out, e.value)
		}
		if sum != lines[i].weight {
			return nil, 0
		}
	}
	return out, int(blocks)
}

// writeHeader writes the header, with what sums there are. The lines are made for their checksum alone first.
func writeHeader(w io.Writer, s *stacks.Set, o Options, f *frames, lines []line, blocks []byte) error {
	crc := crc64.New(crcTable)
	if err := writeLines(crc, s, f, lines); err != nil {
		return err
	}
	event := ""
	if !slices.ContainsFunc(lines, func(l line) bool { return f.comm[l.labels].name == none }) {
		e := &s.Events[o.Event]
		event = fmt.Sprintf(" event=%s type=%s unit=%s", url.QueryEscape(e.Name), url.QueryEscape(e.Values[o.Column].Type), url.QueryEscape(e.Values[o.Column].Unit))
	}
	_, err := fmt.Fprintf(w, "%scrc64=%016x duration=%d%s blocks=%s\n",
		headerStart, crc.Sum64(), max(s.DurationNanos, 0), event, base64.RawStdEncoding.EncodeToString(blocks))
	return err
}

// header is what a file begins with, and what is known of its lines so far.
type header struct {
	crc64    uint64
	duration int64
	event    *stacks.Event // nil if it is not known
	blocks   []byte

	crc  hash.Hash64 // of lines
	rows []uint32    // by line
}

// parseHeader returns nil for a comment that is no header.
func parseHeader(line []byte) *header {
	h := &header{crc: crc64.New(crcTable)}
	words := make(map[string]string)
	for word := range strings.FieldsSeq(strings.TrimPrefix(string(line), headerStart)) {
		key, value, _ := strings.Cut(word, "=")
		if words[key] = value; len(words) > 100 {
			return nil
		}
	}
	var err [3]error
	h.crc64, err[0] = strconv.ParseUint(words["crc64"], 16, 64)
	h.duration, err[1] = strconv.ParseInt(words["duration"], 10, 64)
	if len(words["blocks"]) <= maxHeader {
		h.blocks, err[2] = base64.RawStdEncoding.DecodeString(words["blocks"])
	}
	if errors.Join(err[:]...) != nil || h.duration < 0 {
		return nil
	}
	var of [3]string
	for i, key := range []string{"event", "type", "unit"} {
		text, err := url.QueryUnescape(words[key])
		if err != nil || text == "" {
			return h
		}
		of[i] = text
	}
	h.event = &stacks.Event{Name: of[0], Values: []stacks.ValueType{{Type: of[1], Unit: of[2]}}}
	return h
}

// add takes a line, without its end, that became a row.
func (h *header) add(line []byte, row int) {
	h.crc.Write(line)
	h.crc.Write([]byte{'\n'})
	h.rows = append(h.rows, uint32(row))
}

// finish gives what it says of the event to a Set, and the sums and the time if they are of its lines.
func (h *header) finish(s *stacks.Set) {
	if h.event != nil {
		s.Events[0].Name, s.Events[0].Values[0] = h.event.Name, h.event.Values[0]
	}
	if h.crc.Sum64() != h.crc64 {
		return
	}
	s.DurationNanos = h.duration
	sums, shift, ok := h.decode(s)
	if !ok {
		return
	}
	s.SetBlockShift(shift)
	for _, b := range sums {
		s.AddBlockSum(b)
	}
	s.SumBlocks()
}

// decode takes no more memory than in proportion to the header, since each sum is some bytes of it.
func (h *header) decode(s *stacks.Set) (sums []stacks.BlockSum, shift uint8, ok bool) {
	in := bytes.NewReader(h.blocks)
	bad := false
	number := func() uint64 {
		u, err := binary.ReadUvarint(in)
		bad = bad || err != nil
		return u
	}
	signed := func() int64 {
		v, err := binary.ReadVarint(in)
		bad = bad || err != nil
		return v
	}
	bits, n := number(), number()
	if bad || bits > 63 || n == 0 || n > stacks.MaxBlocks {
		return nil, 0, false
	}
	var times []uint64
	at := uint64(0)
	for i := range n {
		delta := number()
		if at += delta; i > 0 && delta == 0 || at < delta || at > math.MaxUint64>>bits {
			return nil, 0, false
		}
		times = append(times, at<<bits)
	}
	usual := signed()
	for _, row := range h.rows {
		block := uint64(0)
		for i := range number() {
			u := number()
			if block += u / 2; bad || i > 0 && u/2 == 0 || block >= n {
				return nil, 0, false
			}
			b := stacks.BlockSum{Time: times[block], Sample: row, Count: 1, Value: usual}
			if u%2 == 1 {
				count := number()
				if b.Value = signed(); count > math.MaxUint32 {
					return nil, 0, false
				}
				b.Count = uint32(count)
			}
			sums = append(sums, b)
		}
	}
	return sums, uint8(bits), !bad && in.Len() == 0
}
