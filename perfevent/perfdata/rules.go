package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"kprof/perfevent/abi"
)

// The rules by which a recording is to be read, as it was asked for: "off-cpu", or a rule of
// spans. They are kprof's own and lie, as KernelSymbols do, where perf looks at nothing:
// right before the data, behind the kernel symbols. Integers are in the byte order of the
// file:
//
//	magic    8 bytes "kprofrul"
//	version  u32, 1
//	length   u32 of the text
//	text     a rule a line
//	padding  to a multiple of eight
//	length   u32 of all of this
//	zero     u32
//	magic    8 bytes again: the end is found from data.offset

var rulesMagic = []byte("kprofrul")

const (
	rulesVersion = 1
	rulesHead    = 16
	rulesTail    = 16
	maxRules     = 1 << 16 // bytes of all
)

// appendRules appends the block of rules to b, whose length is a multiple of eight; nothing
// without rules.
func appendRules(b []byte, rules []string, o abi.Order) ([]byte, error) {
	if len(rules) == 0 {
		return b, nil
	}
	text := strings.Join(rules, "\n")
	if len(text) > maxRules || strings.Count(text, "\n") != len(rules)-1 {
		return b, fmt.Errorf("rules of %d bytes: wants lines of at most %d bytes in all", len(text), maxRules)
	}
	start := len(b)
	b = append(b, rulesMagic...)
	b = o.AppendUint32(b, rulesVersion)
	b = o.AppendUint32(b, uint32(len(text)))
	b = append(b, text...)
	for (len(b)-start)%8 != 0 {
		b = append(b, 0)
	}
	b = o.AppendUint32(b, uint32(len(b)-start+rulesTail))
	b = o.AppendUint32(b, 0)
	return append(b, rulesMagic...), nil
}

// Rules returns the rules by which the recording is to be read, none where it has none, as
// one from a pipe.
func (r *Reader) Rules() ([]string, error) {
	b, err := r.rulesBlock()
	if err != nil || b == nil {
		return nil, err
	}
	o := r.header.order
	if len(b) < rulesHead+rulesTail || !bytes.HasPrefix(b, rulesMagic) {
		return nil, errors.New("rules of the recording: no magic at their start")
	}
	if v := o.Uint32(b[8:]); v != rulesVersion {
		return nil, fmt.Errorf("rules of the recording: version %d, only %d is known", v, rulesVersion)
	}
	n := o.Uint32(b[12:])
	if uint64(n) > uint64(len(b)-rulesHead-rulesTail) {
		return nil, fmt.Errorf("rules of the recording: %d bytes in %d", n, len(b))
	}
	return strings.Split(string(b[rulesHead:rulesHead+n]), "\n"), nil
}

// rulesBlock returns the bytes of the block of rules, nil if there is none.
func (r *Reader) rulesBlock() ([]byte, error) {
	end := int64(r.data.off)
	if r.header.pipe || r.at == nil || end < fileHeaderSize+rulesTail || end > r.size {
		return nil, nil
	}
	var tail [rulesTail]byte
	if _, err := r.at.ReadAt(tail[:], end-rulesTail); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read rules at offset %d: %w", end-rulesTail, err)
	}
	if !bytes.Equal(tail[8:], rulesMagic) {
		return nil, nil
	}
	n := int64(r.header.order.Uint32(tail[:]))
	if n > maxRules+rulesHead+rulesTail+8 || n > end-fileHeaderSize {
		return nil, fmt.Errorf("rules of %d bytes before offset %d", n, end)
	}
	b := make([]byte, n)
	if _, err := r.at.ReadAt(b, end-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read rules at offset %d: %w", end-n, err)
	}
	return b, nil
}
