// Works at the end of twenty frames of 16 bytes each, of which the return address is
// the upper half.
#include <time.h>

static volatile long sink;

__attribute__((noipa)) static void spin(void) {
	for (int i = 0; i < 1000000; i++)
		sink += i;
}

__attribute__((noipa)) static void down(int n) {
	if (n > 0)
		down(n - 1);
	else
		spin();
	sink++;
}

int main(void) {
	while (clock() < CLOCKS_PER_SEC / 4)
		down(19);
	return 0;
}
