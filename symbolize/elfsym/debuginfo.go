package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"kprof/symbolize/internal/srcline"
	"kprof/symbolize/regular"
)

// ErrNoDebugInfo reports a file without DWARF, whose debug file was not found
// either: there are no inlined frames and no lines.
var ErrNoDebugInfo = errors.New("no debug information (DWARF)")

// ErrNoShared reports DWARF of which a part is in a file that several share (dwz), and
// that was not found: inlined functions are missing, lines are known.
var ErrNoShared = errors.New("debug information shared with other files")

// debugInfo is the DWARF of a file. The file is mapped into memory, so that only
// the parts looked at are read.
type debugInfo struct {
	once   sync.Once
	mu     sync.RWMutex // held for writing to end all use
	data   *srcline.Data
	images []*image
	split  splitFiles
	err    error
	broken atomic.Bool // a part of a file went away
}

// hasDebugInfo reports whether f has DWARF.
func hasDebugInfo(f *elf.File) bool {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s := f.Section(name); s != nil && s.Type != elf.SHT_NOBITS {
			return true
		}
	}
	return false
}

// appendDebug appends what DWARF tells of vaddr.
func (f *File) appendDebug(dst []Function, vaddr uint64, inline bool) []Function {
	d := f.openedDebug()
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.data == nil || d.broken.Load() {
		return dst
	}
	before := len(dst)
	d.guard(func() {
		var buf [16]srcline.Frame
		for _, fr := range d.data.AppendFrames(buf[:0], vaddr, inline) {
			dst = append(dst, Function(fr))
		}
	})
	if d.broken.Load() {
		return dst[:before]
	}
	return dst
}

// DebugErr says why there are no inlined frames or lines, or fewer than there
// should be: ErrNoDebugInfo, or what is wrong with it as far as it was looked
// at. It is nil without Options.DWARF.
func (f *File) DebugErr() error {
	if !f.opts.DWARF {
		return nil
	}
	d := f.openedDebug()
	d.mu.RLock()
	defer d.mu.RUnlock()
	switch {
	case d.broken.Load():
		return fmt.Errorf("debug information: %w while it was read", io.ErrUnexpectedEOF)
	case d.err == nil && d.data != nil:
		return d.data.Err()
	}
	return d.err
}

// openedDebug returns the DWARF of f, which the first call looks for.
func (f *File) openedDebug() *debugInfo {
	d := &f.debug
	d.once.Do(func() {
		d.guard(func() { d.err = f.openDebugInfo() })
	})
	return d
}

// guard calls read, which reads mapped files. Whoever shortens such a file makes
// a fault of reading it, which would end the program; instead it ends the use of
// the file.
func (d *debugInfo) guard(read func()) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			d.broken.Store(true)
		}
	}()
	read()
}

// close ends the use of DWARF.
func (d *debugInfo) close() {
	d.once.Do(func() { d.err = os.ErrClosed })
	d.mu.Lock()
	defer d.mu.Unlock()
	d.data = nil
	for _, im := range d.images {
		im.close()
	}
	d.images = nil
	d.split.close()
}

// openDebugInfo finds the DWARF of f: in the file itself, else in its debug file.
func (f *File) openDebugInfo() error {
	d := &f.debug
	var im *image
	switch {
	case hasDebugInfo(f.elf):
		file, _ := f.reader.(*os.File)
		im = newImage(f.elf, file, f.path)
	default:
		f.Load() // opens the debug file; its error is the caller's to ask for
		if f.separate == nil || !hasDebugInfo(f.separate.elf) {
			return f.without(ErrNoDebugInfo)
		}
		im = newImage(f.separate.elf, f.separate.file, f.separate.path)
	}
	d.images = append(d.images, im)
	sections, err := im.sections("")
	if err != nil {
		return err
	}
	alt, err := f.openShared(im)
	d.data = srcline.New(sections, alt, f.openSplit)
	return err
}

// openShared opens the file that holds what several debug files have in common
// (dwz); nil if there is none.
func (f *File) openShared(im *image) (*srcline.Data, error) {
	path, id := im.sharedLink()
	if path == "" {
		return nil, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(im.path), path)
	}
	good := func(e *elf.File) bool {
		_, own := debugSup(e, true)
		return bytes.Equal(buildID(e), id) || bytes.Equal(own, id)
	}
	o := f.openFirst(append(f.byBuildID(id), path), good)
	if o == nil && f.opts.Fetch != nil {
		if file, from, err := f.opts.Fetch(id); err == nil {
			o = elfIf(file, from, good)
		}
	}
	if o == nil {
		return nil, fmt.Errorf("%w, %s with build id %x: %w", ErrNoShared, path, id, fs.ErrNotExist)
	}
	shared := newImage(o.elf, o.file, o.path)
	f.debug.images = append(f.debug.images, shared)
	sections, err := shared.sections("")
	o.file.Close() // only read, and mapped
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o.path, err)
	}
	return srcline.New(sections, nil, nil), nil
}

// sharedLink returns the path and the id of the file that im shares debug
// information with, if there is one, as GNU has it or DWARF 5.
func (im *image) sharedLink() (path string, id []byte) {
	if sec := im.elf.Section(".gnu_debugaltlink"); sec != nil {
		if data, err := sectionData(sec, maxLink); err == nil {
			if i := bytes.IndexByte(data, 0); i > 0 {
				return string(data[:i]), data[i+1:]
			}
		}
	}
	return debugSup(im.elf, false)
}

const maxLink = 4096 // of a section that names a file

// debugSup reads .debug_sup (DWARF 5, section 7.3.6): version, whether the file
// is itself the shared one, path of the shared one, its id with the size.
func debugSup(f *elf.File, shared bool) (path string, id []byte) {
	sec := f.Section(".debug_sup")
	if sec == nil {
		return "", nil
	}
	data, err := sectionData(sec, maxLink)
	if err != nil || len(data) < 3 || f.ByteOrder.Uint16(data) != 5 || (data[2] != 0) != shared {
		return "", nil
	}
	i := bytes.IndexByte(data[3:], 0)
	if i < 0 {
		return "", nil
	}
	path, data = string(data[3:3+i]), data[3+i+1:]
	size, n := binary.Uvarint(data)
	if n <= 0 || size != uint64(len(data)-n) {
		return "", nil
	}
	return path, data[n:]
}

// image is an ELF file whose sections are in memory, or can be brought there.
type image struct {
	elf    *elf.File
	path   string
	mapped []byte // the file, nil if it cannot be mapped
	size   int64  // of a .dwo file
}

// newImage maps file, which may be nil: then sections are read.
func newImage(f *elf.File, file *os.File, path string) *image {
	im := &image{elf: f, path: path}
	if file == nil {
		return im
	}
	info, err := file.Stat()
	if err != nil || info.Size() == 0 || int64(int(info.Size())) != info.Size() {
		return im
	}
	im.mapped = mapFile(file, int(info.Size()))
	return im
}

func (im *image) close() {
	if im.mapped != nil {
		unmapFile(im.mapped)
		im.mapped = nil
	}
}

// sections returns the debug sections whose names end in suffix.
func (im *image) sections(suffix string) (srcline.Sections, error) {
	s := srcline.Sections{
		BigEndian:   im.elf.Data == elf.ELFDATA2MSB,
		Relocatable: im.elf.Type == elf.ET_REL,
	}
	for name, data := range map[string]*[]byte{
		"info": &s.Info, "abbrev": &s.Abbrev, "line": &s.Line, "str": &s.Str, "line_str": &s.LineStr,
		"str_offsets": &s.StrOffsets, "addr": &s.Addr, "ranges": &s.Ranges, "rnglists": &s.RngLists, "aranges": &s.Aranges,
	} {
		var mapped bool
		var err error
		if *data, mapped, err = im.debugSection(name + suffix); err != nil {
			return s, err
		}
		if !mapped {
			s.Memory += len(*data)
		}
	}
	return s, nil
}

// debugSection returns the contents of .debug_NAME, nil if there is none, and whether
// they are mapped from the file.
func (im *image) debugSection(name string) (data []byte, mapped bool, err error) {
	for i, sec := range im.elf.Sections {
		if sec.Type != elf.SHT_NOBITS && (sec.Name == ".debug_"+name || sec.Name == ".zdebug_"+name) {
			return im.contents(i)
		}
	}
	return nil, false, nil
}

// contents returns those of debug section i, uncompressed and relocated.
func (im *image) contents(i int) (data []byte, mapped bool, err error) {
	sec := im.elf.Sections[i]
	switch {
	case strings.HasPrefix(sec.Name, ".z"):
		data, err = inflateOld(sec)
	case sec.Flags&elf.SHF_COMPRESSED != 0:
		data, err = inflate(sec.Open(), sec)
	case im.mapped == nil:
		data, err = sectionData(sec, maxTable)
	case sec.Offset > uint64(len(im.mapped)) || sec.FileSize > uint64(len(im.mapped))-sec.Offset:
		err = fmt.Errorf("section %s at byte %#x: %w", sec.Name, sec.Offset, io.ErrUnexpectedEOF)
	default:
		data, mapped = im.mapped[sec.Offset:sec.Offset+sec.FileSize:sec.Offset+sec.FileSize], true
	}
	if err == nil && im.elf.Type == elf.ET_REL {
		data, err = im.relocate(data, i)
	}
	return data, mapped, err
}

// separateFile is an open debug file.
type separateFile struct {
	elf  *elf.File
	file *os.File
	path string
}

// openFirst opens the first of paths that is an ELF file to use; nil if none is.
func (f *File) openFirst(paths []string, use func(*elf.File) bool) *separateFile {
	for _, path := range paths {
		file, _, err := regular.Open(f.opts.Root, path)
		if err != nil {
			continue
		}
		if found := elfIf(file, path, use); found != nil {
			return found
		}
	}
	return nil
}

// elfIf takes over file if it is an ELF file to use, else closes it.
func elfIf(file *os.File, path string, use func(*elf.File) bool) *separateFile {
	if checkHeader(file) == nil {
		if e, err := elf.NewFile(file); err == nil && use(e) {
			return &separateFile{e, file, path}
		}
	}
	file.Close()
	return nil
}
