/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/integration/guest_map.c - files by mmap()
 *
 *	guest_map cat FILE		write it out, from a mapping
 *	guest_map dax FILE...		1 or 0 of each: whether it is mapped with
 *					no copy in this machine's memory
 *	guest_map put FILE OFF TEXT	write TEXT there, through a mapping
 *	guest_map many DIR N		a byte of each page of DIR/0 to DIR/N-1,
 *					twice; each is 4 MiB of its number
 *	guest_map ride FILE PAGES	read and write its first pages in turn, in
 *					two processes, until FILE.stop is there;
 *					SIGBUS is how a file ends, and no error
 *	guest_map wait FILE OFF TEXT	until a mapping has TEXT there
 *
 * Says what went wrong and ends with 1.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u
#define MIB  (1u << 20)
#define NAME 4200

static sigjmp_buf bus;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static unsigned char *map(const char *path, size_t len, int writes)
{
	int fd = open(path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		die(path);
	if (len == 0)
		len = (size_t)st.st_size;
	p = mmap(NULL, len, writes ? PROT_READ | PROT_WRITE : PROT_READ,
		 MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("mmap");
	(void)close(fd);
	return p;
}

static void cat(const char *path)
{
	struct stat st;
	size_t done = 0, len;
	const unsigned char *p = map(path, 0, 0);

	if (stat(path, &st) < 0)
		die(path);
	len = (size_t)st.st_size;
	while (done < len) {
		/* write() from the mapping would be a copy by the kernel. */
		static unsigned char buf[65536];
		size_t n = len - done < sizeof(buf) ? len - done : sizeof(buf);

		memcpy(buf, p + done, n);
		if (fwrite(buf, 1, n, stdout) != n)
			die("write");
		done += n;
	}
}

static void dax(char **path)
{
	for (; *path; path++) {
		struct statx st;

		if (statx(AT_FDCWD, *path, 0, STATX_BASIC_STATS, &st) < 0)
			die(*path);
		(void)printf("%d\n", (st.stx_attributes & STATX_ATTR_DAX) != 0);
	}
}

static void put(const char *path, size_t off, const char *text)
{
	unsigned char *p = map(path, 0, 1);

	memcpy(p + off, text, strlen(text));
}

static void wait_for(const char *path, size_t off, const char *text)
{
	const unsigned char *p = map(path, 0, 0);

	while (memcmp(p + off, text, strlen(text)) != 0)
		(void)usleep(1000);
}

static void many(const char *dir, unsigned int n)
{
	for (unsigned int i = 0; i < 2 * n; i++) {
		char path[NAME];
		const unsigned char *p;

		(void)snprintf(path, sizeof(path), "%s/%u", dir, i % n);
		p = map(path, 0, 0);
		for (size_t k = 0; k < 4 * MIB; k += PAGE)
			if (p[k] != i % n) {
				(void)fprintf(stderr, "%s: %u at %zu\n", path,
					      p[k], k);
				exit(1);
			}
		(void)munmap((void *)(uintptr_t)p, 4 * MIB);
	}
}

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(bus, 1);
}

/* One page after the other, for ever; those past the end are passed over. */
static unsigned long ride_one(volatile unsigned char *p, unsigned int pages,
			      int writes, const char *stop)
{
	static volatile unsigned long rounds;
	static volatile unsigned int i;

	for (rounds = 0; access(stop, F_OK) < 0; rounds++)
		for (i = 0; i < pages; i++) {
			if (sigsetjmp(bus, 1))
				continue;
			if (writes)
				p[(size_t)i * PAGE] = 'w';
			else
				(void)p[(size_t)i * PAGE];
		}
	return rounds;
}

static void ride(const char *path, unsigned int pages)
{
	unsigned char *p = map(path, (size_t)pages * PAGE, 1);
	char stop[NAME];
	pid_t pid = fork();
	unsigned long n;
	int st = 0;

	if (pid < 0)
		die("fork");
	(void)signal(SIGBUS, on_bus);
	(void)snprintf(stop, sizeof(stop), "%s.stop", path);
	n = ride_one(p, pages, pid != 0, stop);
	if (pid == 0)
		exit(n > 0 ? 0 : 3);
	if (waitpid(pid, &st, 0) != pid || st != 0 || n == 0) {
		(void)fprintf(stderr, "rounds %lu, reader %#x\n", n,
			      (unsigned int)st);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	size_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

	if (strcmp(what, "cat") == 0)
		cat(argv[2]);
	else if (strcmp(what, "dax") == 0)
		dax(argv + 2);
	else if (strcmp(what, "put") == 0 && argc == 5)
		put(argv[2], n, argv[4]);
	else if (strcmp(what, "wait") == 0 && argc == 5)
		wait_for(argv[2], n, argv[4]);
	else if (strcmp(what, "many") == 0)
		many(argv[2], (unsigned int)n);
	else if (strcmp(what, "ride") == 0)
		ride(argv[2], (unsigned int)n);
	else
		return 2;
	return 0;
}
