/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conform/mknod.c - mknod(), mkfifo(), and what such files do */
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "tests/conform/conform.h"

static void mode_and_umask(void)
{
	(void)umask(0);
	ok(mkfifo("a", 0777));
	eq(S_IFIFO | 0777, stat_of("a").st_mode);
	(void)umask(026);
	ok(mkfifo("b", 0666));
	eq(S_IFIFO | 0640, stat_of("b").st_mode);
	ok(mknod("c", S_IFREG | 0666, 0));
	eq(S_IFREG | 0640, stat_of("c").st_mode);
	ok(mknod("d", S_IFSOCK | 0666, 0));
	eq(S_IFSOCK | 0640, stat_of("d").st_mode);
}

static void no_type_is_a_file(void)
{
	ok(mknod("f", 0644, 0));
	eq(S_IFREG | 0644, stat_of("f").st_mode);
	eq(0, stat_of("f").st_size);
}

static void device_numbers(void)
{
	const dev_t dev[] = {
		makedev(1, 3),          makedev(255, 255), makedev(256, 0),
		makedev(4095, 1048575), makedev(7, 256),
	};
	char name[] = "a";

	for (unsigned int i = 0; i < ARRAY_LEN(dev); i++, name[0]++) {
		ok(mknod(name, S_IFCHR | 0600, dev[i]));
		eq(S_IFCHR | 0600, stat_of(name).st_mode);
		eq(dev[i], stat_of(name).st_rdev);
	}
	ok(mknod("z", S_IFBLK | 0640, makedev(8, 1)));
	eq(S_IFBLK | 0640, stat_of("z").st_mode);
	eq(makedev(8, 1), stat_of("z").st_rdev);
	eq(0, stat_of("z").st_size);
}

/* What overlayfs marks a removed file with. */
static void whiteout(void)
{
	ok(mknod("w", S_IFCHR | 0600, 0));
	eq(S_IFCHR, stat_of("w").st_mode & S_IFMT);
	eq(0, stat_of("w").st_rdev);
}

static void device_by_a_user(void)
{
	ok(chmod(".", 0777));
	be(USER, GROUP);
	fails(EPERM, mknod("a", S_IFCHR | 0600, makedev(1, 3)));
	fails(EPERM, mknod("b", S_IFBLK | 0600, makedev(8, 0)));
	ok(mknod("p", S_IFIFO | 0600, 0));
	ok(mknod("s", S_IFSOCK | 0600, 0));
}

static void of_other_types(void)
{
	fails(EPERM, mknod("d", S_IFDIR | 0755, 0));
	fails(EINVAL, mknod("l", S_IFLNK | 0777, 0));
	fails(EINVAL, mknod("x", 0010000 | 0020000 | 0100000, 0));
}

static void fifo_joins_two(void)
{
	char buf[8];
	pid_t pid;
	int fd;

	ok(mkfifo("p", 0644));
	pid = child();
	if (pid == 0) {
		fd = open_file("p", O_WRONLY);
		eq(5, write(fd, "hello", 5));
		leave();
	}
	fd = open_file("p", O_RDONLY);
	eq(5, read(fd, buf, sizeof(buf)));
	eq(0, read(fd, buf, sizeof(buf)));
	joined(pid);
	eq(0, stat_of("p").st_size);
}

static void fifo_without_a_reader(void)
{
	ok(mkfifo("p", 0644));
	fails(ENXIO, open("p", O_WRONLY | O_NONBLOCK));
	ok(open("p", O_RDONLY | O_NONBLOCK));
	ok(open("p", O_WRONLY | O_NONBLOCK));
}

static void fifo_has_no_place(void)
{
	int fd;

	ok(mkfifo("p", 0644));
	fd = open_file("p", O_RDWR);
	fails(ESPIPE, lseek(fd, 0, SEEK_CUR));
	fails(EINVAL, ftruncate(fd, 0));
	fails(EINVAL, truncate("p", 0));
}

static int bound(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = ok(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

	(void)strncpy(a.sun_path, name, sizeof(a.sun_path) - 1);
	return bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -1 : fd;
}

static int connected(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = ok(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

	(void)strncpy(a.sun_path, name, sizeof(a.sun_path) - 1);
	return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

static void socket_joins_two(void)
{
	int fd = ok(bound("s"));

	eq(S_IFSOCK | 0755, stat_of("s").st_mode);
	fails(ECONNREFUSED, connected("s"));
	ok(listen(fd, 8));
	ok(connected("s"));
	fails(EADDRINUSE, bound("s"));
	ok(link("s", "t"));
	ok(connected("t"));
	ok(rename("t", "u"));
	ok(connected("u"));
	ok(chmod("u", 0600));
	be(USER, GROUP);
	fails(EACCES, connected("u"));
}

static void socket_is_not_opened(void)
{
	ok(mknod("s", S_IFSOCK | 0644, 0));
	fails(ENXIO, open("s", O_RDONLY));
	ok(open("s", O_PATH));
	fails(EINVAL, truncate("s", 0));
	fails(ECONNREFUSED, connected("s"));
}

static void device_of_no_driver(void)
{
	make(CHR_, "c");
	make(BLK_, "b");
	fails(ENXIO, open("c", O_RDONLY));
	fails(ENXIO, open("b", O_RDONLY));
	fails(EINVAL, truncate("c", 0));
}

static void device_of_a_driver(void)
{
	char byte = 'x';
	int fd;

	ok(mknod("zero", S_IFCHR | 0666, makedev(1, 5)));
	fd = open_file("zero", O_RDONLY);
	eq(1, read(fd, &byte, 1));
	eq(0, byte);
}

static const struct rule mknod_rules[] = {
	RULE(mode_and_umask),
	RULE(no_type_is_a_file),
	RULE_NEEDS(device_numbers, DEVICES),
	RULE(whiteout),
	RULE(device_by_a_user),
	RULE(of_other_types),
	RULE(fifo_joins_two),
	RULE(fifo_without_a_reader),
	RULE(fifo_has_no_place),
	RULE(socket_joins_two),
	RULE(socket_is_not_opened),
	RULE_NEEDS(device_of_no_driver, DEVICES),
	RULE_NEEDS(device_of_a_driver, DEVICES),
};

const struct rules mknod_set = RULES(mknod);
