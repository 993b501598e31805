// Sleeps for 300 ms, in two system calls without anything around them: too short on the CPU
// for a sample. Without the C library, whose start takes longer.
#include <time.h>

static struct timespec nap = {0, 300000000};

void _start(void) {
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"(35), "D"(&nap), "S"(0) : "rcx", "r11", "memory");
	__asm__ volatile("syscall" : : "a"(60), "D"(0));
#elif defined(__aarch64__)
	register long number __asm__("x8") = 101, *sleep __asm__("x0") = (long *)&nap, rest __asm__("x1") = 0;
	__asm__ volatile("svc 0" : "+r"(sleep) : "r"(number), "r"(rest) : "memory");
	number = 93;
	sleep = 0;
	__asm__ volatile("svc 0" : : "r"(number), "r"(sleep));
#endif
	__builtin_unreachable();
}
