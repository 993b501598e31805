package elfsym

import (
	"debug/elf"

	"kprof/symbolize/unwind"
)

// CallFrames reads the call frame information of the file, which must be open.
func (f *File) CallFrames() (*unwind.Table, error) {
	file := unwind.File{Narrow: f.elf.Class == elf.ELFCLASS32}
	for name, to := range map[string]*unwind.Section{".eh_frame": &file.EHFrame, ".eh_frame_hdr": &file.EHFrameHdr} {
		s := f.elf.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := sectionData(s, maxTable)
		if err != nil {
			return nil, err
		}
		*to = unwind.Section{Addr: s.Addr, Data: data}
	}
	data, err := (&image{elf: f.elf}).debugSection("frame")
	if err != nil {
		return nil, err
	}
	file.DebugFrame.Data = data
	for _, s := range f.segments {
		if s.exec {
			file.Code = append(file.Code, unwind.Segment{Off: s.off, Addr: s.vaddr, Size: s.size})
		}
	}
	return unwind.New(file)
}
