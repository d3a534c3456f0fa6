/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/eventsrc.c - see eventsrc.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/words.h"
#include "host/lib/eventsrc.h"
#include "host/lib/internal.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

#define SOURCES_MAX 100000

void source_done(const struct hutch_events *ev, struct source *s)
{
	if (ev->following)
		vmwatch_undir(&ev->follow, s->wd);
	s->wd = -1;
	drop_fd(&s->state_fd);
	drop_fd(&s->keeper_fd);
	for (size_t i = 0; i < SOURCE_FEEDS; i++) {
		tail_done(&s->feed[i].tail);
		eventlog_line_done(&s->feed[i].line);
	}
	eventlog_line_done(&s->line);
	hutch_record_free(s->rec);
	s->rec = NULL;
	s->dead = true;
}

void source_free(const struct hutch_events *ev, struct source *s)
{
	source_done(ev, s);
	free(s);
}

static struct source *source_new(const char *name)
{
	struct source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	memcpy(s->name, name, strlen(name) + 1);
	s->state_fd = -1;
	s->keeper_fd = -1;
	s->wd = -1;
	for (size_t i = 0; i < SOURCE_FEEDS; i++)
		tail_init(&s->feed[i].tail);
	return s;
}

static int keep(struct hutch_events *ev, struct source *s)
{
	if (ev->n == ev->cap) {
		size_t cap = MAX(ev->cap * 2, 8);
		struct source **more =
			realloc(ev->src, cap * sizeof(struct source *));

		if (!more)
			return -ENOMEM;
		ev->src = more;
		ev->cap = cap;
	}
	ev->src[ev->n++] = s;
	return 0;
}

/* Its record, true as of now, if it is still this VM's. */
static struct hutch_record *record_of(const struct hutch_events *ev,
				      const struct source *s)
{
	struct hutch_record *rec = NULL;

	if (vmdir_read(ev->h, s->name, &rec, NULL) < 0)
		return NULL;
	if (strcmp(rec->id, s->id) == 0)
		return rec;
	hutch_record_free(rec);
	return NULL;
}

/* A VM is seen from when it has a record on, which is before it starts. */
static bool find_id(struct source *s)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	struct stat st;

	if (*s->id)
		return true;
	if (record_read(s->state_fd, &rec, NULL) == 0) {
		memcpy(s->id, rec->id, sizeof(s->id));
		return true;
	}
	/* A start that came to nothing. */
	if (fstat(s->state_fd, &st) < 0 || st.st_nlink == 0)
		s->ended = s->told = true;
	return false;
}

static void connect_keeper(struct hutch_events *ev, struct source *s)
{
	struct vmdir d = VMDIR_INIT;

	if (vmdir_open(ev->h, s->name, &d, NULL) < 0)
		return;
	if (d.run_fd >= 0)
		vmwatch_keeper(&ev->follow, d.run_fd, &s->keeper_fd);
	vmdir_close(&d);
}

bool source_ended(struct hutch_events *ev, struct source *s)
{
	if (!find_id(s))
		return s->ended;
	if (vmwatch_quiet(&ev->follow, &s->keeper_fd))
		return false;
	s->rec = record_of(ev, s);
	if (!s->rec || s->rec->state == HUTCH_STATE_STOPPED)
		return true;
	hutch_record_free(s->rec);
	s->rec = NULL;
	if (ev->following)
		connect_keeper(ev, s);
	return false;
}

/* The watch first: what is written after it wakes us. */
static int source_open(const struct hutch_events *ev, struct source *s)
{
	struct vmdir d = VMDIR_INIT;
	struct stat st;
	int r = vmdir_open(ev->h, s->name, &d, NULL);

	if (r < 0)
		return r;
	s->state_fd = take_fd(&d.state_fd);
	vmdir_close(&d);
	if (s->state_fd < 0 || fstat(s->state_fd, &st) < 0)
		return -ENOENT;
	s->ino = st.st_ino;
	if (ev->following) {
		s->wd = vmwatch_dir(&ev->follow, s->state_fd);
		if (s->wd < 0)
			return s->wd;
	}
	r = tail_open(&s->feed[0].tail, s->state_fd, VMDIR_EVENTS,
		      VMDIR_EVENTS_OLD, EVENTLOG_LINE_MAX);
	return r < 0 ? r
		     : tail_open(&s->feed[1].tail, s->state_fd, VMDIR_DENIED,
				 VMDIR_DENIED_OLD, EVENTLOG_LINE_MAX);
}

/* One that is not followed, or has ended, needs no files any more. */
static int settle(struct hutch_events *ev, struct source *s)
{
	int r = 0;

	s->ended = source_ended(ev, s);
	if (ev->following && !s->ended)
		return 0;
	for (size_t i = 0; r == 0 && i < SOURCE_FEEDS; i++)
		r = tail_load(&s->feed[i].tail);
	(void)close(take_fd(&s->state_fd));
	drop_fd(&s->keeper_fd);
	return r;
}

int source_add(struct hutch_events *ev, const char *name)
{
	struct source *s = source_new(name);
	int r;

	if (!s)
		return -ENOMEM;
	r = source_open(ev, s);
	if (r == 0)
		r = settle(ev, s);
	if (r == 0 && !ev->following && !*s->id)
		r = -ENOENT;
	if (r == 0)
		r = keep(ev, s);
	if (r < 0)
		source_free(ev, s);
	return r;
}

/* A folder's number is used again when it has gone: the record's id is not. */
static bool is_same(const struct hutch_events *ev, const struct source *s)
{
	AUTO(record_freep) struct hutch_record *rec = NULL;
	auto_fd int fd =
		openat(ev->h->state_fd, s->name,
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && record_read(fd, &rec, NULL) == 0 &&
	       strcmp(rec->id, s->id) == 0;
}

static bool is_known(const struct hutch_events *ev, const char *name)
{
	struct stat st;

	if (fstatat(ev->h->state_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return true;
	for (size_t i = 0; i < ev->n; i++)
		if (ev->src[i]->ino == st.st_ino &&
		    strcmp(ev->src[i]->name, name) == 0)
			return !ev->src[i]->dead || is_same(ev, ev->src[i]);
	return false;
}

/* Of those that are dead none need be known once their folders have gone. */
static void forget(struct hutch_events *ev)
{
	size_t n = 0;

	for (size_t i = 0; i < ev->n; i++) {
		struct source *s = ev->src[i];

		if (s->dead && !is_same(ev, s))
			source_free(ev, s);
		else
			ev->src[n++] = s;
	}
	ev->n = n;
}

int source_find_new(struct hutch_events *ev)
{
	int fd = openat(ev->h->state_fd, ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;
	int n = 0, r = 0;

	ev->look = false;
	forget(ev);
	if (!dir) {
		r = -errno;
		if (fd >= 0)
			(void)close(fd);
		return r;
	}
	while (r == 0 && ev->n < SOURCES_MAX && (de = readdir(dir))) {
		if (!words_name_ok(de->d_name) || is_known(ev, de->d_name))
			continue;
		r = source_add(ev, de->d_name);
		n += r == 0;
		if (r == -ENOENT) /* removed meanwhile */
			r = 0;
	}
	(void)closedir(dir);
	return r < 0 ? r : n;
}

static bool fill(struct source_feed *f)
{
	while (!f->waits) {
		size_t len;
		const char *p = tail_left(&f->tail, &len);
		const char *nl = len ? memchr(p, '\n', len) : NULL;

		if (nl) {
			/* A line that is none is left out. */
			f->waits = eventlog_parse(p, (size_t)(nl - p),
						  &f->line) == 0;
			tail_take(&f->tail, (size_t)(nl + 1 - p));
		} else if (tail_more(&f->tail) <= 0) {
			return false;
		}
	}
	return true;
}

static bool is_last(const struct hutch_vm_event *ev)
{
	return strcmp(ev->kind, "stopped") == 0;
}

/* The one whose event is next, as they were written; NULL: none has one. */
static struct source_feed *next_feed(struct source *s)
{
	struct source_feed *a = &s->feed[0], *b = &s->feed[1];
	bool has_a = fill(a), has_b = fill(b);

	/* What was written before what we have just read is there by now. */
	has_a = has_a || (has_b && fill(a));
	if (has_a && has_b)
		return is_last(&a->line.ev) ||
				       b->line.ev.time_ns < a->line.ev.time_ns
			       ? b
			       : a;
	return has_a ? a : has_b ? b : NULL;
}

bool source_fill(struct source *s)
{
	struct source_feed *f = s->waits ? NULL : next_feed(s);

	if (f) {
		s->line = f->line;
		f->line = (struct eventlog_line){ 0 };
		f->waits = false;
		s->waits = true;
	}
	if (s->waits && is_last(&s->line.ev))
		s->told = s->ended = true;
	return s->waits;
}

void source_make_up_end(struct source *s)
{
	const struct hutch_record *rec = s->rec;

	s->told = true;
	s->waits = true;
	s->line.ev = (struct hutch_vm_event){
		.time_ns = rec ? rec->ended_ns : now_ns(),
		.vm = s->name,
		.id = s->id,
		.kind = "stopped",
		.process = "",
		.reason = hutch_reason_name(rec ? rec->reason
						: HUTCH_REASON_LOST),
		.text = rec ? rec->text : "",
	};
}
