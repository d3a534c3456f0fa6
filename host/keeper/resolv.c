/* SPDX-License-Identifier: Apache-2.0 */
/* host/keeper/resolv.c - see resolv.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "host/keeper/resolv.h"

#define NAME_MASK                                                          \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | \
	 IN_DELETE_SELF | IN_MOVE_SELF)
#define FILE_MASK (IN_MODIFY | IN_CLOSE_WRITE)

/* ---- The way to the file ---- */

/* @path becomes its folder. Return: the name in there, "" of the root. */
static const char *split(char *path)
{
	char *slash = strrchr(path, '/');
	const char *name = slash + 1;

	/* "/name" is in "/": the name moves to make room for it. */
	if (slash == path) {
		memmove(path + 2, name, strlen(name) + 1);
		path[1] = '\0';
		return path + 2;
	}
	*slash = '\0';
	return name;
}

static void watch_name(struct resolv *r, const char *path)
{
	struct resolv_name *n = &r->name[r->n];
	char dir[PATH_MAX + 1];
	int len;

	if (r->n == RESOLV_HOPS_MAX)
		return;
	(void)snprintf(dir, sizeof(dir), "%s", path);
	do {
		len = snprintf(n->name, sizeof(n->name), "%s", split(dir));
		if (len < 0 || (size_t)len >= sizeof(n->name))
			return;
		n->wd = inotify_add_watch(r->fd, dir, NAME_MASK | IN_ONLYDIR);
	} while (n->wd < 0 && errno == ENOENT && strcmp(dir, "/") != 0);
	if (n->wd >= 0)
		r->n++;
}

/* What the link at @path says, as a path of its own. Return: whether it is one */
static bool follow(char path[PATH_MAX])
{
	char to[PATH_MAX], next[2 * PATH_MAX];
	ssize_t len = readlink(path, to, sizeof(to) - 1);
	int dir = (int)(strrchr(path, '/') - path);
	int n;

	if (len <= 0)
		return false;
	to[len] = '\0';
	n = *to == '/' ? snprintf(next, sizeof(next), "%s", to)
		       : snprintf(next, sizeof(next), "%.*s/%s", dir, path, to);
	if (n < 0 || n >= PATH_MAX)
		return false;
	memcpy(path, next, (size_t)n + 1);
	return true;
}

static void walk(struct resolv *r)
{
	char path[PATH_MAX];

	r->n = 0;
	(void)snprintf(path, sizeof(path), "%s", r->path);
	do
		watch_name(r, path);
	while (r->n < RESOLV_HOPS_MAX && follow(path));
	r->file_wd = inotify_add_watch(r->fd, r->path, FILE_MASK);
}

/* ---- Changes ---- */

static bool is_ours(const struct resolv *r, const struct inotify_event *ev)
{
	if (ev->wd == r->file_wd || ev->mask & IN_Q_OVERFLOW)
		return true;
	for (unsigned int i = 0; i < r->n; i++)
		if (ev->wd == r->name[i].wd &&
		    (ev->len == 0 || strcmp(ev->name, r->name[i].name) == 0))
			return true;
	return false;
}

static int begin(struct resolv *r);

static void on_settled(struct loop_timer *t)
{
	struct resolv *r = container_of(t, struct resolv, settle);

	/* Watches of what is not on the way any more go with the old one. */
	resolv_close(r);
	if (begin(r) < 0)
		r->fd = -1;
	r->changed(r);
}

static void on_change(struct loop_io *io, uint32_t events)
{
	struct resolv *r = container_of(io, struct resolv, io);
	_Alignas(struct inotify_event) char buf[4096];
	ssize_t len = read(r->fd, buf, sizeof(buf));
	bool ours = false;

	(void)events;
	for (ssize_t at = 0; at < len;) {
		const void *here = buf + at;
		const struct inotify_event *ev = here;

		ours = ours || is_ours(r, ev);
		at += (ssize_t)(sizeof(*ev) + ev->len);
	}
	if (ours && !loop_timer_is_set(&r->settle))
		loop_timer_set(r->loop, &r->settle, RESOLV_SETTLE_NS,
			       on_settled);
}

static int begin(struct resolv *r)
{
	int e;

	r->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (r->fd < 0)
		return -errno;
	walk(r);
	e = loop_add(r->loop, &r->io, r->fd, EPOLLIN, on_change);
	if (e < 0)
		resolv_close(r);
	return e;
}

int resolv_watch(struct resolv *r, struct loop *l, const char *path,
		 void (*changed)(struct resolv *r))
{
	*r = (struct resolv){
		.loop = l, .path = path, .changed = changed, .fd = -1
	};
	return begin(r);
}

void resolv_close(struct resolv *r)
{
	loop_del(&r->io);
	loop_timer_cancel(&r->settle);
	drop_fd(&r->fd);
}
