package abi_test

import (
	"testing"

	"kprof/perfevent/abi"
)

// TestFunctionFieldsCut: raw data that end early, or events without fields, have none.
func TestFunctionFieldsCut(t *testing.T) {
	f := abi.FunctionFields{Func: 8, Caller: 12, Size: 4}
	raw := []byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0}
	if fn, caller, ok := f.Read(raw, abi.LittleEndian); !ok || fn != 0x201 || caller != 0x403 {
		t.Errorf("%#x, %#x, %v", fn, caller, ok)
	}
	if fn, caller, ok := f.Read(raw[:15], abi.LittleEndian); ok {
		t.Errorf("of 15 bytes: %#x, %#x", fn, caller)
	}
	if fn, caller, ok := new(abi.FunctionFields).Read(raw, abi.LittleEndian); ok {
		t.Errorf("without fields: %#x, %#x", fn, caller)
	}
	sampled := abi.Attr{Type: 8, Config: 1, SampleType: abi.SampleRaw}
	if sampled.FunctionFields() == (abi.FunctionFields{}) {
		t.Error("a return probe of a PMU has none")
	}
	for _, a := range []abi.Attr{{Type: 8, Config: 1}, {Type: 8, SampleType: abi.SampleRaw}, {Type: abi.TypeTracepoint, Config: 1, SampleType: abi.SampleRaw}, {Type: abi.TypeBreakpoint, Config: 1, SampleType: abi.SampleRaw}} {
		if got := a.FunctionFields(); got != (abi.FunctionFields{}) {
			t.Errorf("%+v has %+v", a, got)
		}
	}
}

// TestCutModifiers: letters that are no modifiers are a tracepoint's name.
func TestCutModifiers(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "cycles": "cycles", "cycles:u": "cycles", "cpu-clock:ukhIGHpPSDWebRX": "cpu-clock", "cycles:": "cycles:",
		"sched:sched_switch": "sched:sched_switch", "sched:sched_switch:k": "sched:sched_switch", "mem:0x10:rw:u": "mem:0x10:rw",
	} {
		if got := abi.CutModifiers(name); got != want {
			t.Errorf("%q without modifiers: %q, want %q", name, got, want)
		}
	}
}
