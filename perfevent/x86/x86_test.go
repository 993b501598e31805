package x86

import (
	"encoding/hex"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// TestDecode: the length of each instruction is the assembler's, whatever follows it, and no
// part of one is an instruction.
func TestDecode(t *testing.T) {
	const unknown = -1
	for _, tt := range []struct {
		code string
		bits int
		want string // the name; of what has none, as much as is known
		n    int
	}{
		{"c5f877", 64, "VZEROUPPER", 3},
		{"c5f877", 32, "VZEROUPPER", 3},
		{"c5fc77", 64, "VZEROALL", 3},
		{"c4e17877", 64, "VZEROUPPER", 4},
		{"c4e17c77", 32, "VZEROALL", 4},
		{"c57877", 64, "VZEROUPPER", 3},
		{"c53077", 32, "LDS", 2}, // lds (%eax),%esi
		{"f30f1efa", 64, "endbr64", 4},
		{"f30f1efb", 32, "endbr32", 4},
		{"0f01ca", 64, "clac", 3},
		{"0f01cb", 64, "stac", 3},
		{"0f01ee", 64, "rdpkru", 3},
		{"664c0f38f6c9", 64, "", 6},          // adcx %rcx,%r9
		{"f30f38f64008", 64, "", 6},          // adox 8(%rax),%eax
		{"f34c0f38f6442480", 64, "", 8},      // adox -0x80(%rsp),%r8
		{"660f38f60578563412", 32, "", 9},    // adcx 0x12345678,%eax
		{"660f38f6042578563412", 64, "", 10}, // adcx 0x12345678,%eax
		{"660f3aced103", 64, "", 6},          // gf2p8affineqb $3,%xmm1,%xmm2
		{"f30fc7f8", 64, "", 4},              // rdpid %rax
		{"f3480f1ec8", 64, "", 5},            // rdsspq %rax
		{"480f38f603", 64, "", 5},            // wrssq %rax,(%rbx)
		{"62f56c4858d9", 64, "", 6},          // vaddph %zmm1,%zmm2,%zmm3
		{"62f56c485898000001", 64, "", 10},   // vaddph 0x10000(%rax),%zmm2,%zmm3, short of a byte
		{"62f36c48c2c903", 64, "VCMPPH", 7},  // vcmpph $3,%zmm1,%zmm2,%k1
		{"c4e27849c0", 64, "", 5},            // tilerelease
		{"c4e27b4b0c18", 64, "", 6},          // tileloadd (%rax,%rbx,1),%tmm1
		{"c4e36148e211", 64, "", 6},          // vpermil2ps $1,%xmm1,%xmm2,%xmm3,%xmm4
		{"67c4e27b4b0c18", 64, "", 7},        // the same of 32-bit addresses
		{"670f38f6c0", 32, "", unknown},      // addresses of 16 bits
		{"8fe978c2ec0e", 64, "", unknown},    // XOP
		{"06", 64, "", unknown},              // push %es, not of 64 bits
		{"06", 32, "PUSH", 1},                //
		{"4805", 64, "", unknown},            // cut short
		{"f3", 64, "", unknown},              // a prefix alone
		{"9bd97c2402", 64, "FWAIT", 1},       // objdump has it as one with the next: fstcw
		{"48b88877665544332211", 64, "MOV", 10},
		{"b888776655", 32, "MOV", 5},
		{"", 64, "", unknown},
	} {
		code, err := hex.DecodeString(tt.code)
		if err != nil {
			t.Fatal(err)
		}
		for _, behind := range []string{"", "\x90\x90\x90\x90\x90\x90\x90\x90", "\x05\x00\x00\x00\x00\x00\x00\x00", "\x84\x84\x84\x84\x84\x84\x84\x84\x84"} {
			if tt.n == unknown && (len(code) == 0 || tt.code == "4805" || tt.code == "f3") && behind != "" {
				continue // it is no longer what it was
			}
			b := append(code[:len(code):len(code)], behind...)
			inst, ok := Decode(b, tt.bits)
			if tt.n > len(b) {
				if ok {
					t.Errorf("%s of %d bits: %d bytes", tt.code, tt.bits, inst.Len)
				}
				continue
			}
			if ok != (tt.n > 0) || ok && inst.Len != tt.n {
				t.Errorf("%s of %d bits, with % x behind: %d bytes, %v; want %d", tt.code, tt.bits, behind, inst.Len, ok, tt.n)
			}
			if got := inst.Op.String(); ok && inst.Op == 0 && Name(b[:inst.Len]) != tt.want || ok && inst.Op != 0 && got != tt.want {
				t.Errorf("%s of %d bits: %s, want %s", tt.code, tt.bits, got, tt.want)
			}
		}
	}
}

// TestSyntax: what is not of x86asm's making is written as the rest is.
func TestSyntax(t *testing.T) {
	for code, want := range map[string]string{"\xc5\xf8\x77": "vzeroupper", "\xc5\xfc\x77": "vzeroall"} {
		inst, _ := Decode([]byte(code), 64)
		if got := strings.TrimSpace(x86asm.GNUSyntax(inst, 0x1000, nil)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
