/* Computes and sleeps in turns, and says how long that took by CLOCK_MONOTONIC, and how much
   of it on the CPU, in ns. */
#include <stdio.h>
#include <time.h>

static long now(int clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(void)
{
	struct timespec rest = {0, 100000000};
	volatile long x = 0;

	getchar();
	long begun = now(CLOCK_MONOTONIC), used = now(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < 4; i++) {
		long from = now(CLOCK_THREAD_CPUTIME_ID);
		while (now(CLOCK_THREAD_CPUTIME_ID) - from < 150000000)
			for (int j = 0; j < 1000; j++)
				x += j;
		nanosleep(&rest, 0);
	}
	printf("%ld %ld\n", now(CLOCK_MONOTONIC) - begun, now(CLOCK_THREAD_CPUTIME_ID) - used);
	return 0;
}
