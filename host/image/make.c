/* SPDX-License-Identifier: Apache-2.0 */
/* host/image/make.c - see make.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/mapped.h"
#include "host/image/jail.h"
#include "host/image/make.h"
#include "host/image/tree.h"
#include "host/lib/imageinfo.h"
#include "host/lib/internal.h"
#include "common/rmtree.h"

#define OUTER       "archive" /* in the stage: what an image is made from */
#define DIGEST_SKIP 7         /* "sha256:" */

static int new_tree(struct make *m, struct err *e)
{
	/* An archive need not say anything about its root. */
	const struct mapped_stat st = { .mode = S_IFDIR | 0755 };
	int fd;

	if (mkdirat(m->stage.fd, IMAGESTORE_TREE, 0700) < 0)
		return err_set(e, -errno, "cannot make a folder: %s",
			       strerror(errno));
	fd = openat(m->stage.fd, IMAGESTORE_TREE,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, -errno, "cannot open a folder: %s",
			       strerror(errno));
	m->tree_fd = fd;
	return tree_stat(fd, &st, ".", e);
}

int make_begin(const struct make_opts *o, struct make *ret, struct err *e)
{
	int r;

	*ret = (struct make){ .o = o, .stage = STAGE_INIT, .tree_fd = -1 };
	r = imagestore_stage_new(o->store, &ret->stage, e);
	return r < 0 ? r : new_tree(ret, e);
}

void make_end(struct make *m)
{
	drop_fd(&m->tree_fd);
	stage_close(m->o->store->tmp_fd, &m->stage);
}

int make_new_tree(struct make *m, struct err *e)
{
	if (renameat(m->stage.fd, IMAGESTORE_TREE, m->stage.fd, OUTER) < 0)
		return err_set(e, -errno, "cannot rename a folder: %s",
			       strerror(errno));
	(void)close(take_fd(&m->tree_fd));
	m->bytes = 0;
	m->entries = 0;
	m->n = 0;
	return new_tree(m, e);
}

/** struct progress - For stream_fn */
struct progress {
	const struct report *rp;
	const char *what;
	uint64_t total;
};

static void on_progress(void *arg, uint64_t done)
{
	const struct progress *p = arg;

	report_step(p->rp, HUTCH_IMAGE_STEP_UNPACK, p->what,
		    MIN(done, p->total ? p->total : done), p->total);
}

static int check_digest(const char *what, const char *want, const char *got,
			struct err *e)
{
	if (!want || strcmp(want + DIGEST_SKIP, got) == 0)
		return 0;
	return err_set(e, -EBADMSG,
		       "%s is not what it should be: its digest is sha256:%s",
		       what, got);
}

int make_layer(struct make *m, const struct make_blob *b,
	       struct unpack_result *ret, struct err *e)
{
	struct unpack_job job = {
		.src_fd = b->fd,
		.tree_fd = m->tree_fd,
		.upper = m->n > 0,
		.want_end = !b->packed && !b->plain,
		.max_bytes = m->o->max_bytes,
		.max_entries = m->o->max_entries,
		.used_bytes = m->bytes,
		.used_entries = m->entries,
	};
	struct progress p = { .rp = m->o->rp, .what = b->what };
	struct unpack_result res;
	struct stat st;
	int r;

	if (fstat(b->fd, &st) == 0)
		p.total = (uint64_t)st.st_size;
	r = jail_run(unpack_run, &job, on_progress, &p, &res, e);
	if (r < 0)
		return err_wrap(e, r, "%s", b->what);
	r = check_digest(b->what, b->packed, res.packed, e);
	r = r < 0 ? r : check_digest(b->what, b->plain, res.plain, e);
	if (r < 0)
		return r;
	/* The child is not believed beyond what it may have done. */
	m->bytes = MIN(res.bytes, job.max_bytes);
	m->entries = MIN(res.entries, job.max_entries);
	m->n++;
	if (ret)
		*ret = res;
	return 0;
}

bool make_is_there(const struct make_opts *o, const char *id)
{
	return imagestore_whole(o->store, id);
}

int make_commit(struct make *m, struct hutch_image_info *info, struct err *e)
{
	int r;

	info->created_ns = now_ns();
	info->bytes = m->bytes;
	info->entries = m->entries;
	r = rmtree(m->stage.fd, OUTER);
	if (r < 0)
		return err_set(e, r, "cannot remove a folder: %s",
			       strerror(-r));
	r = imageinfo_write(m->stage.fd, info, e);
	return r < 0 ? r
		     : imagestore_commit(m->o->store, &m->stage, info->id,
					 m->o->name, e);
}

int make_name(const struct make_opts *o, const char *id, struct err *e)
{
	return imagestore_name(o->store, id, o->name, e);
}
