/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest-agent/truststore.h - a file of certificates of an image's, and the VM's
 *
 * The VM's is added between two lines that are ours: in a later start on the same
 * disk another one takes its place.
 */
#ifndef HUTCH_GUEST_AGENT_TRUSTSTORE_H
#define HUTCH_GUEST_AGENT_TRUSTSTORE_H

#include "common/base.h"

/* Bytes of one: ten times Debian's. */
#define TRUSTSTORE_MAX (4u << 20)

/**
 * truststore_read() - What is in there, without what was added
 *
 * Return: the caller's; NULL: there is none that can be read, or no memory
 */
char *truststore_read(const char *path);

/**
 * truststore_add() - Have it hold @ca, and none that was added before
 * @path:	Links are followed
 * @ca:		PEM, ends in a newline
 *
 * It is the old one or the new one, whatever happens.
 *
 * Return: 0, also if there is none; or -errno
 */
MUST_CHECK int truststore_add(const char *path, const char *ca);

#endif
