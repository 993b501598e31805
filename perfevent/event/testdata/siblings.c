// A program that starts a number of others, half of which end at once. Then each of the
// rest calls hit 1000 times.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void hit(int i) { __asm__ volatile("" ::"r"(i) : "memory"); }

static void child(int ends)
{
	// All of them run in turns meanwhile.
	for (int k = 0; k < 200; k++)
		usleep(50 + rand() % 100);
	if (ends)
		_exit(0);
	usleep(100000);
	for (int i = 0; i < 1000; i++)
		hit(i);
	_exit(0);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < n; i++)
		if (fork() == 0)
			child(i % 2);
	while (wait(0) > 0)
		;
	return 0;
}
