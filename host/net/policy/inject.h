/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/policy/inject.h - what an interception does with a request
 *
 * Values of headers are credentials: they are never in a sentence, an event or
 * a rule's text, and are wiped when the policy goes.
 */
#ifndef HUTCH_HOST_NET_POLICY_INJECT_H
#define HUTCH_HOST_NET_POLICY_INJECT_H

#include <stdbool.h>

#include "host/net/policy/policy.h"

#define INJECT_MAX         64u   /* of a rule */
#define INJECT_HEADERS_MAX 32u   /* of each kind */
#define INJECT_VALUE_MAX   8192u /* bytes */
#define INJECT_NAME_MAX    64u
#define INJECT_PATH_MAX    1024u

/** struct inject_header - A header as it will be sent */
struct inject_header {
	char *name;
	char *value;
};

/**
 * struct inject - For requests of a method, below a path
 * @method:	NULL: any
 * @path:	Begins with a slash; "/" is all
 * @refuse:	They are not passed on
 * @plain:	Headers may be set where there is no TLS
 * @set:	Instead of any of that name
 * @add:	Besides
 * @remove:	Names
 */
struct inject {
	char *method;
	char *path;
	bool refuse;
	bool plain;
	size_t n_set;
	size_t n_add;
	size_t n_remove;
	struct inject_header *set;
	struct inject_header *add;
	char **remove;
};

/** struct injects - All of a rule, in order */
struct injects {
	size_t n;
	struct inject *v;
};

/** injects_parse() - Read a rule's "inject"; @ret is for injects_done() */
MUST_CHECK int injects_parse(const struct json_t *list, struct injects *ret,
			     struct err *e);

/** injects_done() - Free and wipe */
void injects_done(struct injects *i);

/**
 * policy_inject() - What a rule that intercepts does with a request
 * @rule:	Of the verdict
 * @method:	"GET"
 * @path:	As the request has it, with or without a query
 * @ret:	The first that matches; NULL: none, the request is left as it is
 *
 * A path is compared as it is and as a server might read it: percent signs
 * resolved, once and over again, backslashes as slashes, doubled slashes as one,
 * without what follows a semicolon in a segment. "/" is all, "*" too.
 *
 * Return: 0; -ENOMEM; -EINVAL: it is below a path in one reading and not in
 *         another, or has dots as a segment or what nobody can list the readings
 *         of; it must be refused
 */
MUST_CHECK int policy_inject(const struct policy *p, int rule,
			     const char *method, const char *path,
			     const struct inject **ret);

#endif
