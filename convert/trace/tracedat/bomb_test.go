package tracedat

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/abi"
	"kprof/perfevent/memtest"
)

const le = abi.LittleEndian

func packed(t *testing.T, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	z := w.EncodeAll(b, nil)
	return append(le.AppendUint32(le.AppendUint32(nil, uint32(len(z))), uint32(len(b))), z...)
}

// section7 is a section of version 7.
func section7(id, flags uint16, body []byte) []byte {
	b := le.AppendUint32(nil, uint32(id)|uint32(flags)<<16)
	return append(le.AppendUint64(le.AppendUint32(b, 0), uint64(len(body))), body...)
}

func option7(id uint16, data []byte) []byte {
	return append(append([]byte{byte(id), byte(id >> 8)}, le.AppendUint32(nil, uint32(len(data)))...), data...)
}

// file7 is a compressed file of version 7: sections of options, each compressed, behind rest, of which
// it is told where it begins.
func file7(t *testing.T, sections int, rest []byte, options func(at int) []byte) []byte {
	t.Helper()
	b := append([]byte(magic+"7\x00\x00\x08"), le.AppendUint32(nil, 4096)...)
	b = append(b, "zstd\x001\x00"...)
	at := len(b) + 8
	b = append(le.AppendUint64(b, uint64(at+len(rest))), rest...)
	body := options(at)
	for i := range sections {
		size := len(section7(optionDone, compressedSection, packed(t, append(body, option7(optionDone, make([]byte, 8))...))))
		next := uint64(len(b) + size)
		for tries := 0; ; tries++ {
			if i == sections-1 {
				next = 0
			}
			s := section7(optionDone, compressedSection, packed(t, append(body, option7(optionDone, le.AppendUint64(nil, next))...)))
			if i == sections-1 || uint64(len(b)+len(s)) == next {
				b = append(b, s...)
				break
			}
			if next = uint64(len(b) + len(s)); tries > 10 {
				t.Fatal("no place of the next section is right")
			}
		}
	}
	return b
}

// bufferOf is an option of a buffer with so many CPUs, whose pages are where off says.
func bufferOf(name string, section, cpus int, off func(cpu int) (at, size int)) []byte {
	d := append(le.AppendUint64(nil, uint64(section)), name+"\x00local\x00"...)
	d = le.AppendUint32(le.AppendUint32(d, 4096), uint32(cpus))
	for cpu := range cpus {
		at, size := off(cpu)
		d = le.AppendUint64(le.AppendUint64(le.AppendUint32(d, uint32(cpu)), uint64(at)), uint64(size))
	}
	return option7(optionBuffer, d)
}

// TestBombs opens small files that say to be much, and reads a page of each CPU.
func TestBombs(t *testing.T) {
	const cpus = 1 << 12
	head := section7(optionBuffer, 0, nil)
	for _, tt := range []struct {
		what string
		file []byte
		want string // in Truncated
		cpus int
	}{
		{"many buffers of the same pages", file7(t, 1, append(head, make([]byte, 4096)...), func(at int) (b []byte) {
			for i := range 8 {
				b = append(b, bufferOf(fmt.Sprint(i), at, cpus, func(int) (int, int) { return at + len(head), 4096 })...)
			}
			return b
		}), "pages of more than 16384 CPUs", 1},
		{"pages that overlap", file7(t, 1, append(head, make([]byte, 64<<10)...), func(at int) []byte {
			return bufferOf("", at, cpus, func(cpu int) (int, int) { return at + len(head) + cpu*16, 4096 })
		}), "lie in those of CPU", 16},
		{"maps", file7(t, 1, nil, func(int) []byte {
			return option7(optionProcMaps, []byte("1 ffffff x\n"+strings.Repeat("0 1 x\n", 1<<21)))
		}), "more than 262144 maps", 0},
		{"processes", file7(t, 1, nil, func(int) []byte { return option7(optionProcMaps, []byte(strings.Repeat("1 0 x\n", 1<<21))) }), "or 65536 processes", 0},
		{"sections", file7(t, 8, nil, func(int) []byte { return option7(999, make([]byte, 8<<20)) }), "compressed bytes say that they are", 0},
		{"buffers", file7(t, 1, head, func(at int) []byte { return bytes.Repeat(bufferOf("", at, 0, nil), 1<<17) }), "", 0},
		{"chunks", chunks(t, 256), "", 256},
	} {
		t.Run(tt.what, func(t *testing.T) {
			if len(tt.file) > 512<<10 {
				t.Errorf("%d bytes, a bomb is small", len(tt.file))
			}
			defer memtest.Within(t, 400<<20)()
			f, err := Open(bytes.NewReader(tt.file), int64(len(tt.file)))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if tt.want != "" && (f.Truncated == nil || !strings.Contains(f.Truncated.Error(), tt.want)) {
				t.Errorf("%v, want %s", f.Truncated, tt.want)
			}
			var open []*Pages
			for i := range f.Buffers {
				for _, c := range f.Buffers[i].CPUs {
					p := f.Pages(&f.Buffers[i], c, 1)
					p.Next()
					open = append(open, p)
				}
			}
			if len(open) != tt.cpus {
				t.Errorf("%d CPUs, want %d", len(open), tt.cpus)
			}
		})
	}
}

// chunks is a file with a chunk of each CPU that decompresses to 4 MiB.
func chunks(t *testing.T, cpus int) []byte {
	chunk := append(le.AppendUint32(nil, 1), packed(t, make([]byte, 4<<20))...)
	head := section7(optionBuffer, compressedSection, nil)
	return file7(t, 1, append(head, bytes.Repeat(chunk, cpus)...), func(at int) []byte {
		return bufferOf("", at, cpus, func(cpu int) (int, int) { return at + len(head) + cpu*len(chunk), len(chunk) - 4 })
	})
}
