package procfs

// KernelText finds in the symbols of a kernel where its code lies. The zero value has seen none.
type KernelText struct{ text, stext, etext uint64 }

// Add takes a symbol of the kernel itself, in the order of kallsyms.
func (t *KernelText) Add(s *Symbol) {
	switch {
	case t.text == 0 && string(s.Name) == "_text":
		t.text = s.Addr
	case t.stext == 0 && string(s.Name) == "_stext":
		t.stext = s.Addr
	case string(s.Name) == "_etext":
		t.etext = s.Addr
	}
}

// Range is where the code starts, 0 if that is not known, and which symbol is there: "_text", or
// "_stext" where there is no such. End is 1<<64 - 1 where it is not known, as perf has it.
func (t *KernelText) Range() (start, end uint64, symbol string) {
	start, end, symbol = t.text, t.etext, "_text"
	if start == 0 {
		start, symbol = t.stext, "_stext"
	}
	if end <= start {
		end = 1<<64 - 1
	}
	return start, end, symbol
}
