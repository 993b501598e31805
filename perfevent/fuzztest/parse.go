package fuzztest

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// header is the first line of an input (internal/fuzz/encoding.go of Go).
const header = "go test fuzz v1\n"

// parse returns the values of an input, each as the type that its line names.
func parse(input []byte) ([]any, error) {
	rest, ok := bytes.CutPrefix(input, []byte(header))
	if !ok {
		return nil, fmt.Errorf("its first line is not %q", header)
	}
	var args []any
	for line := range strings.Lines(string(rest)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		arg, err := parseValue(line)
		if err != nil {
			return nil, fmt.Errorf("value %d, %.40s: %w", len(args), line, err)
		}
		args = append(args, arg)
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("no values")
	}
	return args, nil
}

// parseValue reads TYPE(LITERAL), or a float that Go has no literal for.
func parseValue(line string) (any, error) {
	typ, literal, _ := strings.Cut(line, "(")
	literal, ok := strings.CutSuffix(literal, ")")
	if !ok {
		return nil, fmt.Errorf("not TYPE(VALUE)")
	}
	switch typ {
	case "string":
		return strconv.Unquote(literal)
	case "[]byte":
		s, err := strconv.Unquote(literal)
		return []byte(s), err
	case "bool":
		return strconv.ParseBool(literal)
	case "byte", "uint8":
		n, err := parseUint(literal, 8)
		return uint8(n), err
	case "uint16":
		n, err := parseUint(literal, 16)
		return uint16(n), err
	case "uint32":
		n, err := parseUint(literal, 32)
		return uint32(n), err
	case "uint64":
		return parseUint(literal, 64)
	case "uint":
		n, err := parseUint(literal, strconv.IntSize)
		return uint(n), err
	case "int8":
		n, err := parseInt(literal, 8)
		return int8(n), err
	case "int16":
		n, err := parseInt(literal, 16)
		return int16(n), err
	case "int32", "rune":
		n, err := parseInt(literal, 32)
		return int32(n), err
	case "int64":
		return parseInt(literal, 64)
	case "int":
		n, err := parseInt(literal, strconv.IntSize)
		return int(n), err
	case "float32":
		n, err := strconv.ParseFloat(literal, 32)
		return float32(n), err
	case "float64":
		return strconv.ParseFloat(literal, 64)
	case "math.Float32frombits":
		n, err := parseUint(literal, 32)
		return math.Float32frombits(uint32(n)), err
	case "math.Float64frombits":
		n, err := parseUint(literal, 64)
		return math.Float64frombits(n), err
	}
	return nil, fmt.Errorf("no type of a fuzz target's argument")
}

func parseUint(literal string, bits int) (uint64, error) {
	if strings.HasPrefix(literal, "'") {
		n, err := parseChar(literal)
		return uint64(n), err
	}
	return strconv.ParseUint(literal, 0, bits)
}

func parseInt(literal string, bits int) (int64, error) {
	if strings.HasPrefix(literal, "'") {
		n, err := parseChar(literal)
		return int64(n), err
	}
	return strconv.ParseInt(literal, 0, bits)
}

// parseChar reads a character in single quotes; '\xff' is the number 255.
func parseChar(literal string) (rune, error) {
	n, _, tail, err := strconv.UnquoteChar(literal[1:], '\'')
	if err == nil && tail != "'" {
		err = strconv.ErrSyntax
	}
	return n, err
}
