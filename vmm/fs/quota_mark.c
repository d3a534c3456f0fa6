/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/fs/quota_mark.c - the count from one server to the next; see quota.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "common/io.h"
#include "common/rd.h"
#include "common/wr.h"
#include "vmm/fs/owner.h"

#define MARK    MAPPED_PREFIX "quota"
#define VERSION 1u
#define LEN     (4u + 3u * 8u + FS_QUOTA_BOOT_LEN)

static int init_locks(struct fs_quota *q)
{
	int r = pthread_mutex_init(&q->lock, NULL);

	if (r == 0)
		r = pthread_mutex_init(&q->names, NULL);
	for (unsigned int i = 0; r == 0 && i < FS_QUOTA_LOCKS; i++)
		r = pthread_rwlock_init(&q->size[i], NULL);
	return -r;
}

/* Without it the count is taken each time. */
static void learn_boot(struct fs_quota *q)
{
	auto_fd int fd =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || io_read_full(fd, q->boot, sizeof(q->boot)) !=
			      (ssize_t)sizeof(q->boot))
		memset(q->boot, 0, sizeof(q->boot));
}

/*
 * The mark goes before anything is changed: if this process is killed there is
 * none, and if the host is, it is of another start.
 *
 * Return: whether there was a good one
 */
static bool take_mark(const struct fs_quota *q, struct treesize *ret)
{
	static const char none[FS_QUOTA_BOOT_LEN];
	const void *boot;
	uint64_t ino;
	struct treesize u;
	uint8_t buf[LEN + 1];
	uint32_t version;
	ssize_t n = fgetxattr(q->dir_fd, MARK, buf, sizeof(buf));
	struct rd rd;

	if (n < 0 || fremovexattr(q->dir_fd, MARK) < 0)
		return false;
	rd = rd_init(buf, (size_t)n);
	version = rd_le32(&rd);
	u.bytes = rd_le64(&rd);
	u.inodes = rd_le64(&rd);
	ino = rd_le64(&rd);
	boot = rd_bytes(&rd, sizeof(none));
	if (rd_end(&rd) < 0 || !boot || version != VERSION || ino != q->ino ||
	    memcmp(boot, none, sizeof(none)) == 0 ||
	    memcmp(boot, q->boot, sizeof(none)) != 0)
		return false;
	*ret = u;
	return true;
}

static void put_mark(const struct fs_quota *q)
{
	uint8_t buf[LEN];
	struct wr wr = wr_init(buf, sizeof(buf));

	wr_le32(&wr, VERSION);
	wr_le64(&wr, q->bytes);
	wr_le64(&wr, q->inodes);
	wr_le64(&wr, q->ino);
	wr_bytes(&wr, q->boot, sizeof(q->boot));
	bug_on(wr_end(&wr) != (ssize_t)LEN);
	/* Without it the next server counts. */
	(void)fsetxattr(q->dir_fd, MARK, buf, sizeof(buf), 0);
}

static void set_limits(struct fs_quota *q, const struct fs_opts *o)
{
	q->bytes_max = o->quota_bytes - o->quota_bytes % FS_QUOTA_BLOCK;
	q->inodes_max = o->quota_inodes;
	if (!q->inodes_max)
		q->inodes_max = q->bytes_max / FS_QUOTA_INODE_BYTES;
}

int fs_quota_start(struct fs_server *s, struct err *e)
{
	struct fs_quota *q = &s->quota;
	struct treesize u = { 0 };
	struct stat st;
	int r;

	if (!s->o.quota_bytes)
		return 0;
	r = init_locks(q);
	if (r < 0)
		return err_set(e, r, "share: quota: %s", strerror(-r));
	q->on = true;
	set_limits(q, &s->o);
	q->dir_fd = openat(s->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (q->dir_fd < 0 || fstat(q->dir_fd, &st) < 0)
		return err_set(e, -errno, "share: cannot open the folder: %s",
			       strerror(errno));
	q->ino = st.st_ino;
	learn_boot(q);
	if (!take_mark(q, &u)) {
		r = treesize_count(s->root_fd, &u);
		if (r < 0)
			return err_set(e, r,
				       "share: cannot count what is in the "
				       "folder, for its quota: %s",
				       strerror(-r));
	}
	q->bytes = u.bytes;
	q->inodes = u.inodes;
	q->floor.bytes = MAX(q->bytes_max, u.bytes);
	q->floor.inodes = MAX(q->inodes_max, u.inodes);
	q->counted = true;
	return 0;
}

void fs_server_settle(struct fs_server *s)
{
	if (!s->quota.counted)
		return;
	/* See serve_counted() */
	atomic_store(&s->quota.closed, true);
	if (atomic_load(&s->quota.serving))
		return;
	s->quota.counted = false;
	/* What has no name goes with this process. */
	fs_server_reset(s);
	put_mark(&s->quota);
}

void fs_quota_done(struct fs_server *s)
{
	struct fs_quota *q = &s->quota;

	if (!q->on)
		return;
	base_closep(&q->dir_fd);
	(void)pthread_mutex_destroy(&q->lock);
	(void)pthread_mutex_destroy(&q->names);
	for (unsigned int i = 0; i < FS_QUOTA_LOCKS; i++)
		(void)pthread_rwlock_destroy(&q->size[i]);
}
