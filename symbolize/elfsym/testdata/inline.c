/* What debug information has to tell of C: inlined functions, nested ones, code
 * split into a hot and a cold part, other sections. */
void abort(void);
int puts(const char *);

volatile int sink;

static inline __attribute__((always_inline)) int innermost(int x)
{
	sink += x;
	return sink * 7;
}

static inline __attribute__((always_inline)) int middle(int x)
{
	int r = 0;
	for (int i = 0; i < x; i++)
		r += innermost(i);
	return r;
}

__attribute__((noinline)) int nested(int n)
{
	int total = n;
	__attribute__((noinline)) int inner(int x)
	{
		total += middle(x);
		return total;
	}
	return inner(n) + inner(n + 1);
}

__attribute__((section(".text.elsewhere"), noinline)) int elsewhere(int n)
{
	return middle(n) + 1;
}

__attribute__((noinline)) int split(int n)
{
	if (__builtin_expect(n > 100000, 0)) {
		if (middle(n))
			puts("cold");
		abort();
	}
	return middle(n) + innermost(n);
}

int unused(int n)
{
	return middle(n);
}

int main(int argc, char **argv)
{
	return (nested(argc) + split(argc) + elsewhere(argc) + (argv[0] == 0)) & 1;
}
