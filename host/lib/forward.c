/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/forward.c - see forward.h; hutch_forward_add() and _remove() */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/log.h"
#include "host/lib/forward.h"
#include "host/lib/internal.h"
#include "host/lib/kcall.h"
#include "host/lib/record.h"
#include "host/lib/vmdir.h"

static const char *host_of(const struct hutch_forward *f)
{
	return f->host ? f->host : FORWARD_HOST;
}

unsigned int forward_address(const struct hutch_forward *f,
			     struct sockaddr_storage *ret)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)f->port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons((uint16_t)f->port) };

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, host_of(f), &v4.sin_addr) == 1) {
		memcpy(ret, &v4, sizeof(v4));
		return sizeof(v4);
	}
	if (inet_pton(AF_INET6, host_of(f), &v6.sin6_addr) == 1) {
		memcpy(ret, &v6, sizeof(v6));
		return sizeof(v6);
	}
	return 0;
}

unsigned int forward_port(const struct sockaddr_storage *sa)
{
	struct sockaddr_in6 v6;

	/* It is at the same place in both. */
	_Static_assert(offsetof(struct sockaddr_in, sin_port) ==
			       offsetof(struct sockaddr_in6, sin6_port),
		       "IPv4 and IPv6 have the port at one place");
	memcpy(&v6, sa, sizeof(v6));
	return ntohs(v6.sin6_port);
}

bool forward_same(const struct hutch_forward *a, const struct hutch_forward *b)
{
	struct sockaddr_storage x, y;

	/* Two that ask for a free port get two. */
	return a->port && forward_address(a, &x) == forward_address(b, &y) &&
	       memcmp(&x, &y, sizeof(x)) == 0;
}

const char *forward_text(const struct hutch_forward *f,
			 char buf[FORWARD_TEXT_MAX])
{
	const char *host = host_of(f);
	bool v6 = strchr(host, ':') != NULL;

	(void)snprintf(buf, FORWARD_TEXT_MAX, "%s%.*s%s:%u", v6 ? "[" : "",
		       HUTCH_ADDRESS_MAX, host, v6 ? "]" : "", f->port % 65536);
	return buf;
}

int forward_check(const struct hutch_forward *f, struct err *e)
{
	struct sockaddr_storage sa;
	char q[64];

	if (f->size < sizeof(*f))
		return err_set(e, -EINVAL,
			       "forward: size %zu is not right; start from the "
			       "_INIT macro",
			       f->size);
	if (f->port > FORWARD_PORT_MAX)
		return err_set(e, -EINVAL, "forward: port %u is not in 0..%u",
			       f->port, FORWARD_PORT_MAX);
	if (f->guest_port == 0 || f->guest_port > FORWARD_PORT_MAX)
		return err_set(e, -EINVAL,
			       "forward: the VM's port %u is not in 1..%u",
			       f->guest_port, FORWARD_PORT_MAX);
	if (forward_address(f, &sa) == 0)
		return err_set(e, -EINVAL,
			       "forward: '%s' is no IPv4 or IPv6 address",
			       log_escape(q, sizeof(q), host_of(f),
					  strlen(host_of(f))));
	return 0;
}

int forwards_check(const struct hutch_forward *const *v, struct err *e)
{
	char text[FORWARD_TEXT_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && v && v[i]; i++) {
		if (i == HUTCH_FORWARDS_MAX)
			return err_set(e, -EINVAL,
				       "forwards: there are more than %d",
				       HUTCH_FORWARDS_MAX);
		r = forward_check(v[i], e);
		for (size_t k = 0; r == 0 && k < i; k++)
			if (forward_same(v[k], v[i]))
				r = err_set(e, -EINVAL,
					    "forward: %s is given twice",
					    forward_text(v[i], text));
	}
	return r;
}

/* ---- On record ---- */

int forwards_record(const struct hutch_forward *const *v,
		    const struct hutch_forward *const **field)
{
	const struct hutch_forward **list = NULL;
	struct hutch_forward *f;
	size_t n = 0, len = 0;
	char *text;

	for (; v && v[n]; n++)
		len += strlen(host_of(v[n])) + 1;
	if (n) {
		list = calloc(1,
			      (n + 1) * sizeof(void *) + n * sizeof(*f) + len);
		if (!list)
			return -ENOMEM;
		f = (struct hutch_forward *)(void *)(list + n + 1);
		text = (char *)(f + n);
		for (size_t i = 0; i < n; i++) {
			f[i] = *v[i];
			f[i].size = sizeof(*f);
			f[i].host = text;
			text = stpcpy(text, host_of(v[i])) + 1;
			list[i] = &f[i];
		}
	}
	forwards_free(*field);
	*field = list;
	return 0;
}

void forwards_free(const struct hutch_forward *const *v)
{
	record_drop(v);
}

/* ---- Asking the keeper ---- */

static int no_keeper(struct hutch *h, const char *name, struct err *e)
{
	const struct kcall_vm vm = { h, name, NULL };
	AUTO(record_freep) struct hutch_record *rec = NULL;
	int r = kcall_await_end(&vm, -1, HUTCH_ANSWER_MS, &rec, e);

	return r < 0 ? r : kcall_ended(rec, e);
}

static int call(struct hutch *h, const char *name, struct ctl_out *o,
		char line[CTL_LINE_MAX], struct ctl_msg *ret, struct err *e)
{
	struct vmdir d = VMDIR_INIT;
	int r = vmdir_open(h, name, &d, e);
	auto_fd int fd = -1;

	if (r == 0)
		r = fd = d.run_fd < 0 ? -ENOENT
				      : kcall_send_line(d.run_fd, o, e);
	vmdir_close(&d);
	if (r >= 0)
		r = kcall_answer(fd, HUTCH_ANSWER_MS, line, ret, e);
	else if (r == -ENOENT || r == -ECONNREFUSED)
		return no_keeper(h, name, e);
	return r == -EPIPE ? no_keeper(h, name, e) : r;
}

static void put_place(struct ctl_out *o, const struct hutch_forward *f)
{
	ctl_add(o, "host", host_of(f));
	ctl_add_u64(o, "port", f->port);
}

int hutch_forward_add(struct hutch *h, const char *name,
		      const struct hutch_forward *f, unsigned int *ret_port,
		      struct hutch_err *e)
{
	auto_free char *line = malloc(CTL_LINE_MAX);
	uint64_t port = f->port;
	struct ctl_out o;
	struct ctl_msg m;
	int r = line ? name_check(name, err_of(e))
		     : err_set(err_of(e), -ENOMEM, "no memory");

	if (r == 0)
		r = forward_check(f, err_of(e));
	if (r < 0)
		return r;
	ctl_begin(&o, "forward");
	put_place(&o, f);
	ctl_add_u64(&o, "guest_port", f->guest_port);
	r = call(h, name, &o, line, &m, err_of(e));
	if (r == 0)
		r = ctl_get_u64(&m, "port", &port);
	if (r == 0 && ret_port)
		*ret_port = (unsigned int)port;
	return r;
}

int hutch_forward_remove(struct hutch *h, const char *name,
			 const struct hutch_forward *f, struct hutch_err *e)
{
	struct hutch_forward place = *f;
	auto_free char *line = malloc(CTL_LINE_MAX);
	struct ctl_out o;
	struct ctl_msg m;
	int r = line ? name_check(name, err_of(e))
		     : err_set(err_of(e), -ENOMEM, "no memory");

	place.guest_port = 1;
	if (r == 0)
		r = forward_check(&place, err_of(e));
	if (r == 0 && place.port == 0)
		r = err_set(err_of(e), -EINVAL, "forward: port 0 is none");
	if (r < 0)
		return r;
	ctl_begin(&o, "unforward");
	put_place(&o, f);
	return call(h, name, &o, line, &m, err_of(e));
}
