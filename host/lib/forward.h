/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/forward.h - ports of the host that lead to a VM: checked, on record */
#ifndef HUTCH_HOST_LIB_FORWARD_H
#define HUTCH_HOST_LIB_FORWARD_H

#include <stdbool.h>

#include "common/err.h"
#include "host/lib/hutch.h"

struct sockaddr_storage;

/* Where to listen if nobody says. */
#define FORWARD_HOST "127.0.0.1"

#define FORWARD_PORT_MAX 65535u

/* "[ADDRESS]:PORT" and a NUL. */
#define FORWARD_TEXT_MAX (HUTCH_ADDRESS_MAX + 10)

/** forward_check() - 0, or -EINVAL with a sentence */
MUST_CHECK int forward_check(const struct hutch_forward *f, struct err *e);

/** forwards_check() - All of them; NULL for none. Return: 0 or -EINVAL */
MUST_CHECK int forwards_check(const struct hutch_forward *const *v,
			      struct err *e);

/**
 * forward_address() - Where to listen, for bind()
 * @f:		Checked
 *
 * Return: bytes of *@ret that mean something
 */
unsigned int forward_address(const struct hutch_forward *f,
			     struct sockaddr_storage *ret);

/** forward_port() - The port of such an address */
unsigned int forward_port(const struct sockaddr_storage *sa);

/** forward_same() - Whether both are one place of the host */
bool forward_same(const struct hutch_forward *a, const struct hutch_forward *b);

/** forward_text() - "127.0.0.1:80", "[::1]:80", for people. Return: @buf */
const char *forward_text(const struct hutch_forward *f,
			 char buf[FORWARD_TEXT_MAX]);

/**
 * forwards_record() - Put a copy in place of a record's list
 * @v:		Ends in NULL; NULL for none
 *
 * Return: 0 or -ENOMEM
 */
MUST_CHECK int forwards_record(const struct hutch_forward *const *v,
			       const struct hutch_forward *const **field);

/** forwards_free() - A record's list; takes NULL */
void forwards_free(const struct hutch_forward *const *v);

#endif
