// A program with statically defined probes, in the notes that <sys/sdt.h> would
// write. It takes a number of rounds.
#include <stdint.h>
#include <stdlib.h>

// A semaphore is a program's way to know that somebody watches.
__attribute__((section(".probes"), used)) volatile uint16_t kprof_guarded_semaphore;

#define PROBE(provider, name, semaphore, args, ...)                            \
	__asm__ volatile("990:	nop\n"                                             \
			 "	.pushsection .note.stapsdt,\"\",\"note\"\n"               \
			 "	.balign 4\n"                                              \
			 "	.4byte 992f-991f, 994f-993f, 3\n"                         \
			 "991:	.asciz \"stapsdt\"\n"                                 \
			 "992:	.balign 4\n"                                          \
			 "993:	.8byte 990b, _.stapsdt.base, " semaphore "\n"         \
			 "	.asciz \"" provider "\"\n"                                \
			 "	.asciz \"" name "\"\n"                                    \
			 "	.asciz \"" args "\"\n"                                    \
			 "994:	.balign 4\n"                                          \
			 "	.popsection\n" ::__VA_ARGS__)

__asm__(".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n"
	".popsection\n");

#if defined(__x86_64__)
#define SIGNED "-4@%k0"
#define TEXT "8@%1"
#else
#define SIGNED "-4@%w0"
#define TEXT "8@%1"
#endif

struct pair {
	long first;
	int second;
};

// Variables with a place of their own: one that is in the file, one that is not.
static struct pair filled[2] = {{1, 2}, {3, 4}};
static long rounds_done;

static __attribute__((noinline)) void round_of(int i, struct pair *p)
{
	PROBE("kprof", "plain", "0", SIGNED " " TEXT " 8@%2 -4@%3", "r"(-i), "r"("some text"), "m"(p->first), "n"(-7));
	PROBE("kprof", "twice", "0", SIGNED, "r"(i));
	if (kprof_guarded_semaphore)
		PROBE("kprof", "guarded", "kprof_guarded_semaphore", "");
	PROBE("kprof", "twice", "0", SIGNED, "r"(i + 1));
	filled[1].second = 40 + i;
	rounds_done = 70 + i;
	PROBE("kprof", "variables", "0", "8@%0 -4@%1 8@%2", "m"(filled[1].first), "m"(filled[1].second), "m"(rounds_done));
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	struct pair p = {1, 2};
	for (int i = 1; i <= rounds; i++) {
		p.first = 1000 + i;
		round_of(i, &p);
	}
	return 0;
}
