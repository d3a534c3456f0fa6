/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_port.c - requests about TCP ports, both ways; see wire_port.h */
#include <errno.h>
#include <string.h>

#include "common/wire_check.h"
#include "common/wire_port.h"

#define IPV4_LEN 4

int wire_connect_parse(const void *p, size_t len, struct msg_connect *ret,
		       struct err *e)
{
	struct rd rd = rd_init(p, len);
	uint32_t reserved;

	ret->port = rd_le16(&rd);
	reserved = rd_le16(&rd);
	reserved |= rd_le32(&rd);
	if (rd_end(&rd))
		return wire_malformed(e, "CONNECT");
	if (reserved)
		return wire_reserved_set(e, "CONNECT");
	if (ret->port == 0)
		return err_set(e, -EBADMSG, "CONNECT: 0 is no port");
	return 0;
}

void wire_connect_put(struct wr *wr, const struct msg_connect *m)
{
	wire_head_put(wr, WIRE_CONNECT, 8);
	wr_le16(wr, m->port);
	wr_le16(wr, 0);
	wr_le32(wr, 0);
}

static int port_check(const struct msg_port *m, struct err *e)
{
	static const uint8_t zero[sizeof(m->address)];

	if (m->port == 0)
		return err_set(e, -EBADMSG, "PORT: 0 is no port");
	if (m->family != WIRE_IPV4 && m->family != WIRE_IPV6)
		return err_set(e, -EBADMSG, "PORT: unknown family %u",
			       (unsigned int)m->family);
	if (m->family == WIRE_IPV4 &&
	    memcmp(m->address + IPV4_LEN, zero, sizeof(zero) - IPV4_LEN) != 0)
		return wire_reserved_set(e, "PORT");
	if (strlen(m->name) > WIRE_COMM_MAX)
		return wire_too_long(e, "PORT: name", WIRE_COMM_MAX);
	if (m->pid > INT32_MAX || (m->pid == 0 && *m->name))
		return err_set(e, -EBADMSG,
			       "PORT: %u is not the process of a "
			       "name",
			       m->pid);
	return 0;
}

int wire_port_parse(const void *p, size_t len, struct msg_port *ret,
		    struct err *e)
{
	struct rd rd = rd_init(p, len);
	const struct wire_port *w = rd_bytes(&rd, sizeof(*w));

	ret->name = rd_str(&rd);
	if (!w || rd_end(&rd))
		return wire_malformed(e, "PORT");
	ret->port = le16_get(w->port);
	ret->family = (enum wire_family)le16_get(w->family);
	ret->pid = le32_get(w->pid);
	memcpy(ret->address, w->address, sizeof(ret->address));
	return port_check(ret, e);
}

void wire_port_put(struct wr *wr, const struct msg_port *m)
{
	wire_head_put(wr, WIRE_PORT,
		      sizeof(struct wire_port) + wire_str_size(m->name));
	wr_le16(wr, m->port);
	wr_le16(wr, (uint16_t)m->family);
	wr_le32(wr, m->pid);
	wr_bytes(wr, m->address, sizeof(m->address));
	wr_str(wr, m->name);
}
