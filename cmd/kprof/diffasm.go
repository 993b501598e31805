package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"kprof/convert/compare"
	"kprof/convert/diffreport"
)

// asmContext is how many rows a terminal shows around those that differ.
const asmContext = 8

// writeAsm writes the instructions of a function in both builds.
func (f *diffFlags) writeAsm(out output, c *compare.Comparison) error {
	rows, err := c.Asm(f.asm)
	var none *compare.NoCodeError
	if errors.As(err, &none) && !none.Files {
		return fmt.Errorf("%w: name it with --%[2]s-vmlinux or --%[2]s-elf", err, sideNames[none.Side])
	}
	if err != nil {
		return err
	}
	o := diffreport.AsmOptions{}
	if out.name == "-" && isTerminal(os.Stdout) {
		o.Color = wantsColors()
		if !f.wide {
			o.Width, o.Context = terminalWidth(os.Stdout), asmContext
		}
	}
	return out.create(func(w io.Writer) error {
		b := bufio.NewWriter(w)
		if err := diffreport.Asm(b, f.asm, rows, o); err != nil {
			return err
		}
		return b.Flush()
	})
}
