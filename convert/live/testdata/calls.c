/* Calls a function within itself, jumps out of calls of it, and says of each call when the
   caller and the function itself saw it begin and end, by CLOCK_MONOTONIC in ns. */
#include <setjmp.h>
#include <stdio.h>
#include <time.h>

static struct { long before, first, last, after; } all[100];
static int calls;
static jmp_buf out;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

__attribute__((noinline)) int deep(int n, int id, int jump)
{
	struct timespec t = {0, 5000000};
	all[id].first = now();
	nanosleep(&t, 0);
	if (n == 0 && jump)
		longjmp(out, 1);
	if (n > 0) {
		int inner = calls++;
		all[inner].before = now();
		n += deep(n - 1, inner, jump);
		all[inner].after = now();
	}
	nanosleep(&t, 0);
	all[id].last = now();
	return n;
}

static void call(int n, int jump)
{
	int id = calls++;
	all[id].before = now();
	deep(n, id, jump);
	all[id].after = now();
}

int main(void)
{
	getchar();
	call(4, 0);
	if (setjmp(out) == 0)
		call(2, 1);
	call(4, 0);
	for (int i = 0; i < calls; i++)
		printf("%ld %ld %ld %ld\n", all[i].before, all[i].first, all[i].last, all[i].after);
	return 0;
}
