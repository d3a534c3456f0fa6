/* SPDX-License-Identifier: Apache-2.0 */
/* common/wire_net.c - see wire_net.h */
#include <errno.h>
#include <string.h>

#include "common/wire_check.h"
#include "common/wire_net.h"

static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

unsigned int wire_ip_bits(const struct wire_ip *ip)
{
	return ip->family == 4 ? 32 : 128;
}

bool wire_domain_ok(const char *s)
{
	return *s && strlen(s) <= WIRE_NET_DOMAIN_MAX &&
	       !s[strspn(s, name_chars)];
}

bool wire_net_name_ok(const char *s)
{
	return *s && strlen(s) <= WIRE_NET_NAME_MAX &&
	       !s[strspn(s, name_chars)] && !base_is_dots(s);
}

static bool ip_ok(const struct wire_ip *ip)
{
	static const uint8_t none[12];

	if (ip->family != 4 && ip->family != 6)
		return false;
	if (ip->family == 4 && memcmp(ip->addr + 4, none, sizeof(none)) != 0)
		return false;
	return ip->prefix <= wire_ip_bits(ip);
}

static bool ip_whole(const struct wire_ip *ip)
{
	return ip_ok(ip) && ip->prefix == wire_ip_bits(ip);
}

static int check(const struct msg_net *m, struct err *e)
{
	if (m->mtu && (m->mtu < WIRE_NET_MTU_MIN || m->mtu > WIRE_NET_MTU_MAX))
		return err_set(e, -EBADMSG, "BOOT: an MTU of %u", m->mtu);
	if (!wire_net_name_ok(m->name))
		return err_set(e, -EBADMSG,
			       "BOOT: no interface can be called that");
	for (unsigned int i = 0; i < m->n_addrs; i++)
		if (!ip_ok(&m->addr[i]))
			return err_set(e, -EBADMSG, "BOOT: address %u is none",
				       i);
	for (unsigned int i = 0; i < m->n_routes; i++)
		if (!ip_ok(&m->route[i].to) || !ip_whole(&m->route[i].via) ||
		    m->route[i].to.family != m->route[i].via.family)
			return err_set(e, -EBADMSG, "BOOT: route %u is none",
				       i);
	for (unsigned int i = 0; i < m->n_dns; i++)
		if (!ip_whole(&m->dns[i]))
			return err_set(e, -EBADMSG,
				       "BOOT: server of names %u is none", i);
	for (unsigned int i = 0; i < m->n_search; i++)
		if (!wire_domain_ok(m->search[i]))
			return err_set(e, -EBADMSG, "BOOT: domain %u is none",
				       i);
	if (!wire_net_ca_ok(m->ca))
		return err_set(e, -EBADMSG, "BOOT: the certificate is none");
	return 0;
}

static void read_ip(struct rd *rd, struct wire_ip *ip)
{
	const void *p = rd_bytes(rd, sizeof(*ip));

	if (p)
		memcpy(ip, p, sizeof(*ip));
}

int wire_net_read(struct rd *rd, struct msg_net *ret, struct err *e)
{
	const struct wire_net *w = rd_bytes(rd, sizeof(*w));

	if (!w)
		return wire_malformed(e, "BOOT");
	*ret = (struct msg_net){ .mtu = le32_get(w->mtu),
				 .n_addrs = le16_get(w->n_addrs),
				 .n_routes = le16_get(w->n_routes),
				 .n_dns = le16_get(w->n_dns),
				 .n_search = le16_get(w->n_search) };
	if (ret->n_addrs > WIRE_NET_ADDRS_MAX ||
	    ret->n_routes > WIRE_NET_ROUTES_MAX ||
	    ret->n_dns > WIRE_NET_DNS_MAX ||
	    ret->n_search > WIRE_NET_SEARCH_MAX)
		return err_set(e, -EBADMSG,
			       "BOOT: more addresses, routes, servers or "
			       "domains than at most %u, %u, %u and %u",
			       WIRE_NET_ADDRS_MAX, WIRE_NET_ROUTES_MAX,
			       WIRE_NET_DNS_MAX, WIRE_NET_SEARCH_MAX);
	ret->name = rd_str(rd);
	for (unsigned int i = 0; i < ret->n_addrs; i++)
		read_ip(rd, &ret->addr[i]);
	for (unsigned int i = 0; i < ret->n_routes; i++) {
		read_ip(rd, &ret->route[i].to);
		read_ip(rd, &ret->route[i].via);
	}
	for (unsigned int i = 0; i < ret->n_dns; i++)
		read_ip(rd, &ret->dns[i]);
	for (unsigned int i = 0; i < ret->n_search; i++)
		ret->search[i] = rd_str(rd);
	ret->ca = rd_str(rd);
	return rd->bad ? wire_malformed(e, "BOOT") : check(ret, e);
}

bool wire_net_ca_ok(const char *s)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=- \n";
	static const char begin[] = "-----BEGIN CERTIFICATE-----\n";

	if (!*s)
		return true;
	return strlen(s) <= WIRE_NET_CA_MAX && !s[strspn(s, ok)] &&
	       strncmp(s, begin, sizeof(begin) - 1) == 0;
}

size_t wire_net_size(const struct msg_net *m)
{
	size_t size = sizeof(struct wire_net) + wire_str_size(m->name) +
		      sizeof(struct wire_ip) *
			      (m->n_addrs + 2u * m->n_routes + m->n_dns);

	for (unsigned int i = 0; i < m->n_search; i++)
		size += wire_str_size(m->search[i]);
	return size + wire_str_size(m->ca ? m->ca : "");
}

void wire_net_put(struct wr *wr, const struct msg_net *m)
{
	wr_le32(wr, m->mtu);
	wr_le16(wr, m->n_addrs);
	wr_le16(wr, m->n_routes);
	wr_le16(wr, m->n_dns);
	wr_le16(wr, m->n_search);
	wr_str(wr, m->name);
	wr_bytes(wr, m->addr, m->n_addrs * sizeof(m->addr[0]));
	wr_bytes(wr, m->route, m->n_routes * sizeof(m->route[0]));
	wr_bytes(wr, m->dns, m->n_dns * sizeof(m->dns[0]));
	for (unsigned int i = 0; i < m->n_search; i++)
		wr_str(wr, m->search[i]);
	wr_str(wr, m->ca ? m->ca : "");
}
