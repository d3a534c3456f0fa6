/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/proto.h - headers as they lie in frames, and their numbers
 *
 * All fields have alignment 1. Spec: RFC 826 (ARP), 791
 * (IPv4), 8200 (IPv6), 4861 (neighbours), 792 and 4443 (ICMP), 768 (UDP), 9293
 * (TCP).
 */
#ifndef HUTCH_HOST_NET_PROTO_H
#define HUTCH_HOST_NET_PROTO_H

#include "common/vnet.h"
#include "host/net/be.h"

#define ETH_ADDR 6u

struct eth_hdr {
	uint8_t dst[ETH_ADDR];
	uint8_t src[ETH_ADDR];
	be16 type;
};
_Static_assert(sizeof(struct eth_hdr) == 14, "Ethernet II");

#define ETH_IP4 0x0800u
#define ETH_ARP 0x0806u
#define ETH_IP6 0x86ddu

struct arp {
	be16 htype;
	be16 ptype;
	uint8_t hlen;
	uint8_t plen;
	be16 op;
	uint8_t from_mac[ETH_ADDR];
	uint8_t from_ip[4];
	uint8_t to_mac[ETH_ADDR];
	uint8_t to_ip[4];
};
_Static_assert(sizeof(struct arp) == 28, "RFC 826");

#define ARP_ETHERNET 1u
#define ARP_REQUEST  1u
#define ARP_REPLY    2u

struct ip4_hdr {
	uint8_t ver_ihl;
	uint8_t tos;
	be16 len; /* of all of it */
	be16 id;
	be16 frag; /* flags, and the offset in eights */
	uint8_t ttl;
	uint8_t proto;
	be16 csum;
	uint8_t src[4];
	uint8_t dst[4];
};
_Static_assert(sizeof(struct ip4_hdr) == 20, "RFC 791");

#define IP4_DF       0x4000u
#define IP4_MF       0x2000u
#define IP4_OFF_MASK 0x1fffu

struct ip6_hdr {
	be32 ver_flow;
	be16 len; /* of what follows */
	uint8_t next;
	uint8_t hops;
	uint8_t src[16];
	uint8_t dst[16];
};
_Static_assert(sizeof(struct ip6_hdr) == 40, "RFC 8200");

/** struct ip6_ext - An extension header: 8 bytes and @len times 8 more */
struct ip6_ext {
	uint8_t next;
	uint8_t len;
	uint8_t routing_type;
	uint8_t segments_left; /* of a routing header */
	uint8_t more[4];
};
_Static_assert(sizeof(struct ip6_ext) == 8, "RFC 8200");

struct ip6_frag {
	uint8_t next;
	uint8_t reserved;
	be16 off; /* in bytes, its low three bits flags */
	be32 id;
};
_Static_assert(sizeof(struct ip6_frag) == 8, "RFC 8200");

#define IP6_MF 1u

/* Protocol numbers; the first four are IPv6's extension headers. */
#define IP_HOPOPTS  0u
#define IP_ROUTING  43u
#define IP_FRAGMENT 44u
#define IP_DSTOPTS  60u
#define IP_ICMP     1u
#define IP_TCP      6u
#define IP_UDP      17u
#define IP_ICMP6    58u

struct udp_hdr {
	be16 sport;
	be16 dport;
	be16 len;
	be16 csum;
};
_Static_assert(sizeof(struct udp_hdr) == 8, "RFC 768");

/** struct icmp_hdr - ICMP and ICMPv6; @a and @b as the type has it */
struct icmp_hdr {
	uint8_t type;
	uint8_t code;
	be16 csum;
	be16 a; /* echo: identifier */
	be16 b; /* echo: sequence; too big: MTU (IPv4) */
};
_Static_assert(sizeof(struct icmp_hdr) == 8, "RFC 792");

#define ICMP_ECHO_REPLY 0u
#define ICMP_UNREACH    3u
#define ICMP_ECHO       8u

#define ICMP_NET_UNREACH   0u
#define ICMP_HOST_UNREACH  1u
#define ICMP_PROTO_UNREACH 2u
#define ICMP_PORT_UNREACH  3u
#define ICMP_ADMIN_PROHIB  13u
#define ICMP6_UNREACH      1u
#define ICMP6_ECHO         128u
#define ICMP6_ECHO_REPLY   129u
#define ICMP6_NS           135u
#define ICMP6_NA           136u
#define ICMP6_NO_ROUTE     0u
#define ICMP6_ADMIN_PROHIB 1u
#define ICMP6_ADDR_UNREACH 3u
#define ICMP6_PORT_UNREACH 4u

/** struct nd - A neighbour solicitation or advertisement; options follow */
struct nd {
	uint8_t type;
	uint8_t code;
	be16 csum;
	be32 flags;
	uint8_t target[16];
};
_Static_assert(sizeof(struct nd) == 24, "RFC 4861, 4.3");

#define ND_ROUTER     0x80000000u
#define ND_SOLICITED  0x40000000u
#define ND_OVERRIDE   0x20000000u
#define ND_OPT_SOURCE 1u
#define ND_OPT_TARGET 2u
#define ND_HOPS       255u

struct tcp_hdr {
	be16 sport;
	be16 dport;
	be32 seq;
	be32 ack;
	uint8_t off; /* high nibble: header length in words */
	uint8_t flags;
	be16 window;
	be16 csum;
	be16 urgent;
};
_Static_assert(sizeof(struct tcp_hdr) == 20, "RFC 9293");

#define TCP_FIN 0x01u
#define TCP_SYN 0x02u
#define TCP_RST 0x04u
#define TCP_PSH 0x08u
#define TCP_ACK 0x10u

#define TCP_OPT_END    0u
#define TCP_OPT_NOP    1u
#define TCP_OPT_MSS    2u
#define TCP_OPT_WSCALE 3u

#endif
