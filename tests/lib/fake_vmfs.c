/* SPDX-License-Identifier: Apache-2.0 */
/* tests/lib/fake_vmfs.c - files of the VM that is none; see fake_vm.h */
#include <string.h>

#include "common/base.h"
#include "tests/lib/fake_vm.h"

struct hutch_fs {
	char user[64];
	int refused;
};

static const struct hutch_file files[] = {
	{ .kind = HUTCH_FILE_REGULAR,
	  .mode = 04755,
	  .uid = 1000,
	  .gid = 100,
	  .nlink = 1,
	  .bytes = 12,
	  .allocated = 4096,
	  .ino = 7,
	  .mtime_ns = 1769860800123456789,
	  .name = "a\nb",
	  .target = "" },
	{ .kind = HUTCH_FILE_SYMLINK,
	  .mode = 0777,
	  .nlink = 1,
	  .mtime_ns = -1,
	  .name = "\xff",
	  .target = "../x" },
	{ .kind = HUTCH_FILE_CHAR_DEVICE,
	  .mode = 01666,
	  .nlink = 1,
	  .rdev_major = 1,
	  .rdev_minor = 3,
	  .name = "null",
	  .target = "" },
};

int hutch_fs_open(struct hutch *h, const char *name,
		  const struct hutch_fs_opts *opts, struct hutch_fs **ret,
		  struct hutch_err *e)
{
	struct hutch_fs *fs = calloc(1, sizeof(*fs));

	(void)h;
	(void)e;
	if (!fs)
		abort();
	/* What fails afterwards the VM has refused. */
	fs->refused = fake_vm_call(NULL, "fs %s %s\n", name,
				   opts->user ? opts->user : "-") != 0;
	*ret = fs;
	return 0;
}

void hutch_fs_close(struct hutch_fs *fs)
{
	free(fs);
}

int hutch_fs_refused(const struct hutch_fs *fs)
{
	return fs->refused;
}

int hutch_fs_stat(struct hutch_fs *fs, const char *path, unsigned int flags,
		  struct hutch_file **ret, struct hutch_err *e)
{
	struct hutch_file *f = malloc(sizeof(*f));
	int r = fake_vm_call(e, "stat %s %u\n", path, flags);

	(void)fs;
	if (!f)
		abort();
	*f = files[2];
	f->name = "";
	if (r == 0)
		*ret = f;
	else
		free(f);
	return r;
}

void hutch_file_free(struct hutch_file *f)
{
	free(f);
}

int hutch_fs_list(struct hutch_fs *fs, const char *path, hutch_file_fn fn,
		  void *arg, struct hutch_err *e)
{
	int r = fake_vm_call(e, "list %s\n", path);

	(void)fs;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++)
		r = fn(arg, &files[i]);
	return r;
}

int hutch_fs_read(struct hutch_fs *fs, const char *path, hutch_fs_data_fn fn,
		  void *arg, struct hutch_err *e)
{
	int r = fake_vm_call(e, "read %s\n", path);

	(void)fs;
	return r < 0 ? r : fn(arg, "bytes\n", 6);
}

int hutch_fs_write(struct hutch_fs *fs, const char *path, unsigned int flags,
		   unsigned int mode, int fd, struct hutch_err *e)
{
	(void)fs;
	return fake_vm_call(e, "write %s %u %o %d\n", path, flags, mode, fd);
}

/* As libhutch: of the last call alone, and no path at all is not the VM's. */
static int judge(struct hutch_fs *fs, const char *path, int r)
{
	fs->refused = r < 0 && *path;
	return r;
}

int hutch_fs_mkdir(struct hutch_fs *fs, const char *path, unsigned int flags,
		   unsigned int mode, struct hutch_err *e)
{
	return judge(fs, path,
		     fake_vm_call(e, "mkdir %s %u %o\n", path, flags, mode));
}

int hutch_fs_remove(struct hutch_fs *fs, const char *path, unsigned int flags,
		    struct hutch_err *e)
{
	return judge(fs, path, fake_vm_call(e, "remove %s %u\n", path, flags));
}

int hutch_fs_rename(struct hutch_fs *fs, const char *from, const char *to,
		    struct hutch_err *e)
{
	(void)fs;
	return fake_vm_call(e, "rename %s %s\n", from, to);
}

int hutch_fs_get(struct hutch_fs *fs, const char *path, unsigned int flags,
		 const char *to, struct hutch_err *e)
{
	(void)fs;
	return fake_vm_call(e, "get %s %u %s\n", path, flags, to);
}

int hutch_fs_put(struct hutch_fs *fs, const char *from, unsigned int flags,
		 const char *path, struct hutch_err *e)
{
	(void)fs;
	return fake_vm_call(e, "put %s %u %s\n", from, flags, path);
}

int hutch_fs_watch(struct hutch_fs *fs, const char *path, unsigned int flags,
		   hutch_fs_event_fn fn, void *arg, struct hutch_err *e)
{
	static const struct hutch_fs_event events[] = {
		{ .kind = HUTCH_FS_READY, .path = "" },
		{ .kind = HUTCH_FS_CREATED, .folder = 1, .path = "d" },
		{ .kind = HUTCH_FS_MOVED_TO, .cookie = 7, .path = "d/\xff" },
		{ .kind = HUTCH_FS_LOST, .path = "" },
		{ .kind = HUTCH_FS_GONE, .path = "" },
	};
	int r = fake_vm_call(e, "watch %s %u\n", path, flags);

	(void)fs;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(events); i++)
		r = fn(arg, &events[i]);
	return r < 0 ? r : 0;
}

int hutch_fs_backup(struct hutch_fs *fs, const char *path, const char *file,
		    int fd, struct hutch_backup *ret, struct hutch_err *e)
{
	(void)fs;
	memset(ret, 0, sizeof(*ret));
	memset(ret->sha256, 'a', HUTCH_SHA256_MAX - 1);
	return fake_vm_call(e, "backup %s %s %d\n", path, file ? file : "-",
			    fd);
}

int hutch_fs_restore(struct hutch_fs *fs, int fd, const char *sha256,
		     const char *path, struct hutch_backup *ret,
		     struct hutch_err *e)
{
	(void)fs;
	memset(ret, 0, sizeof(*ret));
	memset(ret->sha256, 'a', HUTCH_SHA256_MAX - 1);
	return fake_vm_call(e, "restore %d %s %s\n", fd != 0,
			    sha256 ? sha256 : "-", path);
}
