/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/ports.c - what listens in a VM: hutch_ports() */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "common/wire_port.h"
#include "host/lib/internal.h"
#include "host/lib/ports.h"
#include "host/lib/procs.h"
#include "host/lib/session.h"

/* As many as an agent tells of. */
#define PORTS_MAX 4096u

_Static_assert(HUTCH_ADDRESS_MAX + 1 >= INET6_ADDRSTRLEN, "any address fits");

/**
 * struct port - What hutch_ports() hands out, and what is behind it
 * @pub:	First, so that one pointer is the other
 */
struct port {
	struct hutch_port pub;
	char process[WIRE_COMM_MAX + 1];
};

void hutch_ports_free(struct hutch_port **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(container_of(list[i], struct port, pub));
	free(list);
}

int ports_parse(const struct wire_frame *f, struct hutch_port **ret,
		struct err *e)
{
	struct msg_port m;
	struct port *p;
	int r = wire_port_parse(f->data, f->len, &m, e);

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(e, -ENOMEM, "no memory");
	p->pub.port = m.port;
	p->pub.pid = (int)m.pid;
	p->pub.process = p->process;
	memcpy(p->process, m.name, strlen(m.name) + 1);
	bug_on(!inet_ntop(m.family == WIRE_IPV4 ? AF_INET : AF_INET6, m.address,
			  p->pub.address, sizeof(p->pub.address)));
	*ret = &p->pub;
	return 0;
}

/* Into @list, which has room for PORTS_MAX and a NULL. Return: how many */
static int collect(struct session *s, struct hutch_port **list, struct err *e)
{
	const uint64_t end = deadline_in(HUTCH_GUEST_MS);
	struct wire_frame f;
	unsigned int n = 0;
	int r;

	while ((r = session_await(s, end, &f, e)) == 0) {
		if (f.type == WIRE_DONE)
			return (int)n;
		if (f.type == WIRE_ERROR)
			return procs_error(&f, e);
		if (f.type != WIRE_PORT || n == PORTS_MAX)
			return err_set(e, -EBADMSG,
				       "%s is not what was asked for",
				       wire_type_name(f.type));
		r = ports_parse(&f, &list[n], e);
		if (r < 0)
			break;
		n++;
	}
	return r;
}

int hutch_ports(struct hutch *h, const char *name, struct hutch_port ***ret,
		struct hutch_err *e)
{
	uint8_t buf[WIRE_HDR_LEN];
	struct wr wr = wr_init(buf, sizeof(buf));
	struct hutch_port **list;
	struct session s;
	int r = name_check(name, err_of(e));

	if (r < 0)
		return r;
	list = calloc(PORTS_MAX + 1, sizeof(struct hutch_port *));
	if (!list)
		return err_set(err_of(e), -ENOMEM, "no memory");
	wire_empty_put(&wr, WIRE_PORTS);
	session_init(&s, h, name);
	r = session_open(&s, err_of(e));
	if (r == 0)
		r = session_send(&s, buf, wr.len, err_of(e));
	if (r == 0)
		r = collect(&s, list, err_of(e));
	session_close(&s);
	if (r < 0)
		hutch_ports_free(list);
	else
		*ret = list;
	return r;
}
