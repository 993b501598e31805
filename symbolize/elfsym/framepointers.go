package elfsym

import (
	"debug/elf"

	"kprof/symbolize/unwind"
)

var machines = map[elf.Machine]unwind.Machine{
	elf.EM_X86_64: unwind.X86_64, elf.EM_386: unwind.I386, elf.EM_AARCH64: unwind.ARM64,
}

// LacksFramePointers reports whether most functions of the file do without frame pointers,
// and have call frame information, by which a copied stack can be walked instead. Go's
// programs have frame pointers. The file must be open.
func (f *File) LacksFramePointers() (bool, error) {
	if goSection(f.elf) != nil {
		return false, nil
	}
	file, err := f.callFrames()
	if err != nil {
		return false, err
	}
	t, err := unwind.New(file)
	if err != nil {
		return false, err
	}
	with, without := t.FramePointers(machines[f.elf.Machine])
	return without > with, nil
}
