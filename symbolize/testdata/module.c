/* A kernel module in miniature. Like real ones it is linked with ld -r. */
volatile int module_sink;

static inline __attribute__((always_inline)) int ext4_journal(int x)
{
	module_sink = x;
	return module_sink + 1;
}

__attribute__((noinline)) int ext4_map(int x)
{
	return ext4_journal(x) * 2;
}

__attribute__((section(".text.unlikely"), noinline)) int ext4_error(int x)
{
	return ext4_journal(x) * 3;
}

__attribute__((section(".init.text"))) int ext4_init(void)
{
	return ext4_map(1) + ext4_error(2);
}
