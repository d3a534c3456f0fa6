/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/denials.c - see denials.h */
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/denials.h"

void denials_init(struct denials *d, struct loop *loop, int fd)
{
	*d = (struct denials){ .loop = loop,
			       .fd = fd,
			       .left = DENIALS_BURST,
			       .filled_ns = loop_now_ns() };
}

static void forget(struct denials *d)
{
	loop_timer_cancel(&d->timer);
	json_decref(take_ptr(&d->kept));
}

void denials_done(struct denials *d)
{
	forget(d);
}

/* Whether one may be told now. */
static bool draw(struct denials *d)
{
	uint64_t now = loop_now_ns();
	uint64_t more = (now - d->filled_ns) / DENIALS_EACH_NS;

	if (more) {
		d->left = (unsigned int)MIN(d->left + more, DENIALS_BURST);
		d->filled_ns += more * DENIALS_EACH_NS;
	}
	if (d->left == 0)
		return false;
	d->left--;
	return true;
}

static void on_time(struct loop_timer *t);

/* Takes @event: it is told later, with others or for them. */
static void keep(struct denials *d, json_t *event)
{
	d->untold++;
	if (d->kept || !event) {
		json_decref(event);
		return;
	}
	d->kept = event;
	loop_timer_set(d->loop, &d->timer, DENIALS_EACH_NS, on_time);
}

/* Takes @event. */
static void tell(struct denials *d, json_t *event)
{
	const json_int_t count = (json_int_t)d->untold + 1;
	char *text = NULL;

	if (event &&
	    json_object_set_new(event, "count", json_integer(count)) == 0)
		text = json_dumps(event, JSON_COMPACT);
	/* The keeper is slow, or memory is short: it is told later. */
	if (text &&
	    send(d->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
		d->untold = 0;
		forget(d);
		json_decref(event);
	} else {
		keep(d, event);
	}
	free(text);
}

/* Takes @event. */
static void tell_or_keep(struct denials *d, bool now, json_t *event)
{
	if (now)
		tell(d, event);
	else
		keep(d, event);
}

/* It has been quiet since, or it could not be told. */
static void on_time(struct loop_timer *t)
{
	struct denials *d = container_of(t, struct denials, timer);
	json_t *event = take_ptr(&d->kept);

	d->untold--;
	tell_or_keep(d, draw(d), event);
}

/*
 * Of those that are not told now only the first is needed.
 *
 * Return: whether this one is none of both
 */
static bool counts_only(struct denials *d, bool now)
{
	if (now || !d->kept)
		return false;
	d->untold++;
	return true;
}

/* Rules count from 1 for people; none is null. */
static json_t *rule_number(int rule)
{
	return rule < 0 ? json_null() : json_integer(rule + 1);
}

void denials_flow(struct denials *d, const struct attempt *a,
		  const struct verdict *v)
{
	static const char *const protos[] = {
		[NET_TCP] = "tcp", [NET_UDP] = "udp", [NET_ICMP] = "icmp"
	};
	const char *name = a->sni && a->sni[0] ? a->sni : v->name;
	const bool now = draw(d);
	char text[ADDR_TEXT_MAX];

	if (counts_only(d, now))
		return;
	tell_or_keep(d, now,
		     json_pack("{s:s, s:s, s:s, s:i, s:s?, s:o, s:s}", "event",
			       "net-denied", "proto", protos[a->proto],
			       "address", addr_text(&a->dst, text), "port",
			       (int)a->port, "name", name, "rule",
			       rule_number(v->rule), "why", v->why));
}

void denials_name(struct denials *d, const char *name, int rule,
		  const char *why)
{
	const bool now = draw(d);

	if (counts_only(d, now))
		return;
	tell_or_keep(d, now,
		     json_pack("{s:s, s:s, s:s, s:o, s:s}", "event",
			       "net-denied", "proto", "dns", "name", name,
			       "rule", rule_number(rule), "why", why));
}
