package main

import (
	"encoding/json"
	"io"
)

// What --json writes: one document, indented, names as they are in the input.

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
