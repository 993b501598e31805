package diffreport

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestAsm: what differs is marked as diff -y marks it; on a terminal in colour, and what is
// alike around it cut.
func TestAsm(t *testing.T) {
	rows := []AsmRow{
		{Base: Instruction{0, "push %rbx"}, New: Instruction{0, "push %rbx"}},
		{New: Instruction{1, "added\x1b[31m"}, Changed: true},
		{Base: Instruction{1, "mov %rdi,%rbx"}, New: Instruction{2, "mov %rdi,%rbx"}},
		{Base: Instruction{2, "old"}, New: Instruction{3, "new"}, Changed: true},
		{Base: Instruction{3, "inc %rax"}, New: Instruction{4, "inc %rax"}},
		{Base: Instruction{4, "ret"}, Changed: true},
	}
	var b bytes.Buffer
	if err := Asm(&b, "f", rows, AsmOptions{Width: 63}); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("f: 5 instructions → 5, 3 rows differ\n\n")
	for _, row := range [][3]string{
		{"    0  push %rbx", " ", "    0  push %rbx"},
		{"", ">", "    1  added�[31m"},
		{"    1  mov %rdi,%rbx", " ", "    2  mov %rdi,%rbx"},
		{"    2  old", "|", "    3  new"},
		{"    3  inc %rax", " ", "    4  inc %rax"},
		{"    4  ret", "<", ""},
	} {
		want.WriteString(strings.TrimRight(fmt.Sprintf("%-30s %s %s", row[0], row[1], row[2]), " ") + "\n")
	}
	if got := b.String(); got != want.String() {
		t.Errorf("%s\nwant\n%s", got, want.String())
	}
	rows = nil
	for i := range uint64(50) {
		rows = append(rows, AsmRow{Base: Instruction{i, "nop"}, New: Instruction{i, "nop"}, Changed: i == 25})
	}
	b.Reset()
	if err := Asm(&b, "f", rows, AsmOptions{Color: true, Context: 2}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.Contains(got, "… 23 alike\n") || !strings.Contains(got, "… 22 alike\n") || strings.Count(got, "\x1b[33m") != 1 || strings.Count(got, "\n") != 9 {
		t.Errorf("%q", got)
	}
	b.Reset()
	if err := Asm(&b, "f", rows[:9], AsmOptions{Context: 2}); err != nil || !strings.Contains(b.String(), "the same but for addresses") {
		t.Errorf("%q, %v", b.String(), err)
	}
}
