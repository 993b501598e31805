// A program whose functions tell where they run: each line it prints is a
// function's name, its run-time address, and the offset in the file of that
// address by /proc/self/maps.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int exported(int n) { __asm__ volatile(""); return n + 1; }
static __attribute__((noinline)) int local(int n) { __asm__ volatile(""); return n * 3; }
int _underscore(int) __attribute__((alias("exported")));
int exported_with_longer_name(int) __attribute__((alias("exported")));
int weak_alias_with_the_longest_name(int) __attribute__((weak, alias("exported")));
__attribute__((section(".text.other"), noinline)) int elsewhere(int n) { __asm__ volatile(""); return n - 1; }

// Assembler functions: no size, no type.
__asm__(".text\n.globl sizeless\n.type sizeless, @function\nsizeless:\n nop\n nop\n nop\n ret\n"
	".globl label\nlabel:\n nop\n nop\n ret\n");
extern void sizeless(void), label(void);

static unsigned long offset(unsigned long addr) {
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps)) {
		unsigned long start, end, off;
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &off) == 3 && start <= addr && addr < end) {
			fclose(maps);
			return addr - start + off;
		}
	}
	abort();
}

#define SHOW(f) printf("%s %lx %lx\n", #f, (unsigned long)f, offset((unsigned long)f))

int main(int argc, char **argv) {
	SHOW(exported_with_longer_name);
	SHOW(local);
	SHOW(elsewhere);
	SHOW(sizeless);
	SHOW(label);
	SHOW(main);
	return exported(argc) + local(argc) + elsewhere(argc) + (int)strlen(argv[0]) < 0;
}
