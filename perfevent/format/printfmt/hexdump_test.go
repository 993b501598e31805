package printfmt_test

import "testing"

// TestHexDump dumps rows as lib/hexdump.c does: groups are of a row's own, single bytes where they do
// not divide it, and the text of a row begins in the same column.
func TestHexDump(t *testing.T) {
	for src, want := range map[string]string{
		`"%s", __print_hex_dump("x ", 0, 16, 4, REC->sa6, 28, 1)`: "\nx 5000000a 00000000 00000000 00000000  ...P............" +
			"\nx 00000000 01000000 00000000           ............",
		`"%s", __print_hex_dump("", 0, 16, 4, REC->sa6, 26, 0)`:                  "\n5000000a 00000000 00000000 00000000\n00 00 00 00 00 00 00 01 00 00",
		`"%s", __print_hex_dump("", 0, 32, 8, REC->sa6, 24, 0)`:                  "\n000000005000000a 0000000000000000 0100000000000000",
		`"%s", __print_hex_dump("", DUMP_PREFIX_OFFSET, 8, 1, REC->uuid, 16, 0)`: "\n00000000: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f", // rows have 16 or 32
		`"%s", __print_hex_dump("", DUMP_PREFIX_OFFSET, 16, 3, REC->sa6, 17, 0)`: "\n00000000: 0a 00 00 50 00 00 00 00 00 00 00 00 00 00 00 00\n00000010: 00",
		`"%s", __print_hex_dump("", 0, 16, 1, REC->mac, 0, 1)`:                   "",
	} {
		if got := string(compile(t, src, options).AppendTo(nil, payload())); got != want {
			t.Errorf("%s\n%q, want\n%q", src, got, want)
		}
	}
}
