/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/intercepts.h - the connections of a guest that end here
 *
 * Only for a guest whose first policy has a rule that intercepts: for others
 * OpenSSL is not begun, nothing is read, and there is no CA. The bundle of
 * certificates that are believed is read before the jail.
 */
#ifndef HUTCH_HOST_NET_INTERCEPTS_H
#define HUTCH_HOST_NET_INTERCEPTS_H

#include "host/net/denials.h"
#include "host/net/guard.h"
#include "host/net/handlers.h"
#include "host/net/intercept/carrier.h"
#include "host/net/limits.h"
#include "host/net/net.h"

#define INTERCEPTS_BUNDLE_MAX (8u << 20)

/**
 * struct intercepts - All of them
 * @handlers:	Who connects to handlers
 * @vm:		The VM's name, for them; borrowed
 * @open:	intercepts_open() was called
 * @bundle:	Certificates as PEM, @bundle_len bytes; NULL: there are none, as
 *		@bundle_why says
 */
struct intercepts {
	struct loop *loop;
	struct guard *guard;
	struct denials *denials;
	struct handlers *handlers;
	const char *vm;
	bool open;
	char *bundle;
	size_t bundle_len;
	struct err bundle_why;
	struct ca *ca;
	struct trust *trust;
	struct list all;
	unsigned int n;
};

/**
 * intercepts_open() - Read the bundle, and have OpenSSL open what it wants to
 * @i:		Zeroed but for @vm
 *
 * The bundle is SSL_CERT_FILE's, if that is set, and else the system's.
 */
void intercepts_open(struct intercepts *i);

/** intercepts_done() - End all, wipe keys; zeroed is fine */
void intercepts_done(struct intercepts *i);

/**
 * intercepts_prepare() - Make what a policy needs
 * @ret_ca:	The certificate for the guest, PEM; NULL: no rule intercepts
 *
 * Return: 0 or -errno with a sentence
 */
MUST_CHECK int intercepts_prepare(struct intercepts *i, const struct policy *p,
				  const char **ret_ca, struct err *e);

/** intercepts_fingerprint() - See ca_sha256(); NULL: there is no CA yet */
const char *intercepts_fingerprint(const struct intercepts *i);

/** intercepts_retire() - There is another policy: see icpt_retire() */
void intercepts_retire(struct intercepts *i);

/** intercepts_take() - As struct net_config says of intercept */
MUST_CHECK int intercepts_take(struct intercepts *i, const struct attempt *a,
			       const struct verdict *v, int fd, int up_fd);

#endif
