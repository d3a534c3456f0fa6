/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/handlers.c - see handlers.h */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "host/net/handlers.h"

static void on_time(struct loop_timer *t);

void handlers_init(struct handlers *h, struct loop *loop, int fd)
{
	*h = (struct handlers){ .loop = loop, .fd = fd };
	list_init(&h->asks);
}

/* @a may be gone when this returns. */
static void finish(struct handler_ask *a, int fd, unsigned int status,
		   const char *why)
{
	handlers_cancel(a);
	a->done(a, fd, status, why);
}

/* The next look is for the answer, or to ask again. */
static void set_timer(struct handler_ask *a)
{
	uint64_t now = loop_now_ns(), left;

	left = now < a->until_ns ? a->until_ns - now : 0;
	if (!a->id)
		left = MIN(left, HANDLERS_AGAIN_NS);
	loop_timer_set(a->of->loop, &a->timer, left, on_time);
}

static void ask(struct handler_ask *a)
{
	struct handlers *h = a->of;
	uint64_t id = h->last_id + 1;
	json_t *doc = json_pack("{s:s, s:I}", "connect", a->path, "id",
				(json_int_t)id);
	char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;

	if (text &&
	    send(h->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		a->id = h->last_id = id;
	free(text);
	json_decref(doc);
	set_timer(a);
}

static void on_time(struct loop_timer *t)
{
	struct handler_ask *a = container_of(t, struct handler_ask, timer);

	if (loop_now_ns() >= a->until_ns)
		finish(a, -1, 504, "the handler takes no connection");
	else if (a->id)
		set_timer(a);
	else
		ask(a);
}

void handlers_ask(struct handlers *h, struct handler_ask *a)
{
	a->of = h;
	a->id = 0;
	a->until_ns = loop_now_ns() + HANDLERS_WAIT_NS;
	list_add_tail(&h->asks, &a->link);
	ask(a);
}

void handlers_cancel(struct handler_ask *a)
{
	if (!a->of)
		return;
	list_del(&a->link);
	loop_timer_cancel(&a->timer);
	a->of = NULL;
}

static const char *why_not(const char *error)
{
	static const struct {
		const char *word;
		const char *why;
	} all[] = {
		{ "none", "there is no socket where the handler is to be" },
		{ "refused", "nobody listens at the handler's socket" },
		{ "forbidden", "the handler's socket is not for this user" },
		{ "other", "the handler's socket is another user's" },
		{ "shared", "the way to the handler is one that the VM can "
			    "change" },
		{ "no-socket", "what is where the handler is to be is no "
			       "socket" },
		{ "unknown", "no rule in force has this handler" },
	};

	for (size_t i = 0; error && i < ARRAY_LEN(all); i++)
		if (strcmp(error, all[i].word) == 0)
			return all[i].why;
	return "the handler cannot be connected to";
}

static struct handler_ask *find(struct handlers *h, uint64_t id)
{
	struct list *p;

	list_for_each (p, &h->asks) {
		struct handler_ask *a = list_entry(p, struct handler_ask, link);

		if (a->id && a->id == id)
			return a;
	}
	return NULL;
}

void handlers_answer(struct handlers *h, uint64_t id, int fd, const char *error)
{
	struct handler_ask *a = find(h, id);
	auto_fd int got = fd;

	if (!a)
		return;
	if (!error && got >= 0 && io_set_nonblock(got, 1) == 0) {
		finish(a, take_fd(&got), 0, NULL);
		return;
	}
	if (error && strcmp(error, "busy") == 0) {
		a->id = 0;
		set_timer(a);
		return;
	}
	finish(a, -1, 502, why_not(error));
}
