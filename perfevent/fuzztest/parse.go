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

// integers are the types of whole numbers, with what parses literals of them.
var integers = map[string]func(literal string) (any, error){
	"byte": unsigned[uint8](8), "uint8": unsigned[uint8](8), "uint16": unsigned[uint16](16), "uint32": unsigned[uint32](32),
	"uint64": unsigned[uint64](64), "uint": unsigned[uint](strconv.IntSize),
	"int8": signed[int8](8), "int16": signed[int16](16), "int32": signed[int32](32), "rune": signed[rune](32),
	"int64": signed[int64](64), "int": signed[int](strconv.IntSize),
}

func unsigned[T uint8 | uint16 | uint32 | uint64 | uint](bits int) func(string) (any, error) {
	return func(literal string) (any, error) {
		n, err := parseUint(literal, bits)
		return T(n), err
	}
}

func signed[T int8 | int16 | int32 | int64 | int](bits int) func(string) (any, error) {
	return func(literal string) (any, error) {
		n, err := parseInt(literal, bits)
		return T(n), err
	}
}

// parseValue reads TYPE(LITERAL), or a float that Go has no literal for.
func parseValue(line string) (any, error) {
	typ, literal, _ := strings.Cut(line, "(")
	literal, ok := strings.CutSuffix(literal, ")")
	if !ok {
		return nil, fmt.Errorf("not TYPE(VALUE)")
	}
	if parse, ok := integers[typ]; ok {
		return parse(literal)
	}
	switch typ {
	case "string":
		return strconv.Unquote(literal)
	case "[]byte":
		s, err := strconv.Unquote(literal)
		return []byte(s), err
	case "bool":
		return strconv.ParseBool(literal)
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
