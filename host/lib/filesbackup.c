/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/filesbackup.c - folders of a VM as archives, and back */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/newfile.h"
#include "common/tree.h"
#include "host/lib/files.h"
#include "host/lib/tarball.h"

_Static_assert(HUTCH_SHA256_MAX == TARBALL_SHA_HEX + 1, "one digest");

/* ---- Out of the VM ---- */

static int write_out(struct hutch_fs *fs, int fd, struct hutch_backup *ret,
		     struct err *e)
{
	AUTO(tarball_out_freep) struct tarball_out *t = tarball_out_new(fd);
	struct wire_frame f;
	int r;

	if (!t)
		return err_set(e, -ENOMEM, "no memory");
	while ((r = files_next(fs, &f, e)) > 0) {
		r = tarball_out_frame(t, &f, e);
		if (r == -EBADMSG)
			return err_wrap(e, r,
					"VM '%s' sent what is not the protocol",
					fs->name);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : tarball_out_end(t, ret->sha256, e);
}

static int fetch(struct hutch_fs *fs, const char *path, int fd,
		 struct hutch_backup *ret, struct err *e)
{
	struct msg_file m = { .op = WIRE_FILE_GET,
			      .flags = WIRE_FILE_FOLLOW | WIRE_FILE_ONE_FS,
			      .path = path };
	int r = files_begin(fs, &m, e);

	if (r == 0)
		r = write_out(fs, fd, ret, e);
	files_end(fs);
	return r;
}

/* To a file that is there when it is whole, and on the disk. */
static int fetch_to(struct hutch_fs *fs, const char *path, const char *file,
		    struct hutch_backup *ret, struct err *e)
{
	struct newfile nf = NEWFILE_NONE;
	char name[WIRE_NAME_MAX + 1];
	auto_fd int dirfd = tree_open_parent(file, name, e);
	int r = dirfd < 0 ? dirfd : newfile_open(&nf, dirfd);

	if (dirfd < 0)
		return r;
	if (r < 0)
		return err_set(e, r, "the archive: %s", strerror(-r));
	r = fetch(fs, path, nf.fd, ret, e);
	if (r == 0) {
		if (fchmod(nf.fd, 0600) < 0 || fsync(nf.fd) < 0)
			r = -errno;
		else
			r = newfile_publish(&nf, name);
		if (r < 0)
			r = err_set(e, r, "the archive: %s", strerror(-r));
	}
	newfile_drop(&nf);
	return r;
}

int hutch_fs_backup(struct hutch_fs *fs, const char *path, const char *file,
		    int fd, struct hutch_backup *ret, struct hutch_err *e)
{
	struct hutch_backup got = { .sha256 = "" };
	int r = 0;

	fs->refused = false;
	if (file && strlen(file) > WIRE_PATH_MAX)
		r = err_set(err_of(e), -ENAMETOOLONG,
			    "the archive's path has more than %u bytes",
			    WIRE_PATH_MAX);
	if (r == 0)
		r = file ? fetch_to(fs, path, file, &got, err_of(e))
			 : fetch(fs, path, fd, &got, err_of(e));
	if (r < 0)
		return r;
	*ret = got;
	return fs->left_out;
}

/* ---- Into the VM ---- */

static int send_frame(void *arg, const void *head, size_t head_len,
		      const void *data, size_t len, struct err *e)
{
	return files_send(arg, head, head_len, data, len, e);
}

static int check_digest(const char *want, const char *got, struct err *e)
{
	if (!want || strcmp(want, got) == 0)
		return 0;
	return err_set(e, -EBADMSG,
		       "the archive has the digest %s, not the one it should",
		       got);
}

int hutch_fs_restore(struct hutch_fs *fs, int fd, const char *sha256,
		     const char *path, struct hutch_backup *ret,
		     struct hutch_err *e)
{
	struct msg_file m = { .op = WIRE_FILE_PUT,
			      .flags = WIRE_FILE_REPLACE | WIRE_FILE_ARCHIVE,
			      .path = path };
	struct hutch_backup got = { .sha256 = "" };
	int r = files_begin(fs, &m, err_of(e));

	if (r == 0)
		r = tarball_read(fd, send_frame, fs, got.sha256, err_of(e));
	if (r == 0)
		r = check_digest(sha256, got.sha256, err_of(e));
	/* Only now may it take the place of what is there. */
	if (r == 0)
		r = files_commit(fs, err_of(e));
	files_end(fs);
	if (r < 0)
		return r;
	*ret = got;
	return fs->left_out;
}
