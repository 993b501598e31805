// Works at known depths, without frame pointers, called back by the C library;
// with an argument also in a signal handler.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile long sink;

__attribute__((noipa)) static int compare(const void *a, const void *b) {
	for (int i = 0; i < 20; i++)
		sink += i;
	return *(const int *)a - *(const int *)b;
}

__attribute__((noipa)) static void work(int n) {
	int *v = malloc(n * sizeof *v);
	for (int i = 0; i < n; i++)
		v[i] = rand();
	qsort(v, n, sizeof *v, compare);
	free(v);
	sink++;
}

__attribute__((noipa)) static void on_alarm(int sig) {
	for (int i = 0; i < 1000000; i++)
		sink += i;
}

__attribute__((noipa)) static int descend(int depth) {
	if (depth == 0) {
		work(10000);
		return 1;
	}
	char buf[64];
	memset(buf, depth, sizeof buf);
	sink += buf[3];
	return descend(depth - 1) + buf[5];
}

int main(int argc, char **argv) {
	if (argc > 1) {
		struct itimerval every = {{0, 20000}, {0, 20000}};
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &every, 0);
	}
	for (int i = 0; i < 200; i++)
		descend(3 + i % 5);
	return 0;
}
