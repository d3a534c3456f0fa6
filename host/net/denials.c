/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/denials.c - see denials.h */
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>

#include "common/loop.h"
#include "host/net/denials.h"

void denials_init(struct denials *d, int fd)
{
	*d = (struct denials){ .fd = fd,
			       .left = DENIALS_BURST,
			       .filled_ns = loop_now_ns() };
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
	if (d->left == 0) {
		d->untold++;
		return false;
	}
	d->left--;
	return true;
}

/* Takes @event, whatever becomes of it. */
static void tell(struct denials *d, json_t *event)
{
	char *text = event ? json_dumps(event, JSON_COMPACT) : NULL;

	/* The keeper is slow, or memory is short: it is told with the next. */
	if (text &&
	    send(d->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		d->untold = 0;
	else
		d->untold++;
	free(text);
	json_decref(event);
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
	char text[ADDR_TEXT_MAX];

	if (!draw(d))
		return;
	tell(d, json_pack("{s:s, s:s, s:s, s:i, s:s?, s:o, s:s, s:I}", "event",
			  "net-denied", "proto", protos[a->proto], "address",
			  addr_text(&a->dst, text), "port", (int)a->port,
			  "name", name, "rule", rule_number(v->rule), "why",
			  v->why, "count", (json_int_t)d->untold + 1));
}

void denials_name(struct denials *d, const char *name, int rule,
		  const char *why)
{
	if (!draw(d))
		return;
	tell(d,
	     json_pack("{s:s, s:s, s:s, s:o, s:s, s:I}", "event", "net-denied",
		       "proto", "dns", "name", name, "rule", rule_number(rule),
		       "why", why, "count", (json_int_t)d->untold + 1));
}
