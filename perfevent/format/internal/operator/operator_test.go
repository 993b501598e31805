package operator_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"kprof/perfevent/format/internal/operator"
	"kprof/perfevent/livetest"
)

// Of two operators the one that binds more strongly has its sides first.
func Example() {
	all := operator.Binaries()
	fmt.Println(all["*"].Prec > all["+"].Prec, all["<="].Op.Compares(), all["<<"].Op.Shifts())
	// Output: true true true
}

// TestPrecedence: a C compiler groups every two operators in the same way. Numbers are
// taken for which both ways differ.
func TestPrecedence(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	var source strings.Builder
	source.WriteString("#include <stdio.h>\nint main(void) { long a, b, c;\n")
	type pair struct{ x, y string }
	var pairs []pair
	for x := range operator.Binaries() {
		for y := range operator.Binaries() {
			pairs = append(pairs, pair{x, y})
			// Whether, over all small numbers, it is the same as with the left pair first,
			// and as with the right one.
			fmt.Fprintf(&source, "{ int l = 1, r = 1; for (a = 1; a < 5; a++) for (b = 1; b < 5; b++) for (c = 1; c < 5; c++) {\n"+
				"if ((%[2]s) == 0 || (%[3]s) == 0) continue; long v = a %[1]s b %[4]s c; if (v != ((a %[1]s b) %[4]s c)) l = 0; if (v != (a %[1]s (b %[4]s c))) r = 0; }\n"+
				"printf(\"%%d%%d\\n\", l, r); }\n", x, divisor(x, "(b "+y+" c)", "b"), divisor(y, "c", "c"), y)
		}
	}
	source.WriteString("return 0; }\n")
	dir := t.TempDir()
	cmd := exec.Command("gcc", "-w", "-x", "c", "-o", dir+"/a", "-")
	cmd.Stdin = strings.NewReader(source.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	out, err := exec.Command(dir + "/a").Output()
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for i, line := range strings.Fields(string(out)) {
		x, y := operator.Binaries()[pairs[i].x], operator.Binaries()[pairs[i].y]
		left := x.Prec >= y.Prec
		if line == "10" || line == "01" {
			told++
			if left != (line == "10") {
				t.Errorf("a %s b %s c: the left pair first: %v", pairs[i].x, pairs[i].y, left)
			}
		}
	}
	if told < 100 {
		t.Errorf("only %d of %d pairs tell", told, len(pairs))
	}
}

// divisor is what must not be 0 for an operator, of its right side in both groupings.
func divisor(op, grouped, plain string) string {
	if op == "/" || op == "%" {
		return grouped + " && " + plain
	}
	return "1"
}
