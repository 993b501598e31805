package procfstest

// Modules is the text of /proc/modules with lines of every kind. Those of modules
// whose addresses are known are fuse, nf_nat, blanks and last.
const Modules = "fuse 176128 1 - Live 0xffffffffc0a00000\n" +
	"nf_nat 53248 2 xt_nat,nft_chain_nat, Live 0xffffffffc0900000 (OE)\n" +
	"hidden 4096 0 - Live 0x0000000000000000\n" +
	"  blanks\t 4096  0 -  Loading 0xffffffffc0800000 \r\n" +
	"short 4096 0 - Live\n" +
	"odd x 0 - Live 0xffffffffc0700000\n" +
	"last 12288 0 - Unloading 0xffffffffc0600000"

// MalformedModule is where the first of its lines is that cannot be read.
const MalformedModule = 196

// LongBuildID is as long as a build id may be: linkers take any with --build-id=0x.
const LongBuildID = "0123456789abcdef0123456789ABCDEF0123456789ghijkl0123456789GHIJKL"

// Note is an ELF note with a build id, in the byte order of little-endian machines.
func Note(id string) string {
	return "\x04\x00\x00\x00" + string([]byte{byte(len(id)), 0, 0, 0}) + "\x03\x00\x00\x00GNU\x00" + id
}
