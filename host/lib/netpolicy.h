/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/netpolicy.h - a policy on its way to hutch-net
 *
 * The record keeps a policy as it was written. What hutch-net gets has more: the
 * value of each "${env:NAME}" in what a rule injects, and where the host asks for
 * names. It goes there in memory only, by way of the keeper, as one message. So a
 * header whose name says that it carries a credential must be such a reference.
 */
#ifndef HUTCH_HOST_LIB_NETPOLICY_H
#define HUTCH_HOST_LIB_NETPOLICY_H

#include <stddef.h>

#include "common/err.h"

#define NETPOLICY_MAX        65536u /* bytes of a message on the control socket */
#define NETPOLICY_ANSWER_MAX (1u << 18) /* and of what it says itself */
#define NETPOLICY_RESOLVERS  3          /* as many as the C library uses */

/* Where the host asks for names. */
#define NETPOLICY_RESOLV_CONF "/etc/resolv.conf"

/* What "internet" stands for. */
#define NETPOLICY_INTERNET "{\"rules\":[{\"allow\":\"internet\"}]}"

/**
 * netpolicy_message() - The first message for hutch-net
 * @policy:	JSON as in the record
 * @mtu:	Of the guest's interface, bytes
 * @ret:	Holds secrets: to be freed by netpolicy_free()
 *
 * Return: its length; -EINVAL: no JSON, a credential as it is, or a variable that
 *         is not there or empty; -E2BIG; -ENOMEM. No credential is in the sentence
 */
MUST_CHECK int netpolicy_message(const char *policy, unsigned int mtu,
				 char **ret, struct err *e);

/**
 * netpolicy_change() - The same for one that runs; @all: old connections too
 *
 * With the host's resolvers of now: a laptop may be in another network since.
 */
MUST_CHECK int netpolicy_change(const char *policy, int all, char **ret,
				struct err *e);

/**
 * netpolicy_resolvers_now() - The message that tells of the host's resolvers
 *
 * Return: for free(); NULL: no memory
 */
char *netpolicy_resolvers_now(void);

/**
 * netpolicy_handlers() - Paths of the handlers that its rules have
 * @policy:	JSON as in the record; NULL: none
 *
 * hutch-net has read it too, and takes no other: here what is no path of a handler
 * is passed over.
 *
 * Return: a list of strings, for json_decref(); NULL: no memory
 */
struct json_t *netpolicy_handlers(const char *policy);

/** netpolicy_free() - Overwrites it first. NULL is fine */
void netpolicy_free(char *message);

/**
 * netpolicy_resolvers() - What resolv.conf(5) says, for a test
 * @text:	Of the file
 * @ret:	Addresses, terminated
 *
 * Return: how many
 */
int netpolicy_resolvers(const char *text, char ret[NETPOLICY_RESOLVERS][64]);

#endif
