/* SPDX-License-Identifier: Apache-2.0 */
/* guest-agent/files/stream.c - see ops.h: the bytes of a file, either way */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "common/newfile.h"
#include "common/tree.h"
#include "guest-agent/files/ops.h"

/* No FIFO and no terminal holds us up, or becomes ours. */
#define OPEN_FLAGS (O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

static int send_data(struct files *f, uint64_t at, size_t len, struct err *e)
{
	uint8_t head[WIRE_HDR_LEN + 8];
	struct wr wr = wr_init(head, sizeof(head));

	wire_file_data_head_put(&wr, at, len);
	bug_on(wr_end(&wr) < 0);
	return files_send(f, head, wr.len, f->data, len, e);
}

/* To its end; what is on no disk is waited for, as long as the client does. */
static int send_all(struct files *f, int fd, bool wait, struct err *e)
{
	uint64_t at = 0;
	int r = 0;

	while (r == 0) {
		ssize_t n;

		if (wait) {
			r = files_wait(f, fd, POLLIN, e);
			if (r < 0)
				return r;
		}
		n = read(fd, f->data, sizeof(f->data));
		if (n < 0 && (errno == EINTR || (wait && errno == EAGAIN)))
			continue;
		if (n < 0)
			return files_fail(e, -errno, f->req.path);
		if (n == 0)
			return 0;
		r = send_data(f, at, (size_t)n, e);
		at += (uint64_t)n;
	}
	return r;
}

int files_read(struct files *f, struct err *e)
{
	auto_fd int fd = open(f->req.path, O_RDONLY | OPEN_FLAGS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return files_fail(e, -errno, f->req.path);
	if (S_ISDIR(st.st_mode))
		return files_fail(e, -EISDIR, f->req.path);
	return send_all(f, fd, !S_ISREG(st.st_mode), e);
}

static int write_all(struct files *f, int fd, const struct msg_file_data *m,
		     struct err *e)
{
	const uint8_t *p = m->data;
	size_t len = m->len;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			int r = files_wait(f, fd, POLLOUT, e);

			if (r < 0)
				return r;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return files_fail(e, -errno, f->req.path);
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* All that the client sends, until it says that this is all. */
static int take_all(struct files *f, int fd, struct err *e)
{
	struct wire_frame frame;
	struct msg_file_data m;
	uint64_t at = 0;
	int r;

	while ((r = files_next(f, &frame, e)) == 0) {
		if (frame.type == WIRE_FILE_COMMIT)
			return 0;
		if (frame.type != WIRE_FILE_DATA)
			return files_broken(f, &frame, e);
		r = wire_file_data_parse(frame.data, frame.len, &m, e);
		if (r == 0 && m.offset != at)
			r = err_set(e, -EPROTO,
				    "bytes of a stream are missing");
		if (r < 0) {
			f->broke = true;
			return r;
		}
		r = write_all(f, fd, &m, e);
		if (r < 0)
			return r;
		at += m.len;
	}
	return r;
}

static int write_through(struct files *f, struct err *e)
{
	auto_fd int fd = open(f->req.path,
			      O_WRONLY | O_CREAT | O_TRUNC | OPEN_FLAGS,
			      f->req.mode);
	struct stat st;

	if (fd < 0 && errno == ENXIO && stat(f->req.path, &st) == 0 &&
	    S_ISFIFO(st.st_mode)) {
		(void)files_fail(e, -ENXIO, f->req.path);
		return err_wrap(e, -ENXIO, "a FIFO that nobody reads");
	}
	if (fd < 0)
		return files_fail(e, -errno, f->req.path);
	return take_all(f, fd, e);
}

/**
 * struct swap - A file that is to be replaced as a whole
 * @path:	Where it really is
 * @st:		What is there, if @there
 */
struct swap {
	char path[PATH_MAX + 1];
	char name[WIRE_NAME_MAX + 1];
	struct stat st;
	bool there;
};

static int swap_find(struct swap *s, const char *path, struct err *e)
{
	int r;

	s->there = stat(path, &s->st) == 0;
	if (!s->there && errno != ENOENT)
		return files_fail(e, -errno, path);
	if (s->there && S_ISDIR(s->st.st_mode))
		return files_fail(e, -EISDIR, path);
	if (s->there && !S_ISREG(s->st.st_mode))
		return err_wrap(e, files_fail(e, -EINVAL, path),
				"what is no file cannot be replaced");
	r = tree_real_path(path, s->path);
	if (r < 0)
		return files_fail(e, r, path);
	if (tree_is_slashed(s->path))
		return files_fail(e, -ENOENT, path);
	return tree_open_parent(s->path, s->name, e);
}

/* As the old one was, save what writing to it takes away. */
static int swap_dress(const struct swap *s, int fd, mode_t mode)
{
	if (s->there && fchown(fd, s->st.st_uid, s->st.st_gid) < 0 &&
	    errno != EPERM)
		return -errno;
	if (s->there)
		mode = s->st.st_mode & (0777 | S_ISVTX);
	return fchmod(fd, mode) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int sync_dir(int dirfd)
{
	auto_fd int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Who may not read the folder cannot sync it, but may write to it. */
	return fd >= 0 && fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

static int write_beside(struct files *f, struct err *e)
{
	struct newfile nf = NEWFILE_NONE;
	struct swap s = { .there = false };
	int dirfd = swap_find(&s, f->req.path, e);
	int r = dirfd;

	if (r < 0)
		return r;
	r = newfile_open(&nf, dirfd);
	if (r < 0)
		r = files_fail(e, r, f->req.path);
	else
		r = take_all(f, nf.fd, e);
	if (r == 0) {
		r = swap_dress(&s, nf.fd, f->req.mode);
		if (r == 0)
			r = newfile_publish(&nf, s.name);
		if (r == 0)
			r = sync_dir(dirfd);
		if (r < 0)
			r = files_fail(e, r, f->req.path);
	}
	newfile_drop(&nf);
	(void)close(dirfd);
	return r;
}

int files_write(struct files *f, struct err *e)
{
	return f->req.flags & WIRE_FILE_ATOMIC ? write_beside(f, e)
					       : write_through(f, e);
}
