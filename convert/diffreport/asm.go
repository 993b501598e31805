package diffreport

import (
	"fmt"
	"io"
	"strings"

	"kprof/convert/printable"
)

// AsmRow is an instruction in one build, the other or both.
type AsmRow struct {
	Base, New Instruction
	Changed   bool // both sides differ
}

// Instruction is one of a function. The zero value is none.
type Instruction struct {
	Off  uint64 // from the start of the function
	Text string
}

// AsmOptions say how instructions are shown.
type AsmOptions struct {
	Width   int  // of lines. Default: 120
	Color   bool // marks what differs for a terminal
	Context int  // how many rows are shown around those that differ. Default: all
}

// leastAsmWidth holds two columns that can be read.
const leastAsmWidth = 60

// Asm writes the instructions of two builds of a function side by side, with their
// offsets: in the middle | is where one stands in the other's place, < what only the base
// has, > what only the new build has, as diff -y has it.
func Asm(w io.Writer, function string, rows []AsmRow, o AsmOptions) error {
	if o.Width <= 0 {
		o.Width = 120
	}
	column := (max(o.Width, leastAsmWidth) - 3) / 2
	var b strings.Builder
	differ, n := 0, [2]int{}
	for _, r := range rows {
		if r.Changed {
			differ++
		}
		if r.Base.Text != "" {
			n[0]++
		}
		if r.New.Text != "" {
			n[1]++
		}
	}
	fmt.Fprintf(&b, "%s: %d instructions → %d, ", printable.Text(function), n[0], n[1])
	if differ == 0 {
		b.WriteString("the same but for addresses\n\n")
	} else {
		fmt.Fprintf(&b, "%d rows differ\n\n", differ)
	}
	near := shownRows(rows, o.Context)
	hidden := 0
	skip := func() {
		if hidden > 0 {
			fmt.Fprintf(&b, "… %d alike\n", hidden)
		}
		hidden = 0
	}
	for i, r := range rows {
		if !near[i] {
			hidden++
			continue
		}
		skip()
		mark, color := ' ', ""
		switch {
		case r.Base.Text == "":
			mark, color = '>', sgrWorse
		case r.New.Text == "":
			mark, color = '<', sgrBetter
		case r.Changed:
			mark, color = '|', sgrMoved
		}
		line := strings.TrimRight(fmt.Sprintf("%s %c %s", cell(r.Base, column), mark, cell(r.New, column)), " ")
		if o.Color && color != "" {
			line = "\x1b[" + color + "m" + line + "\x1b[m"
		}
		b.WriteString(line + "\n")
	}
	skip()
	return writeString(w, "instructions", b.String())
}

// cell is an instruction in a column.
func cell(x Instruction, width int) string {
	text := ""
	if x.Text != "" {
		text = fmt.Sprintf("%5x  %s", x.Off, printable.Text(x.Text))
	}
	return printable.Column(text, width)
}

// shownRows tells which rows are at most context from one that differs.
func shownRows(rows []AsmRow, context int) []bool {
	shown := make([]bool, len(rows))
	for i, r := range rows {
		switch {
		case context <= 0:
			shown[i] = true
		case r.Changed:
			for j := max(0, i-context); j < min(len(rows), i+context+1); j++ {
				shown[j] = true
			}
		}
	}
	return shown
}
