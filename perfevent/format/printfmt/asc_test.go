package printfmt_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestAsC prints expressions of C and numbers with printf, and wants what a C compiler
// makes of them.
func TestAsC(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	cases := []string{
		`"%d %u %x %o %X %#x %#o %c", REC->i8, REC->i8, REC->i8, REC->w8, REC->w32, REC->w16, REC->w16, REC->c`,
		`"%d %u %hd %hhd %hu %hhu", REC->w32, REC->i32, REC->i32, REC->i32, REC->i32, REC->i32`,
		`"%lld %llu %llx %ld %lu %lx %zu %zd", REC->i64, REC->i64, REC->i64, REC->i64, REC->w64, REC->w64, REC->w64, REC->w64`,
		`"%5d|%-5d|%05d|%+d|% d|%.3d|%8.3d|%-8.3d|%08.3d|%+5d", REC->i8, REC->i8, REC->i8, REC->w8, REC->w8, REC->i8, REC->i8, REC->i8, REC->i8, REC->w8`,
		`"%#010x|%#10x|%-#10x|%010lx|%#o|%.0d|%#x", REC->w16, REC->w16, REC->w16, REC->w64, REC->w8, REC->zero + 1, REC->zero`,
		`"%*d|%-*d|%.*d|%*d", 6, REC->i8, 6, REC->i8, 4, REC->i8, -6, REC->i8`,
		`"%d %d %d", REC->i8 >> 1, REC->w8 << 4, REC->i32 >> 3`,
		`"%d %u", REC->i8 < REC->w32, REC->i8 < REC->w8`,
		`"%d %d %d", REC->i64 < REC->w64, REC->i32 < REC->w32, REC->i16 < REC->w16`,
		`"%lld %lld", (long long)REC->i32 * REC->i32, (long long)(REC->w32 + REC->w32)`,
		`"%d %d %d", REC->zero ?: 7, REC->i8 ?: 7, (REC->zero ?: REC->i16) ?: 3`,
		`"%d %u %lu", ~REC->w8, -REC->w16, -REC->w32 + 0UL`,
		`"%d %d %d %d", (u8)REC->i32, (s8)REC->w32, (short)REC->w64, (int)(REC->w64 >> 4)`,
		`"%lx %lx", (unsigned long)REC->i8, (unsigned long)(u32)REC->i8`,
		`"%d %d %d", REC->i32 / 7, REC->i32 % 7, REC->w32 / 7`,
		`"%llu %lld", REC->w64 / 1000, REC->i64 / 1000 % 1000`,
		`"%d %d", REC->w8 & 15 == 10 | 2 ^ 7, REC->w8 & 10 == 10`,
		`"%d %d", (REC->i8 >> 1UL) < 0, REC->i8 << 1ULL > 0`,
		`"%d %d", REC->w8 > 3 && REC->i8 < 0 || REC->zero, !(REC->w8 && REC->zero)`,
		`"%d %d", REC->zero ? 1 : REC->w8 ? 2 : 3, (REC->i8 < 0 ? -1 : 1) * 7`,
		`"%lld", REC->zero ? REC->w32 : REC->i32`,
		`"%lld", (long long)(REC->w8 ? REC->i32 : REC->w32)`,
		`"%u,%u", ((unsigned int) ((REC->w32) >> 20)), ((unsigned int) ((REC->w32) & ((1U << 20) - 1)))`,
		`"%d %d %d", (int)sizeof(u64), (int)sizeof(REC->mac), (int)sizeof(unsigned short)`,
		`"%d %d", REC->pair[1] + REC->pair[0], REC->mac[REC->pair[2]]`,
		`"%d", (int)0xffffffff < 0`,
		`"%d %d", 4294967295 > -1, 0xffffffff > -1`,
		`"%lld %llx", 0x7fffffff + 1LL, 1ULL << 63`,
		`"%d %d %d", 'a', '\n', '\\'`,
		`"%s %s", "a" "b" "\x41\101\t\"", REC->w8 > 200 ? "big" : "small"`,
		`"%d", 2 + 3 * 4 - 10 / 3 % 2 << 1 >> 1`,
		`"%d", (REC->w8 == 250) + (REC->i8 != -5)`,
		`"%d%%", REC->w8 * 100 / 255`,
		`"%lu", (unsigned long)REC->w32 * REC->w32`,
		`"%i %li %lli", REC->i8, (long)REC->i32, (long long)REC->i64`,
		`"%u", (unsigned)-1 / 2`,
		`"%d", (u16)~0 >> 4`,
		`"%lld", - REC->i64 - + REC->i8`,
		`"%d %d %d %d", (bool)REC->w8, (_Bool)REC->i64, (bool)REC->zero, (bool)256 + (bool)(REC->w16 & 0x0800)`,
		`"%lld %lld %llx", (long long)(-1 ?: REC->w32), (long long)(1 ? -1 : REC->w32), (0 ? REC->w64 : ~0U) << 4`,
		`"%d %d %u", (short int)REC->w32, (unsigned short int)REC->i32, (short unsigned int)REC->i32`,
	}
	var src strings.Builder
	src.WriteString(`#include <stdio.h>
#include <stdbool.h>
typedef signed char s8; typedef unsigned char u8; typedef short s16; typedef unsigned short u16;
typedef int s32; typedef unsigned u32; typedef long long s64; typedef unsigned long long u64;
static const struct {
	u8 common[8]; s8 i8; u8 w8; s16 i16; u16 w16; s8 c; s32 i32; u32 w32; s64 i64; u64 w64;
	char comm[8]; u8 mac[6]; s16 pair[3]; void *ptr; u8 rest[96]; int zero;
} rec = { .i8 = -5, .w8 = 250, .i16 = -300, .w16 = 65000, .c = 'x', .i32 = -100000, .w32 = 4000000000u, .i64 = -5000000000ll,
	.w64 = 0xfedcba9876543210ull, .comm = "bash", .mac = { 0x2d, 0x48, 0xd6, 0xfc, 0x7a, 0x05 }, .pair = { 1, -2, 3 } }, *REC = &rec;
int main(void) {
`)
	for _, c := range cases {
		fmt.Fprintf(&src, "\tprintf(%s); putchar(0);\n", c)
	}
	src.WriteString("}\n")
	dir := t.TempDir()
	name := filepath.Join(dir, "x.c")
	livetest.WriteFile(t, name, src.String())
	program := filepath.Join(dir, "x")
	if out, err := exec.Command("gcc", "-w", "-m64", "-fwrapv", "-o", program, name).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(out), "\x00")
	for i, c := range cases {
		p := compile(t, c, options)
		if got := string(p.AppendTo(nil, payload())); got != want[i] || p.Problem() != nil {
			t.Errorf("%s\n%q, C says\n%q %v", c, got, want[i], p.Problem())
		}
	}
}
