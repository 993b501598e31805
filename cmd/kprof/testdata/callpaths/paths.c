// Does different things at the ends of many call paths, in C or C++, and always knows which:
// it keeps the path that it has come in the frame of main, where a copy of its stack has it.
// With an argument it goes on for so many milliseconds of CPU time, and says what called what;
// without one it says what the numbers in the path are.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#ifdef __cplusplus
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>
#endif

#define APART __attribute__((noinline))
#define BARRIER __asm__ volatile("" ::: "memory")

// Functions. Those called by a library put themselves on the path.
#define FUNCTIONS(F) \
	F(main) F(spin) F(even) F(odd) F(sorter) F(texts) F(memory) F(variable) F(aligned) F(manyArgs) \
	F(table) F(early) F(jumper) F(jumps) F(reads) F(indirect) F(floats) \
	F(thrower) F(between) F(catcher) F(shapes) F(algorithms) F(streams) F(virtualSpin)
#define CALLBACKS(F) F(compare) F(search) F(handler) F(less) F(cleanup) F(called)
#define NUMBER(f) is_##f,
#define NAME(f) #f,
enum { FUNCTIONS(NUMBER) CALLBACKS(NUMBER) functions };
static const char *const names[] = {FUNCTIONS(NAME) CALLBACKS(NAME)};
enum {
	sorting = 253, // what a function of the C library does, which calls back
	library = 254, // whatever a library does
	thrown = 255   // the same, while functions before it may have ended
};

struct known {
	volatile unsigned long long magic[2];
	volatile unsigned int depth;
	volatile unsigned char path[116];
};
static struct known *volatile now;
static volatile unsigned char calls[256][256];
static volatile long sink;

#define ENTER(n) do { \
	BARRIER; calls[now->path[now->depth - 1]][n] = 1; \
	now->path[now->depth] = n; now->depth++; BARRIER; } while (0)
#define LEAVE do { BARRIER; now->depth--; BARRIER; } while (0)
#define CALL(f, ...) do { ENTER(is_##f); f(__VA_ARGS__); LEAVE; } while (0)
#define LIBRARY(...) do { ENTER(library); __VA_ARGS__; LEAVE; } while (0)

APART void spin(int n) {
	for (int i = 0; i < n; i++)
		sink += i;
}

APART void odd(int n);
APART void even(int n) {
	if (n <= 0) {
		CALL(spin, 3000);
		sink++;
		return;
	}
	char here[24];
	here[sink & 7] = n;
	CALL(odd, n - 1);
	sink += here[sink & 7];
}
APART void odd(int n) {
	char here[200];
	here[sink & 63] = n;
	CALL(even, n - 1);
	sink += here[sink & 63];
}

APART int compare(const void *a, const void *b) {
	ENTER(is_compare);
	int x = *(const int *)a, y = *(const int *)b;
	for (int i = 0; i < 5; i++)
		sink += x;
	LEAVE;
	return (x > y) - (x < y);
}
APART int search(const void *a, const void *b) {
	ENTER(is_search);
	CALL(spin, 50);
	LEAVE;
	return *(const int *)a - *(const int *)b;
}
APART void sorter(int n) {
	int v[128];
	for (int i = 0; i < n; i++)
		v[i] = (i * 7919 + n) % 1009;
	ENTER(sorting);
	qsort(v, n, sizeof *v, compare);
	LEAVE;
	LIBRARY(sink += bsearch(&v[n / 3], v, n, sizeof *v, search) != NULL);
}

APART void texts(int n) {
	char text[300], other[300];
	LIBRARY(snprintf(text, sizeof text, "%d %s %5.3f %lx", n, "some words", n / 7.0, 12345678L * n));
	LIBRARY(memset(other, 'x', 200 + n % 50));
	other[200] = 0;
	LIBRARY(sink += strlen(other) + (strstr(text, "words") != NULL));
	LIBRARY(sink += strtod("3.25e10", NULL) > n);
	LIBRARY(sink += sscanf("17 4", "%d", &n));
}

APART void memory(int n) {
	void *p[20];
	for (int i = 0; i < 20; i++)
		LIBRARY(p[i] = malloc(16 << (i + n) % 12));
	for (int i = 0; i < 20; i++)
		LIBRARY(memset(p[i], 0, 16 << (i + n) % 12));
	for (int i = 0; i < 20; i++)
		LIBRARY(free(p[i]));
}

APART void variable(int n) {
	char here[n];
	here[sink & 7] = 1;
	CALL(spin, 500 + here[sink & 7]);
	sink += here[n - 1];
}

APART void aligned(int n) {
	char here[64] __attribute__((aligned(64)));
	here[sink & 63] = n;
	CALL(variable, 64 + n);
	sink += here[sink & 63];
}

APART void manyArgs(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
	CALL(spin, 300 + (int)(a + g));
	sink += b + c + d + e + f + h + i + j;
}
APART void indirect(int n) {
	CALL(manyArgs, n, sink, sink, sink, sink, sink, n, sink + 1, sink + 2, sink + 3);
	sink++;
	void (*volatile f)(int) = even;
	ENTER(is_even);
	f(4);
	LEAVE;
}

APART void table(int n) {
	switch (n % 7) {
	case 0: CALL(spin, 100); sink++; break;
	case 1: CALL(even, 2); sink += 2; break;
	case 2: CALL(aligned, 3); break;
	case 3: CALL(texts, 3); sink--; break;
	case 4: for (int i = 0; i < 300; i++) sink += i; break;
	case 5: CALL(sorter, 20); break;
	default: CALL(memory, n);
	}
}

// Has no frame unless it goes the long way.
APART long early(long n, long *a, long *b) {
	if (n & 1)
		return n * sink;
	long x = *a, y = *b, z = x + y, w = x * y;
	CALL(spin, 200);
	x += *a;
	CALL(table, (int)n);
	return x + y + z + w + *b;
}

static jmp_buf back;
APART void jumps(int n) {
	CALL(spin, 200);
	if (n == 0) {
		ENTER(thrown);
		longjmp(back, 1);
	}
	CALL(jumps, n - 1);
	sink++;
}
APART void jumper(int n) {
	volatile unsigned depth = now->depth;
	ENTER(library);
	int again = setjmp(back);
	now->depth = depth;
	BARRIER;
	if (!again)
		CALL(jumps, n % 6);
	sink++;
}

APART void reads(int n) {
	static int fd = -1;
	char here[2048];
	if (fd < 0)
		LIBRARY(fd = open("/dev/zero", O_RDONLY));
	for (int i = 0; i < 4; i++)
		LIBRARY(sink += read(fd, here, sizeof here));
	LIBRARY(sink += getppid() + n);
}

APART void floats(double x) {
	double y = x;
	for (int i = 0; i < 300; i++)
		y = y * 1.0001 + 0.5;
	sink += (long)y;
}

// Interrupts whatever happens, also between the two halves of ENTER.
static void handler(int sig) {
	unsigned char half = now->path[now->depth];
	ENTER(is_handler);
	CALL(spin, 20000 + sig);
	LEAVE;
	now->path[now->depth] = half;
}

#ifdef __cplusplus
struct Cleanup {
	int n;
	APART ~Cleanup();
};
APART void cleanup(int n) {
	ENTER(is_cleanup);
	CALL(spin, 300);
	LEAVE;
	sink += n;
}
Cleanup::~Cleanup() {
	ENTER(library);
	cleanup(n);
	LEAVE;
}
APART void thrower(int n) {
	CALL(spin, 200);
	ENTER(thrown);
	throw n;
}
APART void between(int n) {
	Cleanup at_end{n};
	if (n > 0)
		CALL(between, n - 1);
	else
		CALL(thrower, n);
	sink++;
}
APART void catcher(int n) {
	unsigned depth = now->depth;
	try {
		CALL(between, n % 5);
	} catch (int what) {
		now->depth = depth;
		sink += what;
		ENTER(library); // until what was thrown is freed
	}
	now->depth = depth;
	CALL(spin, 100);
}

struct Shape {
	virtual void spin(int) = 0;
	virtual ~Shape() {}
};
APART void virtualSpin(int n) { CALL(spin, n); sink++; }
struct Round : Shape {
	void spin(int n) override { CALL(virtualSpin, n); sink++; }
};
APART void called(int n) {
	ENTER(is_called);
	CALL(spin, n);
	LEAVE;
}
APART void shapes(int n) {
	Round here;
	Shape *volatile s = &here;
	ENTER(library);
	s->spin(300);
	LEAVE;
	std::function<void(int)> f = [n](int m) { called(n % 3 + m); };
	LIBRARY(f(200));
	LIBRARY(delete new Round);
}
APART bool less(int a, int b) {
	ENTER(is_less);
	sink += a;
	LEAVE;
	return a < b;
}
APART void algorithms(int n) {
	LIBRARY({
		std::vector<int> v;
		for (int i = 0; i < 100; i++)
			v.push_back((i * 7919 + n) % 1009);
		std::sort(v.begin(), v.end(), less);
		std::map<std::string, int> m;
		for (int i = 0; i < 20; i++)
			m["key " + std::to_string(v[i])] += i;
	});
}
APART void streams(int n) {
	LIBRARY({
		std::ostringstream s;
		for (int i = 0; i < 10; i++)
			s << "number " << i << " of " << n / 3.0 << '\n';
		sink += s.str().size();
	});
}
#endif

// Of CPU time, of which samples are taken, however busy the machine is.
static long millis(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
	if (argc < 2) {
		for (int i = 0; i < functions; i++)
			printf("%d %s\n", i, names[i]);
		return 0;
	}
	struct known here;
	here.path[0] = is_main;
	here.depth = 1;
	now = &here;
	here.magic[0] = 0x617020796d206e49ULL;
	here.magic[1] = 0x6d61206920736874ULL;
	struct sigaction act;
	memset(&act, 0, sizeof act);
	act.sa_handler = handler;
	act.sa_flags = SA_RESTART;
	struct itimerval every = {{0, 9000}, {0, 9000}};
	LIBRARY(sigaction(SIGALRM, &act, NULL));
	LIBRARY(setitimer(ITIMER_REAL, &every, NULL));
	long a = 3, b = 5, end = 0;
	LIBRARY(end = millis() + atol(argv[1]));
	for (int n = 0, on = 1; on; n++) {
		CALL(even, n % 12);
		CALL(odd, 1 + n % 8);
		CALL(sorter, 30 + n % 60);
		CALL(texts, n);
		CALL(memory, n);
		CALL(aligned, n % 50);
		CALL(indirect, n % 50);
		CALL(table, n);
		ENTER(is_early);
		sink += early(n, &a, &b);
		LEAVE;
		CALL(jumper, n);
		CALL(reads, n);
		CALL(floats, n);
#ifdef __cplusplus
		CALL(catcher, n);
		CALL(shapes, n);
		CALL(algorithms, n);
		CALL(streams, n);
#endif
		LIBRARY(on = millis() < end);
	}
	every.it_interval.tv_usec = every.it_value.tv_usec = 0;
	LIBRARY(setitimer(ITIMER_REAL, &every, NULL));
	here.magic[0] = 0;
	for (int from = 0; from < 256; from++)
		for (int to = 0; to < 256; to++)
			if (calls[from][to])
				printf("%d %d\n", from, to);
	return 0;
}
