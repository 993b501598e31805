// Allocates known bytes in known functions, and frees some of it: see malloc_live_test.go.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#define ALONE __attribute__((noinline))
#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory") // no tail call

ALONE void *by_malloc(size_t n) { void *p = malloc(n); KEEP(p); return p; }
ALONE void *by_calloc(size_t n) { void *p = calloc(3, n); KEEP(p); return p; }
ALONE void *by_realloc(void *q, size_t n) { void *p = realloc(q, n); KEEP(p); return p; }
ALONE void *by_reallocarray(void *q, size_t n) { void *p = reallocarray(q, 5, n); KEEP(p); return p; }
ALONE void *by_posix_memalign(size_t n) {
	void *p = 0;
	if (posix_memalign(&p, 256, n))
		abort();
	KEEP(p);
	return p;
}
ALONE void *by_aligned_alloc(size_t n) { void *p = aligned_alloc(64, n); KEEP(p); return p; }
ALONE void release(void *p) { free(p); KEEP(p); }

static void *thread(void *x) {
	for (int i = 0; i < 50; i++)
		release(by_malloc(1000));
	return by_malloc(77);
}

int main(void) {
	for (int i = 0; i < 10; i++) {
		void *m = by_malloc(100), *c = by_calloc(200), *a = by_posix_memalign(512), *b = by_aligned_alloc(640);
		if (i < 7)
			release(m);
		if (i < 4)
			release(c);
		if (i < 2)
			release(a);
		if (i < 1)
			release(b);
	}
	void *p = 0;
	for (int i = 1; i <= 20; i++)
		p = by_realloc(p, 5000 * i);
	by_reallocarray(by_reallocarray(0, 40), 80);
	release(by_realloc(by_malloc(1 << 20), 3 << 20)); // moved by the kernel
	release(0);
	p = by_realloc(by_malloc(64), 0); // frees, in glibc
	if (by_realloc(0, (size_t)-1 / 4 * 3)) // there is no memory
		abort();
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], 0, thread, 0))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], &p);
	return 0;
}
