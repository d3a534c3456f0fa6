/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/clienthello.h - what the first bytes of a connection say
 *
 * Reads a TLS ClientHello (RFC 8446, 4.1.2) over any number of segments and
 * records. Whatever a server might take for TLS and this does not understand is
 * bad, never "not TLS": else it would be judged as if it named no host.
 */
#ifndef HUTCH_HOST_NET_POLICY_CLIENTHELLO_H
#define HUTCH_HOST_NET_POLICY_CLIENTHELLO_H

#include <stdbool.h>
#include <stdint.h>

#include "host/net/policy/name.h"

#define HELLO_MAX 16384u /* bytes of the message; Chrome's have 1,800 */

enum hello {
	HELLO_MORE,    /* not enough yet */
	HELLO_NOT_TLS, /* no TLS at all: judge with sni "" and plain */
	HELLO_DONE,    /* judge with the name in the state, which may be "" */
	HELLO_BAD      /* end it: lengths that lie, names that are none */
};

/**
 * struct hello_state - A connection that is looked at; begin with all zero
 * @name:	Once done: the host name of the SNI, normal; "": there is none
 *		(an IP address as SNI counts as none, RFC 6066). It is the outer
 *		one if there is an encrypted ClientHello too (RFC 9849): those
 *		that are noise (GREASE) cannot be told from a real one, by design
 * @alpn:	There is a list of protocols
 * @alpn_http1:	"http/1.1" is in it
 * @alpn_h2:	"h2" is in it
 *
 * The rest is hello_feed()'s own. Large (16 KiB): for as long as one looks.
 */
struct hello_state {
	char name[NAME_CAP];
	bool alpn;
	bool alpn_http1;
	bool alpn_h2;

	enum hello end;
	uint8_t head[5];
	uint8_t n_head;
	uint16_t rec_left;
	uint32_t len;
	uint32_t want;
	uint8_t msg[HELLO_MAX + 4];
};

/**
 * hello_feed() - Look at the next bytes
 * @bytes:	@n new ones; those after the message are not looked at
 *
 * Return: once it is not HELLO_MORE, the same for ever
 */
enum hello hello_feed(struct hello_state *h, const void *bytes, size_t n);

#endif
