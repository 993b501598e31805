// A tenant that wants whoever records it to read what only root may read, to wait for
// ever or to run out of memory: in its own user and mount namespace, as an unprivileged
// user, it is sampled in code that it made itself, with something else than a perf map
// where that is looked for, or a jitdump, or a file that it has mapped. It is started
// by root, which makes its /tmp. Prints its pid when all is set up; ends with its input.
// Usage: tenant map|dump|file KIND [PATH]
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

// Counts its argument down.
#if defined(__x86_64__)
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#define MACHINE 62
#else
static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xf1000400, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0};
#define MACHINE 183
#endif

static const char *what, *kind, *source;
static char path[64], other[80];
static void *at; // the code

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", file);
	close(fd);
}

static int create(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		err(1, "%s", name);
	return fd;
}

static int is(const char *s) { return strcmp(kind, s) == 0; }

// What honest programs write, size bytes of it at least.
static void honest(const char *name, size_t size)
{
	FILE *f = fdopen(create(name), "w");
	if (strcmp(what, "dump") == 0) {
		uint32_t head[10] = {0x4a695444, 1, 40, MACHINE, 0, getpid()};
		fwrite(head, sizeof head, 1, f);
		static char elsewhere[400];
		memset(elsewhere, 'x', sizeof elsewhere - 1);
		for (size_t n = 0, i = 0; n <= size; i++) {
			int last = n + 1000 > size; // more than one may be
			const char *fn = last ? "jitted_code" : elsewhere;
			uint64_t addr = last ? (uintptr_t)at : 0x1000 + 64 * i;
			uint32_t prefix[4] = {0, 16 + 40 + strlen(fn) + 1 + sizeof code, i, 0};
			uint32_t ids[2] = {getpid(), getpid()};
			uint64_t rest[4] = {addr, addr, sizeof code, i};
			fwrite(prefix, sizeof prefix, 1, f), fwrite(ids, sizeof ids, 1, f), fwrite(rest, sizeof rest, 1, f);
			fwrite(fn, strlen(fn) + 1, 1, f), fwrite(code, sizeof code, 1, f);
			n += prefix[1];
		}
	} else {
		for (size_t n = 0, i = 0; n < size; i++)
			n += fprintf(f, "%zx 40 a_function_elsewhere_%zu\n", 0x1000 + 64 * i, i);
		fprintf(f, "%lx %zx jitted_code\n", (long)at, sizeof code);
	}
	if (fclose(f))
		err(1, "%s", name);
}

// Puts what is of the kind at other.
static void make(void)
{
	unlink(other);
	rmdir(other);
	if (is("honest"))
		honest(other, 0);
	else if (is("large"))
		honest(other, 300 << 20);
	else if (is("symlink")) {
		if (symlink(source, other))
			err(1, "symlink");
	} else if (is("fifo")) {
		if (mkfifo(other, 0600))
			err(1, "mkfifo");
	} else if (is("directory")) {
		if (mkdir(other, 0700))
			err(1, "mkdir");
	}
}

// Puts it at path.
static void install(void)
{
	if (is("directory"))
		unlink(path);
	if (rename(other, path))
		err(1, "rename");
}

// Puts them at path, one after the other, for ever.
static void *swap(void *unused)
{
	static const char *kinds[] = {"symlink", "fifo", "honest"};
	for (int i = 0;; i++) {
		kind = kinds[i % 3];
		make();
		rename(other, path);
		usleep(200);
	}
	return unused;
}

static void map_file(void)
{
	int fd = create(path);
	if (strcmp(what, "file") == 0) {
		if (ftruncate(fd, 4096) || write(fd, code, sizeof code) < 0)
			err(1, "%s", path);
		at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	} else {
		close(fd);
		honest(path, 0);
		fd = open(path, O_RDONLY);
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			err(1, "mmap %s", path);
	}
	if (at == MAP_FAILED)
		err(1, "mmap");
	close(fd);
}

static void bind_to(const char *name)
{
	close(create(name));
	if (mount(source, name, NULL, MS_BIND, NULL))
		err(1, "bind %s", source);
}

int main(int argc, char **argv)
{
	what = argv[1], kind = argv[2], source = argc > 3 ? argv[3] : "";
	const char *format = strcmp(what, "map") == 0 ? "/tmp/perf-%d.map" : strcmp(what, "dump") == 0 ? "/tmp/jit-%d.dump" : "/tmp/code-%d";
	snprintf(path, sizeof path, format, getpid());
	snprintf(other, sizeof other, "%s.new", path);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) || mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777"))
		err(1, "own /tmp");
	char outside[80] = "/tmp/outside";
	if (is("bind"))
		bind_to(outside); // what the user may not even look at

	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_DUMPABLE, 1))
		err(1, "become nobody");
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		err(2, "own user namespace");
	char ids[32];
	snprintf(ids, sizeof ids, "0 %d 1", NOBODY);
	put("/proc/self/setgroups", "deny"), put("/proc/self/uid_map", ids), put("/proc/self/gid_map", ids);

	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		err(1, "mmap");
	memcpy(at, code, sizeof code);
	__builtin___clear_cache(at, (char *)at + 4096);

	int maps = strcmp(what, "map") != 0, again = maps && !is("bind") && !is("large");
	if (maps)
		map_file();
	if (is("bind")) {
		if (!maps)
			close(create(path));
		if (mount(outside, path, NULL, MS_BIND, NULL))
			err(1, "bind");
	} else if (is("large")) {
		honest(path, 300 << 20);
	} else if (is("swap")) {
		pthread_t t;
		source = "/etc/shadow";
		if (pthread_create(&t, NULL, swap, NULL))
			errx(1, "pthread_create");
		again = 0;
	} else {
		make();
		install();
	}
	fcntl(0, F_SETFL, O_NONBLOCK);
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;) {
		clock_t end = clock() + CLOCKS_PER_SEC / 100;
		while (clock() < end)
			((void (*)(uint64_t))at)(100000);
		if (again) { // whoever came meanwhile sees the map too
			unlink(path), rmdir(path);
			map_file();
			make();
			install();
		}
		char c;
		if (read(0, &c, 1) == 0)
			return 0; // who started it is gone
		usleep(300000); // there are many tenants
	}
}
