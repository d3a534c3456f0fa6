/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/netctl.c - talk with hutch-net: policies in, events out
 *
 * A message is a JSON document. One with an "event" comes when something has
 * happened, one with "connect" when a handler is to be connected to; any other is
 * the answer to what was asked last. A policy that goes through here may hold
 * secrets: nothing of it is kept or logged.
 */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/io.h"
#include "common/log.h"
#include "host/keeper/keeper.h"
#include "host/lib/bootmsg.h"
#include "host/lib/internal.h"
#include "host/lib/jsontext.h"
#include "host/lib/netpolicy.h"
#include "host/lib/record.h"

#define ANSWER_NS     30000000000ull
#define TEXT_MAX      512
#define NAME_TEXT_MAX 300 /* of a host, escaped */
#define DRAIN_MAX     256 /* what one has left to say that has ended */

/* Return: its length, 0 at the end, -errno. */
static ssize_t receive(struct keeper *k, char **ret)
{
	auto_free char *buf = malloc(NETPOLICY_ANSWER_MAX + 1);
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	n = recv(k->net.control, buf, NETPOLICY_ANSWER_MAX,
		 MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return -errno;
	if (n > NETPOLICY_ANSWER_MAX)
		return -EMSGSIZE;
	buf[n] = '\0';
	*ret = take_ptr(&buf);
	return n;
}

/* ---- Events ---- */

static const char *str(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static long long num(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

/* What no log has as it came: hutch-net reads hostile bytes all day. */
static const char *escaped(const json_t *j, const char *key,
			   char q[NAME_TEXT_MAX])
{
	const char *s = str(j, key);

	return log_escape(q, NAME_TEXT_MAX, s, strlen(s));
}

/* From 0 to @max, or it is none. */
static int small(const json_t *j, const char *key, int max)
{
	long long v = num(j, key);

	return v < 0 || v > max ? 0 : (int)v;
}

/* "tcp 192.0.2.1 port 443 (api.example.org): a rule denies it, rule 2, 3 times" */
static void denial_text(const json_t *j, const struct hutch_vm_event *ev,
			char text[TEXT_MAX])
{
	const char *name = str(j, "name");
	char at[32] = "", by[32] = "", times[32] = "";

	if (ev->port)
		(void)snprintf(at, sizeof(at), " port %d", ev->port);
	if (ev->rule)
		(void)snprintf(by, sizeof(by), ", rule %d", ev->rule);
	if (ev->count > 1)
		(void)snprintf(times, sizeof(times), ", %d times", ev->count);
	(void)snprintf(text, TEXT_MAX, "%s%s%s%s%s%s%s: %s%s%s",
		       str(j, "proto"), *str(j, "address") ? " " : "",
		       str(j, "address"), at, *name ? " (" : "", name,
		       *name ? ")" : "", str(j, "why"), by, times);
}

static void tell(struct keeper *k, const json_t *j)
{
	char text[TEXT_MAX], proto[NAME_TEXT_MAX], address[NAME_TEXT_MAX],
		name[NAME_TEXT_MAX];
	const struct hutch_vm_event ev = {
		.time_ns = now_ns(),
		.vm = k->rec->name,
		.id = k->rec->id,
		.kind = str(j, "event"),
		.text = text,
		.proto = escaped(j, "proto", proto),
		.address = escaped(j, "address", address),
		.name = escaped(j, "name", name),
		.port = small(j, "port", UINT16_MAX),
		.rule = small(j, "rule", INT_MAX),
		.count = small(j, "count", INT_MAX),
	};

	denial_text(j, &ev, text);
	/* Whatever it tells: there may be a lot of it. */
	keeper_tell_guest(k, &k->denied, &ev);
}

/* ---- Answers ---- */

static void drop_policy(struct keeper_net *n)
{
	free(n->policy);
	n->policy = NULL;
}

/* "internet,mtu=1500" is "policy,mtu=1500" once it has one. */
static int record_policy(struct keeper *k, const char *policy)
{
	const char *rest = strchrnul(k->rec->net, ',');
	auto_free char *words = NULL;

	if (asprintf(&words, "policy%s", rest) < 0)
		return -ENOMEM;
	if (record_set(&k->rec->net_policy, policy) < 0)
		return -ENOMEM;
	return record_set(&k->rec->net, words);
}

/* With the room that the last record will need. */
static int keep_policy(struct keeper *k, const char *policy)
{
	struct err ignored;
	int r = record_policy(k, policy);

	if (r == 0)
		r = record_write(k->fd[LAUNCH_FD_STATE], k->rec, 0, &ignored);
	return r < 0 ? r
		     : record_reserve(k->fd[LAUNCH_FD_STATE], k->rec, &ignored);
}

static void serve_answer(struct keeper *k, const json_t *j, const char *text)
{
	const char *sentence = str(j, "error");
	auto_free char *policy = take_ptr(&k->net.policy);

	if (*sentence) {
		serve_net(k, -EINVAL, sentence);
		return;
	}
	if (!json_is_true(json_object_get(j, "ok"))) {
		serve_net(k, -EBADMSG, "hutch-net answers nonsense");
		return;
	}
	if (policy)
		handler_allow(&k->net, policy);
	if (policy && keep_policy(k, policy) < 0)
		serve_net(k, -EIO,
			  "the policy is in force, but could not be put on "
			  "record: the next start would have the old one");
	else
		serve_net(k, 0, text);
}

static void on_late(struct loop_timer *t);

/* To the oldest question. */
static void take_answer(struct keeper *k, const json_t *j, const char *text)
{
	struct keeper_net *n = &k->net;
	const enum net_asker who = n->asked[0];

	if (n->n_asked == 0)
		return;
	n->n_asked--;
	memmove(n->asked, n->asked + 1, n->n_asked * sizeof(n->asked[0]));
	loop_timer_cancel(&n->late);
	if (n->n_asked)
		loop_timer_set(&k->loop, &n->late, ANSWER_NS, on_late);
	if (who == NET_ASKER_CLIENT)
		serve_answer(k, j, text);
	netresolv_tell(k);
}

/* ---- Its first answer ---- */

/* The guest has to trust whoever speaks for hosts that are intercepted. */
static int give_ca(struct keeper *k, const char *pem, struct err *e)
{
	int fd = bootmsg_add_ca(k->fd[LAUNCH_FD_BOOT], pem, e);

	if (fd < 0)
		return fd;
	(void)close(k->fd[LAUNCH_FD_BOOT]);
	k->fd[LAUNCH_FD_BOOT] = fd;
	k->net.trusted = true;
	return 0;
}

/* To the policy that it was started with. */
static void take_first(struct keeper *k, const json_t *j)
{
	struct err e;
	int r = 0;

	if (*str(j, "error"))
		r = err_set(&e, -EINVAL, "network: %s", str(j, "error"));
	else if (!json_is_true(json_object_get(j, "ok")))
		r = err_set(&e, -EBADMSG,
			    "network: hutch-net answers nonsense");
	else if (*str(j, "ca"))
		r = give_ca(k, str(j, "ca"), &e);
	if (r < 0) {
		net_not_begun(k, &e);
		return;
	}
	net_begun(k);
	netresolv_tell(k);
}

/* ---- What it says ---- */

/* Return: whether there may be more. */
static bool take_one(struct keeper *k)
{
	auto_free char *text = NULL;
	ssize_t len = receive(k, &text);
	auto_json json_t *j = NULL;

	if (len == -EAGAIN || len == -EINTR || len == -ENOMEM)
		return false;
	if (len <= 0 && len != -EMSGSIZE) {
		/* Its end, which is told where its death is seen. */
		loop_del(&k->net.control_io);
		return false;
	}
	j = len > 0 ? json_loadb(text, (size_t)len, 0, NULL) : NULL;
	if (json_is_string(json_object_get(j, "event"))) {
		/* It reads hostile bytes all day: that is all it may tell. */
		if (strcmp(str(j, "event"), "net-denied") == 0)
			tell(k, j);
	} else if (json_is_string(json_object_get(j, "connect"))) {
		handler_connect(k, str(j, "connect"), num(j, "id"));
	} else if (!k->net.begun) {
		take_first(k, j);
	} else {
		take_answer(k, j, text ? text : "");
	}
	return true;
}

static void on_control(struct loop_io *io, uint32_t events)
{
	struct keeper_net *n = container_of(io, struct keeper_net, control_io);

	(void)events;
	(void)take_one(container_of(n, struct keeper, net));
}

void netctl_drain(struct keeper *k)
{
	for (int i = 0; i < DRAIN_MAX && k->net.control >= 0; i++)
		if (!take_one(k))
			break;
}

/* ---- Requests ---- */

bool netctl_fits(const struct keeper *k, const char *policy)
{
	auto_json json_t *j = json_loads(policy, 0, NULL);
	json_t *rule;
	size_t i;

	json_array_foreach(json_object_get(j, "rules"), i,
			   rule) if (json_object_get(rule, "intercept") &&
				     !k->net.trusted) return false;
	return true;
}

static int send_first(struct keeper *k, struct err *e)
{
	auto_free char *text = calloc(1, NETPOLICY_MAX);
	ssize_t len =
		text ? io_read_full(k->fd[LAUNCH_FD_NET], text, NETPOLICY_MAX)
		     : -ENOMEM;

	drop_fd(&k->fd[LAUNCH_FD_NET]);
	/* Of one that has ended already its end will tell. */
	if (len >= 0 &&
	    send(k->net.control, text, (size_t)len, MSG_NOSIGNAL) != len &&
	    errno != EPIPE)
		len = -errno;
	if (text)
		explicit_bzero(text, NETPOLICY_MAX);
	if (len < 0)
		return err_set(e, (int)len, "network: hutch-net: %s",
			       strerror((int)-len));
	return 0;
}

int netctl_start(struct keeper *k, struct err *e)
{
	int r = handler_shares(k);

	if (r < 0)
		return err_set(e, r, "network: what is mounted: %s",
			       strerror(-r));
	r = handler_check(&k->net, k->rec->net_policy, e);
	r = r < 0 ? r : send_first(k, e);
	r = r < 0 ? r : io_set_nonblock(k->net.control, 1);
	if (r < 0)
		return r;
	handler_allow(&k->net, k->rec->net_policy);
	netresolv_start(k);
	return loop_add(&k->loop, &k->net.control_io, k->net.control, EPOLLIN,
			on_control);
}

/* It answers what it is asked: one that does not is of no use any more. */
static void on_late(struct loop_timer *t)
{
	struct keeper_net *n = container_of(t, struct keeper_net, late);

	net_kill(container_of(n, struct keeper, net));
}

static bool has_asked(const struct keeper_net *n, enum net_asker who)
{
	for (unsigned int i = 0; i < n->n_asked; i++)
		if (n->asked[i] == who)
			return true;
	return false;
}

int netctl_ask(struct keeper *k, enum net_asker who, const char *message,
	       size_t len)
{
	struct keeper_net *n = &k->net;

	if (n->plan.mode != NETPLAN_POLICY)
		return -EOPNOTSUPP;
	if (n->control < 0 || !n->pid)
		return -EPIPE;
	if (!n->begun)
		return -EAGAIN;
	if (has_asked(n, who))
		return -EBUSY;
	if (send(n->control, message, len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)len)
		return errno == EAGAIN ? -EBUSY : -EPIPE;
	n->asked[n->n_asked++] = who;
	loop_timer_set(&k->loop, &n->late, ANSWER_NS, on_late);
	return 0;
}

void netctl_end(struct keeper *k)
{
	struct keeper_net *n = &k->net;

	loop_del(&n->control_io);
	loop_timer_cancel(&n->late);
	drop_fd(&n->control);
	resolv_close(&n->resolv);
	drop_policy(n);
	handler_allow(n, NULL);
	if (has_asked(n, NET_ASKER_CLIENT))
		serve_net(k, -EPIPE, "the network has ended");
	n->n_asked = 0;
}
