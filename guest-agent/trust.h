/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/trust.h - whom programs in the guest trust, if hosts are
 * intercepted
 *
 * What speaks for such a host has a certificate by a CA of this VM alone. It is
 * added to what the image trusts, and takes nothing away: other hosts keep their
 * own certificates.
 */
#ifndef HUTCH_GUEST_AGENT_TRUST_H
#define HUTCH_GUEST_AGENT_TRUST_H

#include <stdbool.h>

#include "common/wire.h"

#define TRUST_CA     "/etc/ssl/hutch-ca.pem"
#define TRUST_BUNDLE "/etc/ssl/hutch-bundle.pem"

/* Bytes of an image's own bundle: ten times Debian's. */
#define TRUST_BUNDLE_MAX (4u << 20)

/* What the usual libraries go by, in the environment of each process. */
#define TRUST_ENV 5u

/**
 * trust_env() - Variable @i, below TRUST_ENV; NULL: it is not to be set
 *
 * In an image that has no bundle, a bundle with one CA in it would stand in the
 * way of one that is installed later: only what adds to others is set.
 */
const char *trust_env(const struct msg_boot *m, unsigned int i);

/** trust_is_on() - Whether the boot message has a certificate */
bool trust_is_on(const struct msg_boot *m);

/** trust_set_up() - Write the files. Return: 0, or -errno with a sentence */
MUST_CHECK int trust_set_up(const char *ca, struct err *e);

/**
 * trust_write() - Those below a folder
 * @root:	"", or what stands before /etc, for a test
 *
 * Return: 1; 0 if the image has no bundle; or -errno with a sentence
 */
MUST_CHECK int trust_write(const char *root, const char *ca, struct err *e);

#endif
