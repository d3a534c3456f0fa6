/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/mounts.c - see mounts.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "host/lib/dax.h"
#include "host/lib/internal.h"
#include "host/lib/mounts.h"
#include "host/lib/volume.h"

#define QUOTE_MAX 128
#define MOUNT_FLAGS                                                         \
	(HUTCH_MOUNT_RDONLY | HUTCH_MOUNT_VOLUME | HUTCH_MOUNT_LOCKS_HOST | \
	 HUTCH_MOUNT_NOCOPY)

_Static_assert(HUTCH_MOUNTS_MAX <= WIRE_MOUNTS_MAX, "all in a boot message");

static const char *quote(char q[QUOTE_MAX], const char *s)
{
	return log_escape(q, QUOTE_MAX, s, strlen(s));
}

/* ---- What was asked for ---- */

int mounts_tidy(char *path)
{
	char *to = path, *from = path;

	while (*from) {
		size_t len;

		from += strspn(from, "/");
		len = strcspn(from, "/");
		if (len == 2 && memcmp(from, "..", 2) == 0)
			return -EINVAL;
		if (len > 0 && !(len == 1 && *from == '.')) {
			*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	*to = '\0';
	return 0;
}

static int take_target(const char *target, char **ret, struct err *e)
{
	char q[QUOTE_MAX];

	if (target[0] != '/')
		return err_set(e, -EINVAL,
			       "mount: '%s' is no absolute path in the VM",
			       quote(q, target));
	if (strlen(target) > WIRE_PATH_MAX)
		return err_set(e, -EINVAL,
			       "mount: the path in the VM is longer than %u "
			       "bytes",
			       WIRE_PATH_MAX);
	*ret = strdup(target);
	if (!*ret)
		return err_set(e, -ENOMEM, "no memory");
	if (mounts_tidy(*ret) < 0)
		return err_set(e, -EINVAL,
			       "mount: '%s' has a '..': write where it is in "
			       "the VM",
			       quote(q, target));
	if (!**ret)
		return err_set(e, -EINVAL,
			       "mount: '%s' is the VM's root, which cannot be "
			       "mounted over",
			       quote(q, target));
	return 0;
}

static int take_one(const struct hutch_mount *m, struct mount_one *ret,
		    struct err *e)
{
	struct hutch_mount o;
	int r = opts_take(&o, sizeof(o), m, m->size, e);

	if (r < 0)
		return r;
	if (o.flags & ~MOUNT_FLAGS)
		return err_set(e, -EINVAL, "mount: unknown flags %#x",
			       o.flags & ~MOUNT_FLAGS);
	if (!o.source || !*o.source || !o.target)
		return err_set(e, -EINVAL,
			       "mount: what and where are both needed");
	if (o.flags & HUTCH_MOUNT_NOCOPY && !(o.flags & HUTCH_MOUNT_VOLUME))
		return err_set(e, -EINVAL, "mount: nocopy is for volumes");
	if ((o.uid || o.gid) && o.flags & HUTCH_MOUNT_VOLUME)
		return err_set(e, -EINVAL,
			       "mount: uid and gid are for folders of the "
			       "host; in a volume files belong to whom they "
			       "were made by");
	if (o.uid > HUTCH_ID_MAX || o.gid > HUTCH_ID_MAX)
		return err_set(e, -EINVAL, "mount: uid and gid are at most %u",
			       HUTCH_ID_MAX);
	r = dax_check("mount", o.dax, o.window, e);
	if (r < 0)
		return r;
	ret->dax = o.dax;
	ret->window = o.window;
	ret->uid = o.uid;
	ret->gid = o.gid;
	ret->ro = o.flags & HUTCH_MOUNT_RDONLY;
	ret->locks_host = o.flags & HUTCH_MOUNT_LOCKS_HOST;
	ret->volume = o.flags & HUTCH_MOUNT_VOLUME;
	ret->nocopy = o.flags & HUTCH_MOUNT_NOCOPY;
	ret->source = strdup(o.source);
	if (!ret->source)
		return err_set(e, -ENOMEM, "no memory");
	return take_target(o.target, &ret->target, e);
}

/* So that "/a" comes before "/a/b", however they were given. */
static int by_target(const void *a, const void *b)
{
	const struct mount_one *x = a, *y = b;

	return strcmp(x->target, y->target);
}

static int take_all(const struct hutch_mount *const *v, struct mounts *ms,
		    struct err *e)
{
	char q[QUOTE_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && v && v[i]; i++) {
		if (i == HUTCH_MOUNTS_MAX)
			return err_set(e, -EINVAL, "mounts: more than %d",
				       HUTCH_MOUNTS_MAX);
		ms->m[ms->n++].fd = -1;
		r = take_one(v[i], &ms->m[i], e);
	}
	if (r < 0)
		return r;
	qsort(ms->m, ms->n, sizeof(ms->m[0]), by_target);
	for (unsigned int i = 1; i < ms->n; i++)
		if (strcmp(ms->m[i].target, ms->m[i - 1].target) == 0)
			return err_set(e, -EINVAL,
				       "mount: '%s' in the VM is given twice",
				       quote(q, ms->m[i].target));
	return 0;
}

/* ---- Opening ---- */

static int cannot(struct err *e, int r, const struct mount_one *m)
{
	char q[QUOTE_MAX];

	if (r == -ENOENT)
		return err_set(e, r,
			       "mount: there is no '%s' on this host: make it "
			       "first",
			       quote(q, m->source));
	return err_set(e, r, "mount: cannot open '%s'%s: %s",
		       quote(q, m->source),
		       m->file && !m->ro ? " for writing" : "", strerror(-r));
}

/*
 * Not to be held up if it has become a FIFO since, which is then refused.  Who
 * only reads leaves no time of access, if the file is the user's own.
 */
static int open_file(struct mount_one *m)
{
	int flags = (m->ro ? O_RDONLY : O_RDWR) | O_NONBLOCK | O_NOCTTY |
		    O_CLOEXEC;
	struct stat st;

	m->file = true;
	m->fd = open(m->source, flags | (m->ro ? O_NOATIME : 0));
	if (m->fd < 0 && errno == EPERM && m->ro)
		m->fd = open(m->source, flags);
	if (m->fd < 0 || fstat(m->fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -ESTALE;
}

static int open_one(struct mount_one *m, struct err *e)
{
	char *whole = realpath(m->source, NULL), q[QUOTE_MAX];
	struct stat st;

	if (!whole)
		return cannot(e, -errno, m);
	free(m->source);
	m->source = whole;
	m->fd = open(whole, O_PATH | O_CLOEXEC);
	if (m->fd < 0 || fstat(m->fd, &st) < 0)
		return cannot(e, -errno, m);
	if (S_ISREG(st.st_mode)) {
		int r;

		(void)close(take_fd(&m->fd));
		r = open_file(m);
		return r < 0 ? cannot(e, r, m) : 0;
	}
	if (!S_ISDIR(st.st_mode))
		return err_set(e, -ENOTDIR,
			       "mount: '%s' is neither a folder nor a regular "
			       "file",
			       quote(q, whole));
	return 0;
}

static int open_volume(struct hutch *h, struct mount_one *m,
		       const struct hutch_image *image, struct err *e)
{
	int tree = image && !m->nocopy ? hutch_image_tree(image) : -1;

	m->fd = volume_open(h, m->source, tree, m->target, m->ro, e);
	return MIN(m->fd, 0);
}

int mounts_open(struct hutch *h, const struct hutch_mount *const *v,
		const struct hutch_image *image, struct mounts *ret,
		struct err *e)
{
	struct mounts ms = { .n = 0 };
	int r = take_all(v, &ms, e);

	/* Volumes last: they are made, and what is wrong is found before. */
	for (unsigned int i = 0; r == 0 && i < ms.n; i++)
		if (!ms.m[i].volume)
			r = open_one(&ms.m[i], e);
	for (unsigned int i = 0; r == 0 && i < ms.n; i++)
		if (ms.m[i].volume)
			r = open_volume(h, &ms.m[i], image, e);
	if (r < 0)
		mounts_done(&ms);
	else
		*ret = ms;
	return r;
}

void mounts_done(struct mounts *ms)
{
	for (unsigned int i = 0; i < ms->n; i++) {
		free(ms->m[i].source);
		free(ms->m[i].target);
		drop_fd(&ms->m[i].fd);
	}
	ms->n = 0;
}

/* ---- For the record and the guest ---- */

static unsigned int flags_of(const struct mount_one *m)
{
	return (m->ro ? HUTCH_MOUNT_RDONLY : 0) |
	       (m->volume ? HUTCH_MOUNT_VOLUME : 0) |
	       (m->locks_host ? HUTCH_MOUNT_LOCKS_HOST : 0) |
	       (m->nocopy ? HUTCH_MOUNT_NOCOPY : 0);
}

/* The list, its objects and their strings are one allocation. */
int mounts_record(const struct mounts *ms,
		  const struct hutch_mount *const **field)
{
	size_t head = (ms->n + 1) * sizeof(void *), len = head;
	const struct hutch_mount **list;
	struct hutch_mount *m;
	char *text;

	if (ms->n == 0)
		return 0;
	for (unsigned int i = 0; i < ms->n; i++)
		len += sizeof(*m) + strlen(ms->m[i].source) +
		       strlen(ms->m[i].target) + 2;
	list = calloc(1, len);
	if (!list)
		return -ENOMEM;
	m = (struct hutch_mount *)(void *)(list + ms->n + 1);
	text = (char *)(m + ms->n);
	for (unsigned int i = 0; i < ms->n; i++) {
		char *target = stpcpy(text, ms->m[i].source) + 1;

		list[i] = &m[i];
		m[i] = (struct hutch_mount){
			.size = sizeof(*m),
			.source = text,
			.target = target,
			.flags = flags_of(&ms->m[i]),
			.dax = ms->m[i].dax,
			.window = ms->m[i].window,
			.uid = ms->m[i].uid,
			.gid = ms->m[i].gid,
		};
		text = stpcpy(target, ms->m[i].target) + 1;
	}
	mounts_free(*field);
	*field = list;
	return 0;
}

void mounts_free(const struct hutch_mount *const *v)
{
	void *p;

	memcpy(&p, &v, sizeof(p));
	free(p);
}

void mounts_tag(char buf[MOUNTS_TAG_MAX], unsigned int i)
{
	(void)snprintf(buf, MOUNTS_TAG_MAX, "hutch%u", i);
}

void mounts_message(const struct mounts *ms,
		    char tag[HUTCH_MOUNTS_MAX][MOUNTS_TAG_MAX],
		    struct msg_mount ret[HUTCH_MOUNTS_MAX])
{
	for (unsigned int i = 0; i < ms->n; i++) {
		const struct mount_one *m = &ms->m[i];

		mounts_tag(tag[i], i);
		ret[i] = (struct msg_mount){
			.flags = (m->ro ? WIRE_MOUNT_RDONLY : 0) |
				 (m->file ? WIRE_MOUNT_FILE : 0) |
				 (m->locks_host ? WIRE_MOUNT_LOCKS : 0),
			.type = "virtiofs",
			.source = tag[i],
			.target = m->target,
			.options = "",
		};
	}
}
