// A program that waits to be killed.
#include <unistd.h>

int main(void)
{
	for (;;)
		pause();
}
