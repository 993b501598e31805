package elfsym

import (
	"debug/elf"
	"errors"
	"io"

	"kprof/symbolize/unwind"
)

// CallFrames reads the call frame information of the file, which must be open, and of its code
// what this lacks.
func (f *File) CallFrames() (*unwind.Table, error) {
	file, err := f.callFrames()
	if err != nil {
		return nil, err
	}
	if f.elf.Machine == elf.EM_AARCH64 {
		file.Text = f.text()
	}
	return unwind.New(file)
}

// callFrames reads the sections. One that cannot be read is an error where there is no other.
func (f *File) callFrames() (unwind.File, error) {
	file := unwind.File{Narrow: f.elf.Class == elf.ELFCLASS32}
	var unread error
	for name, to := range map[string]*unwind.Section{".eh_frame": &file.EHFrame, ".eh_frame_hdr": &file.EHFrameHdr} {
		s := f.elf.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := sectionData(s, maxTable)
		unread = errors.Join(unread, err)
		*to = unwind.Section{Addr: s.Addr, Data: data}
	}
	data, _, err := (&image{elf: f.elf}).debugSection("frame")
	unread = errors.Join(unread, err)
	file.DebugFrame.Data = data
	for _, s := range f.segments {
		if s.exec {
			file.Code = append(file.Code, unwind.Segment{Off: s.off, Addr: s.vaddr, Size: s.size})
		}
	}
	if len(file.EHFrame.Data) > 0 || len(data) > 0 {
		unread = nil
	}
	return file, unread
}

// text reads the code of segments, unless it is so much that walks are better done without.
func (f *File) text() func(unwind.Segment) ([]byte, error) {
	left := uint64(64 << 20)
	return func(s unwind.Segment) ([]byte, error) {
		if s.Size > left {
			return nil, nil
		}
		left -= s.Size
		return io.ReadAll(io.NewSectionReader(f.reader, int64(s.Off), int64(s.Size)))
	}
}
