/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/lib/icpt_kit.h - a session between a guest and a server, in memory
 *
 * The guest trusts the VM's authority, the session another, whose server it
 * finds upstream.
 */
#ifndef HUTCH_TESTS_ICPT_KIT_H
#define HUTCH_TESTS_ICPT_KIT_H

#include "host/net/intercept/icpt.h"

#define ICPT_KIT_CAP 400000u

/** struct icpt_kit - Both ends; what each has got so far, NUL behind it */
struct icpt_kit {
	struct policy *p;
	struct pins *pins;
	struct ca *vm_ca;
	struct ca *real_ca;
	struct trust *vm_trust;
	struct trust *real_trust;
	struct icpt *s;
	struct tls *guest;
	struct tls *server;
	char *guest_got;
	char *server_got;
	size_t guest_n;
	size_t server_n;
};

/**
 * icpt_kit_new() - A session for a.org, by rule 0
 * @rules:	With commas between them
 * @tls:	Of both sides, port 443; else port 80
 * @server:	The name in the server's certificate; NULL: upstream is no TLS, as
 *		it is where the rule has a handler
 */
struct icpt_kit *icpt_kit_new(const char *rules, bool tls, const char *server);

void icpt_kit_free(struct icpt_kit *k);

/** icpt_kit_guest() - The guest says @len bytes; all that can move then does */
void icpt_kit_guest(struct icpt_kit *k, const char *text, size_t len);

/** icpt_kit_server() - The same of the server */
void icpt_kit_server(struct icpt_kit *k, const char *text, size_t len);

/** icpt_kit_eof() - A side says no more, on the wire */
void icpt_kit_eof(struct icpt_kit *k, enum icpt_side side);

/** icpt_kit_clear() - Forget what both have got */
void icpt_kit_clear(struct icpt_kit *k);

#endif
