/* A kernel in miniature: the symbols that mark its start, aliases, inlined
 * functions. */
volatile int sink;

static inline __attribute__((always_inline)) int fdget(int fd)
{
	sink = fd;
	return sink + 1;
}

__attribute__((noinline)) int _stext(int fd)
{
	return fd;
}
extern int _text(int fd) __attribute__((alias("_stext")));

__attribute__((noinline)) int vfs_read(int fd)
{
	int f = fdget(fd);
	return f * sink;
}
extern int __se_sys_read(int fd) __attribute__((alias("vfs_read")));

__attribute__((noinline)) int vfs_write(int fd)
{
	return fdget(fd) + vfs_read(fd + 1);
}

int main(int argc, char **argv)
{
	return _stext(vfs_write(argc)) + (argv == 0);
}
