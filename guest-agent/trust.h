/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/trust.h - whom programs in the guest trust, if hosts are
 * intercepted
 *
 * What speaks for such a host has a certificate by a CA of this VM alone. It is
 * added to what the image trusts, in its own files and in one that variables lead
 * to, and takes nothing away: other hosts keep their own certificates.
 */
#ifndef HUTCH_GUEST_AGENT_TRUST_H
#define HUTCH_GUEST_AGENT_TRUST_H

#include <stdbool.h>

#include "common/wire.h"

#define TRUST_CA     "/etc/ssl/hutch-ca.pem"
#define TRUST_BUNDLE "/etc/ssl/hutch-bundle.pem"

/* OpenSSL's hash (X509_NAME_hash) of its name, which is the same in each VM. */
#define TRUST_HASH "39a59049"

/* What the usual libraries go by, in the environment of each process. */
#define TRUST_ENV 5u

/** trust_is_on() - Whether the boot message has a certificate */
bool trust_is_on(const struct msg_boot *m);

/** trust_set_up() - Files and variables. Return: 0, or -errno with a sentence */
MUST_CHECK int trust_set_up(struct msg_boot *m, struct err *e);

/**
 * trust_variables() - Put them in front of @m's environment, which may differ
 * @whole:	The bundle has what the image trusts, too.  In an image that has
 *		none, one with a single CA in it would stand in the way of one
 *		that is installed later: then only what adds to others is set
 *
 * The list is a new one, which lives as long as the message; the old one is left.
 *
 * Return: 0 or -ENOMEM
 */
MUST_CHECK int trust_variables(struct msg_boot *m, bool whole);

/**
 * trust_write() - Those below a folder, and what @m's environment names
 * @root:	"", or what stands before /etc, for a test
 * @m:		Has a certificate
 *
 * Return: 1; 0 if the image has no bundle; or -errno with a sentence
 */
MUST_CHECK int trust_write(const char *root, const struct msg_boot *m,
			   struct err *e);

#endif
