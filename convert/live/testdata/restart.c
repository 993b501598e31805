// Waits for a line. Then reads from a pipe, which a signal interrupts after 50 ms, so that the
// call starts again, and to which a thread writes after 150 ms; says how long, in ns. Then
// another thread calls exec while the first is in a call that never returns.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static void nothing(int sig) { (void)sig; }

static void nap(int ms) {
	struct timespec t = {0, ms * 1000000L};
	nanosleep(&t, NULL);
}

static void *writer(void *arg) {
	(void)arg;
	nap(150);
	if (write(ends[1], "x", 1) != 1)
		_exit(1);
	return NULL;
}

static void *replacer(void *arg) {
	nap(30);
	execl("/bin/true", "true", (char *)NULL);
	return arg;
}

int main(void) {
	char c;
	struct timespec a, b;
	struct sigaction sa = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	struct itimerval in = {.it_value = {0, 50000}};
	pthread_t t;
	sigset_t alarm;
	if (read(0, &c, 1) != 1 || pipe(ends))
		return 1;
	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL); // of the thread
	pthread_create(&t, NULL, writer, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &in, NULL);
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (read(ends[0], &c, 1) != 1)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%lld\n", (b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec);
	fflush(stdout);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, replacer, NULL);
	for (;;)
		pause();
}
