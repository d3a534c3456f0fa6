/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/stage.c - see stage.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "common/rmtree.h"
#include "host/lib/stage.h"
#include "host/lib/startopts.h"

int stage_lock(int store_fd, const char *what, struct err *e)
{
	auto_fd int fd = openat(store_fd, "lock",
				O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
				0600);
	int r;

	if (fd < 0)
		return err_set(e, -errno, "cannot open '%s/lock': %s", what,
			       strerror(errno));
	do
		r = flock(fd, LOCK_EX);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_set(e, -errno, "cannot lock the %s: %s", what,
			       strerror(errno));
	return take_fd(&fd);
}

int stage_lock_dir(int dirfd, const char *name, int how)
{
	auto_fd int fd = openat(
		dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (flock(fd, how | LOCK_NB) < 0)
		return -errno;
	return take_fd(&fd);
}

void stage_name(char ret[STAGE_LEN + 1])
{
	startopts_hex(ret, STAGE_LEN);
}

int stage_new(int tmp_fd, struct stage *ret)
{
	struct stage st = STAGE_INIT;

	stage_name(st.name);
	if (mkdirat(tmp_fd, st.name, 0700) < 0)
		return -errno;
	st.fd = stage_lock_dir(tmp_fd, st.name, LOCK_EX);
	if (st.fd < 0)
		return st.fd;
	*ret = st;
	return 0;
}

void stage_close(int tmp_fd, struct stage *st)
{
	if (st->fd < 0)
		return;
	/* What cannot be removed now the next sweep takes. */
	if (st->name[0] && rmtree(tmp_fd, st->name) < 0)
		st->name[0] = '\0';
	(void)close(take_fd(&st->fd));
}

void stage_moved(struct stage *st)
{
	st->name[0] = '\0';
	(void)flock(st->fd, LOCK_UN);
}

/* Whatever lies in tmp/ under @name, if nobody has it. */
static void sweep_one(int store_fd, int tmp_fd, const char *name)
{
	auto_fd int lock = stage_lock(store_fd, "store", NULL);
	auto_fd int fd = -1;

	if (lock < 0)
		return;
	fd = stage_lock_dir(tmp_fd, name, LOCK_EX);
	if (fd < 0 && fd != -ENOTDIR)
		return;
	/* Ours now; that takes as long as it takes, and others may go on. */
	(void)close(take_fd(&lock));
	/* What cannot go now the next one takes. */
	if (rmtree(tmp_fd, name) < 0)
		return;
}

void stage_sweep(int store_fd, int tmp_fd)
{
	int fd = openat(tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	if (!d) {
		base_closep(&fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		if (de->d_name[0] != '.')
			sweep_one(store_fd, tmp_fd, de->d_name);
	(void)closedir(d);
}
