//go:build !linux

package livetest

// Tracefs: only Linux has it.
func Tracefs() string { return "tracefs (needs Linux)" }
