package perfdata

import (
	"fmt"
	"strings"

	"kprof/perfevent/abi"
)

// The rules by which a recording is to be read, as it was asked for: "off-cpu", or a rule of
// spans, a line each. They lie right before the data, behind the kernel symbols.
var rulesBlock = block{"kprofrul", "rules of the recording", 1 << 16}

// appendRules appends the block of rules to b, whose length is a multiple of eight; nothing
// without rules.
func appendRules(b []byte, rules []string, o abi.Order) ([]byte, error) {
	if len(rules) == 0 {
		return b, nil
	}
	text := strings.Join(rules, "\n")
	if strings.Count(text, "\n") != len(rules)-1 {
		return b, fmt.Errorf("rules of %d bytes: wants one a line", len(text))
	}
	return rulesBlock.append(b, []byte(text), o)
}

// Rules returns the rules by which the recording is to be read, none where it has none, as
// one from a pipe.
func (r *Reader) Rules() ([]string, error) {
	b, err := r.blockBefore(int64(r.data.off), &rulesBlock)
	if err != nil || b == nil {
		return nil, err
	}
	text, err := rulesBlock.payload(b, r.header.order)
	if err != nil {
		return nil, err
	}
	return strings.Split(string(text), "\n"), nil
}
