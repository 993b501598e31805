// Makes code at run time, puts it down in a jitdump and runs it: two functions one
// after the other in one place, the second with lines, and then the first again,
// moved elsewhere. Usage: jit DIRECTORY
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// Counts its argument down; keeps a frame pointer.
#if defined(__x86_64__)
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5,       // push %rbp; mov %rsp,%rbp
	0x48, 0xff, 0xcf, 0x75, 0xfb, // dec %rdi; jnz .-3
	0x5d, 0xc3,                   // pop %rbp; ret
};
#define MACHINE 62
#else
static const uint32_t code[] = {
	0xa9bf7bfd, 0x910003fd, // stp x29, x30, [sp, #-16]!; mov x29, sp
	0xf1000400, 0x54ffffe1, // subs x0, x0, #1; b.ne .-4
	0xa8c17bfd, 0xd65f03c0, // ldp x29, x30, [sp], #16; ret
};
#define MACHINE 183
#endif

static FILE *dump;
static void u32(uint32_t v) { fwrite(&v, 4, 1, dump); }
static void u64(uint64_t v) { fwrite(&v, 8, 1, dump); }

static void prefix(uint32_t id, uint32_t size)
{
	u32(id), u32(16 + size), u64(now());
}

static void load(void *at, uint64_t index, const char *name)
{
	prefix(0, 40 + strlen(name) + 1 + sizeof code);
	u32(getpid()), u32(getpid()), u64((uintptr_t)at), u64((uintptr_t)at), u64(sizeof code), u64(index);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, sizeof code, 1, dump);
	fflush(dump);
}

__attribute__((noinline)) static void run(void *at)
{
	clock_t end = clock() + CLOCKS_PER_SEC * 3 / 10;
	while (clock() < end)
		((void (*)(uint64_t))at)(1000000);
}

int main(int argc, char **argv)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/jit-%d.dump", argv[1], getpid());
	dump = fopen(path, "w+");
	u32(0x4a695444), u32(1), u32(40), u32(MACHINE), u32(0), u32(getpid()), u64(now()), u64(0);
	fflush(dump);
	// The kernel tells recorders of this.
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);

	char *a = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *b = a + 4096;
	memcpy(a, code, sizeof code);
	memcpy(b, code, sizeof code);
	__builtin___clear_cache(a, a + 8192);
	load(a, 1, "first");
	run(a);

	const char *file = "/src/app.js";
	prefix(2, 16 + 16 + strlen(file) + 1);
	u64((uintptr_t)a), u64(1), u64((uintptr_t)a), u32(42), u32(0), fwrite(file, strlen(file) + 1, 1, dump);
	load(a, 2, "second");
	run(a);

	prefix(1, 48);
	u32(getpid()), u32(getpid()), u64((uintptr_t)b), u64((uintptr_t)a), u64((uintptr_t)b), u64(sizeof code), u64(1);
	fflush(dump);
	run(b);
	prefix(3, 0);
	fclose(dump);
	return 0;
}
