/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/files/watch.c - see ops.h: tell what happens to files
 *
 * inotify has a watch a folder and knows no paths: which folder is which is
 * kept here.  A folder is first watched and then read, so that what comes into
 * it meanwhile is told once or twice, and never not at all.  One that moves is
 * forgotten, with those below, and found again where it went.
 *
 * The kernel bounds what waits to be told, and says when that was too little.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "common/treepath.h"
#include "guest-agent/files/ops.h"

#define WATCHED                                                          \
	(IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | \
	 IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)

/* Folders watched by one request, and bytes of their paths. */
#define FOLDERS_MAX    65536u
#define PATH_BYTES_MAX (8u << 20)

#define ROOM_MIN 64u

/** struct folder - One that is watched; @path is from the root, malloc()ed */
struct folder {
	int wd;
	char *path;
};

/**
 * struct watch - What is watched
 * @folder:	@n of them, by their numbers, which grow
 * @path:	Where we are while folders are read
 * @lost:	Something was missed that has not been told
 * @gone:	The root is not there any more
 */
struct watch {
	struct files *f;
	int fd;
	bool recursive;
	bool lost;
	bool gone;
	int root;
	struct folder *folder;
	size_t n;
	size_t room;
	size_t bytes;
	struct treepath path;
};

static int tell(struct watch *w, enum wire_watch_what what, uint32_t flags,
		uint32_t cookie, const char *path, struct err *e)
{
	uint8_t buf[WIRE_HDR_LEN + 13 + WIRE_PATH_MAX];
	struct wr wr = wr_init(buf, sizeof(buf));

	if (strlen(path) > WIRE_PATH_MAX) {
		w->lost = true;
		return 0;
	}
	wire_watch_put(&wr, &(struct msg_watch){ .what = what,
						 .flags = flags,
						 .cookie = cookie,
						 .path = path });
	return files_send_wr(w->f, &wr, e);
}

/* Place of a number, or where it would be. */
static size_t place_of(const struct watch *w, int wd)
{
	size_t from = 0, to = w->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (w->folder[mid].wd < wd)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static struct folder *find(const struct watch *w, int wd)
{
	size_t i = place_of(w, wd);

	return i < w->n && w->folder[i].wd == wd ? &w->folder[i] : NULL;
}

static void forget(struct watch *w, struct folder *d)
{
	size_t i = (size_t)(d - w->folder);

	w->bytes -= strlen(d->path) + 1;
	free(d->path);
	w->n--;
	memmove(d, d + 1, (w->n - i) * sizeof(*d));
}

/* Return: whether it is known now. */
static bool remember(struct watch *w, int wd, const char *path)
{
	struct folder *d = find(w, wd);
	size_t len = strlen(path) + 1, i;
	char *copy;

	if (d)
		forget(w, d);
	if (w->n == FOLDERS_MAX || len > PATH_BYTES_MAX - w->bytes)
		return false;
	if (w->n == w->room) {
		size_t room = MAX(w->room * 2, ROOM_MIN);
		struct folder *more = realloc(w->folder, room * sizeof(*more));

		if (!more)
			return false;
		w->folder = more;
		w->room = room;
	}
	copy = strdup(path);
	if (!copy)
		return false;
	i = place_of(w, wd);
	memmove(&w->folder[i + 1], &w->folder[i],
		(w->n - i) * sizeof(*w->folder));
	w->folder[i] = (struct folder){ .wd = wd, .path = copy };
	w->n++;
	w->bytes += len;
	return true;
}

/* Watch the folder where we are. Return: whether that could be done */
static bool watch_here(struct watch *w)
{
	int wd = inotify_add_watch(w->fd, w->path.text,
				   WATCHED | IN_ONLYDIR | IN_DONT_FOLLOW);

	if (wd < 0) {
		/* Gone again, or no folder any more: that is told as well. */
		if (errno != ENOENT && errno != ENOTDIR)
			w->lost = true;
		return false;
	}
	if (remember(w, wd, treepath_inside(&w->path)))
		return true;
	(void)inotify_rm_watch(w->fd, wd);
	w->lost = true;
	return false;
}

static bool is_dir(int dirfd, const struct dirent *de)
{
	struct stat st;

	if (de->d_type != DT_UNKNOWN)
		return de->d_type == DT_DIR;
	return fstatat(dirfd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/**
 * struct scan - Folders on the way down
 * @told:	Whether what is found is told as new
 */
struct scan {
	DIR *dir[WIRE_TREE_DEPTH_MAX];
	unsigned int n;
	bool told;
};

/* Watch, and read, the folder where we are. Return: whether it was entered */
static bool enter(struct watch *w, struct scan *s)
{
	DIR *dir;

	if (!watch_here(w))
		return false;
	dir = s->n < WIRE_TREE_DEPTH_MAX ? opendir(w->path.text) : NULL;
	if (!dir) {
		w->lost = true;
		return false;
	}
	s->dir[s->n++] = dir;
	return true;
}

static int scan_one(struct watch *w, struct scan *s, const struct dirent *de,
		    struct err *e)
{
	bool dir = is_dir(dirfd(s->dir[s->n - 1]), de);
	bool entered = false;
	int r = 0;

	treepath_push(&w->path, de->d_name);
	if (s->told)
		r = tell(w, WIRE_WATCH_CREATE, dir ? WIRE_WATCH_DIR : 0, 0,
			 treepath_inside(&w->path), e);
	if (r == 0 && dir)
		entered = enter(w, s);
	if (!entered)
		treepath_pop(&w->path);
	return r;
}

/* The folder where we are, and all that are in it. */
static int scan(struct watch *w, bool told, struct err *e)
{
	struct scan *s = calloc(1, sizeof(*s));
	int r = 0;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->told = told;
	(void)enter(w, s);
	while (r == 0 && s->n) {
		const struct dirent *de = readdir(s->dir[s->n - 1]);

		if (de && wire_name_ok(de->d_name)) {
			r = scan_one(w, s, de, e);
		} else if (!de) {
			(void)closedir(s->dir[--s->n]);
			treepath_pop(&w->path);
		}
	}
	while (s->n)
		(void)closedir(s->dir[--s->n]);
	free(s);
	return r;
}

static void go_to(struct watch *w, const char *inside)
{
	w->path.len = w->path.base;
	w->path.text[w->path.len] = '\0';
	while (*inside) {
		char name[WIRE_NAME_MAX + 1];
		size_t len = strcspn(inside, "/");

		bug_on(len > WIRE_NAME_MAX);
		memcpy(name, inside, len);
		name[len] = '\0';
		treepath_push(&w->path, name);
		inside += len + (inside[len] == '/');
	}
}

/* A folder has gone elsewhere: it, and what is in it, has other paths now. */
static void unwatch(struct watch *w, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = w->n; i > 0; i--) {
		struct folder *d = &w->folder[i - 1];

		if (strncmp(d->path, path, len) != 0 ||
		    (d->path[len] && d->path[len] != '/'))
			continue;
		(void)inotify_rm_watch(w->fd, d->wd);
		forget(w, d);
	}
}

static const struct {
	uint32_t mask;
	enum wire_watch_what what;
} kinds[] = {
	{ IN_CREATE, WIRE_WATCH_CREATE },
	{ IN_MODIFY, WIRE_WATCH_MODIFY },
	{ IN_ATTRIB, WIRE_WATCH_ATTRIB },
	{ IN_DELETE, WIRE_WATCH_DELETE },
	{ IN_MOVED_FROM, WIRE_WATCH_MOVED_FROM },
	{ IN_MOVED_TO, WIRE_WATCH_MOVED_TO },
	{ IN_CLOSE_WRITE, WIRE_WATCH_WRITTEN },
};

/* An event of what @w->path names now. */
static int tell_event(struct watch *w, const struct inotify_event *ev,
		      struct err *e)
{
	uint32_t flags = ev->mask & IN_ISDIR ? WIRE_WATCH_DIR : 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (ev->mask & kinds[i].mask)
			return tell(w, kinds[i].what, flags, ev->cookie,
				    treepath_inside(&w->path), e);
	return 0;
}

/* Of a folder in one that is watched: it comes, or goes. */
static int follow_folder(struct watch *w, const struct inotify_event *ev,
			 struct err *e)
{
	if (!w->recursive || !(ev->mask & IN_ISDIR))
		return 0;
	if (ev->mask & IN_MOVED_FROM)
		unwatch(w, treepath_inside(&w->path));
	if (ev->mask & (IN_CREATE | IN_MOVED_TO))
		return scan(w, true, e);
	return 0;
}

static int on_self(struct watch *w, const struct inotify_event *ev,
		   struct err *e)
{
	/* Of other folders the one above tells it. */
	if (ev->wd != w->root)
		return 0;
	if (ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
		w->gone = true;
		return 0;
	}
	go_to(w, "");
	return tell_event(w, ev, e);
}

static int on_event(struct watch *w, const struct inotify_event *ev,
		    const char *name, struct err *e)
{
	struct folder *d = find(w, ev->wd);
	int r;

	if (ev->mask & IN_Q_OVERFLOW) {
		w->lost = true;
		/* Folders may have come: those of old have their numbers. */
		go_to(w, "");
		return w->recursive ? scan(w, false, e) : 0;
	}
	if (!d)
		return 0;
	if (ev->mask & IN_IGNORED) {
		w->gone = w->gone || ev->wd == w->root;
		forget(w, d);
		return 0;
	}
	if (ev->len == 0)
		return on_self(w, ev, e);
	go_to(w, d->path);
	treepath_push(&w->path, name);
	r = tell_event(w, ev, e);
	return r < 0 ? r : follow_folder(w, ev, e);
}

static int tell_lost(struct watch *w, struct err *e)
{
	if (!w->lost)
		return 0;
	w->lost = false;
	return tell(w, WIRE_WATCH_LOST, 0, 0, "", e);
}

static int take_events(struct watch *w, struct err *e)
{
	/* Scanning uses the request's own buffer for nothing. */
	uint8_t *buf = w->f->data;
	ssize_t n = read(w->fd, buf, sizeof(w->f->data));
	int r = 0;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n < 0)
		return err_set(e, -errno, "inotify: %s", strerror(errno));
	for (ssize_t at = 0; r == 0 && !w->gone && at < n;) {
		struct inotify_event ev;

		memcpy(&ev, buf + at, sizeof(ev));
		r = on_event(w, &ev, (char *)buf + at + sizeof(ev), e);
		if (r == 0)
			r = tell_lost(w, e);
		at += (ssize_t)(sizeof(ev) + ev.len);
	}
	return r;
}

static int begin(struct watch *w, struct err *e)
{
	uint32_t flags = w->recursive ? IN_ONLYDIR : 0;
	int r;

	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0)
		return err_set(e, -errno, "inotify: %s", strerror(errno));
	w->root = inotify_add_watch(w->fd, w->path.text, WATCHED | flags);
	if (w->root < 0)
		return files_fail(e, -errno, w->f->req.path);
	if (!remember(w, w->root, ""))
		return err_set(e, -ENOMEM, "out of memory");
	r = w->recursive ? scan(w, false, e) : 0;
	if (r == 0)
		r = tell(w, WIRE_WATCH_READY, 0, 0, "", e);
	return r < 0 ? r : tell_lost(w, e);
}

static int run(struct watch *w, struct err *e)
{
	int r = begin(w, e);

	while (r == 0 && !w->gone) {
		r = files_wait(w->f, w->fd, POLLIN, e);
		if (r == 0)
			r = take_events(w, e);
	}
	return r < 0 ? r : tell(w, WIRE_WATCH_GONE, 0, 0, "", e);
}

int files_watch(struct files *f, struct err *e)
{
	struct watch *w = calloc(1, sizeof(*w));
	char path[PATH_MAX + 1];
	int r;

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	/* The root may be a link, and what is below is never reached by one. */
	if (!realpath(f->req.path, path)) {
		free(w);
		return files_fail(e, -errno, f->req.path);
	}
	w->f = f;
	w->fd = -1;
	w->recursive = f->req.flags & WIRE_FILE_RECURSIVE;
	treepath_init(&w->path, path);
	r = run(w, e);
	while (w->n)
		forget(w, &w->folder[w->n - 1]);
	free(w->folder);
	if (w->fd >= 0)
		(void)close(w->fd);
	free(w);
	return r;
}
