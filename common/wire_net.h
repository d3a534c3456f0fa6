/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common/wire_net.h - a guest's network, as the boot message has it
 *
 * With WIRE_BOOT_NET in its flags it stands behind the mounts: struct wire_net,
 * string name, then addresses, routes (two struct wire_ip each: where to, and
 * by which gateway), servers of names, and strings: domains to search, and a
 * certificate.
 */
#ifndef HUTCH_COMMON_WIRE_NET_H
#define HUTCH_COMMON_WIRE_NET_H

#include <stdbool.h>

#include "common/err.h"
#include "common/le.h"
#include "common/rd.h"
#include "common/wr.h"

#define WIRE_NET_NAME_MAX   15u /* of an interface: IFNAMSIZ less one */
#define WIRE_NET_MTU_MIN    68u
#define WIRE_NET_MTU_MAX    65535u
#define WIRE_NET_ADDRS_MAX  8u
#define WIRE_NET_ROUTES_MAX 16u
#define WIRE_NET_DNS_MAX    3u /* resolv.conf(5): MAXNS */
#define WIRE_NET_SEARCH_MAX 6u
#define WIRE_NET_DOMAIN_MAX 253u
#define WIRE_NET_CA_MAX     8192u /* bytes of a certificate, in PEM */

/**
 * struct wire_ip - An address, with the length of its network's part
 * @family:	4 or 6
 * @prefix:	Up to 32 or 128
 * @addr:	Of IPv4 the first four bytes, and the others are 0
 */
struct wire_ip {
	uint8_t family;
	uint8_t prefix;
	uint8_t addr[16];
};
_Static_assert(sizeof(struct wire_ip) == 18, "wire layout is ABI");

/** struct wire_net - Fixed part */
struct wire_net {
	le32 mtu;
	le16 n_addrs;
	le16 n_routes;
	le16 n_dns;
	le16 n_search;
};
_Static_assert(sizeof(struct wire_net) == 12, "wire layout is ABI");

/** struct wire_route - Addresses @to, by way of @via, which has a whole prefix */
struct wire_route {
	struct wire_ip to;
	struct wire_ip via;
};

/**
 * struct msg_net - An interface and what goes by it
 * @mtu:	0: as the device says
 * @name:	Of the interface
 * @dns:	With whole prefixes
 * @search:	Letters, digits, '.', '-' and '_'
 * @ca:		PEM of who signs for hosts that are intercepted; "" for nobody
 */
struct msg_net {
	uint32_t mtu;
	uint16_t n_addrs;
	uint16_t n_routes;
	uint16_t n_dns;
	uint16_t n_search;
	const char *name;
	struct wire_ip addr[WIRE_NET_ADDRS_MAX];
	struct wire_route route[WIRE_NET_ROUTES_MAX];
	struct wire_ip dns[WIRE_NET_DNS_MAX];
	const char *search[WIRE_NET_SEARCH_MAX];
	const char *ca;
};

/** wire_ip_bits() - A whole prefix: 32 or 128 */
unsigned int wire_ip_bits(const struct wire_ip *ip);

/** wire_domain_ok() - Whether it can stand in resolv.conf */
bool wire_domain_ok(const char *s);

/** wire_net_name_ok() - Whether an interface can be called that */
bool wire_net_name_ok(const char *s);

/**
 * wire_net_read() - What stands in @rd; the caller sees to its end
 *
 * Strings point into what @rd reads.
 *
 * Return: 0 or -EBADMSG with a sentence
 */
MUST_CHECK int wire_net_read(struct rd *rd, struct msg_net *ret, struct err *e);

/** wire_net_ca_ok() - Whether it could be PEM: base64 and its lines; or "" */
bool wire_net_ca_ok(const char *s);

size_t wire_net_size(const struct msg_net *m);
void wire_net_put(struct wr *wr, const struct msg_net *m);

#endif
