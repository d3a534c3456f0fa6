/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/intercept/tls.h - TLS over buffers: one end of a connection
 *
 * OpenSSL with memory BIOs. At least TLS 1.2, ALPN "http/1.1" only, no tickets,
 * no renegotiation.
 */
#ifndef HUTCH_HOST_NET_INTERCEPT_TLS_H
#define HUTCH_HOST_NET_INTERCEPT_TLS_H

#include <stdbool.h>

#include "common/err.h"
#include "host/net/intercept/ca.h"

#define TLS_BUF_MAX 32768u /* encrypted bytes that wait, each way */

struct tls;
struct trust;

/**
 * trust_new() - Whose certificates upstream are believed
 * @pem:	@len bytes: the system's bundle, read before the jail
 *
 * Return: 0; -EINVAL: no certificate in it; -ENOMEM
 */
MUST_CHECK int trust_new(const char *pem, size_t len, struct trust **ret,
			 struct err *e);
void trust_free(struct trust *t);

/** tls_server() - Towards the guest, as @name. Return: 0, -EIO, -ENOMEM */
MUST_CHECK int tls_server(struct ca *ca, const char *name, int64_t now_s,
			  struct tls **ret, struct err *e);

/** tls_client() - Towards upstream, which must show that it is @name */
MUST_CHECK int tls_client(struct trust *trust, const char *name,
			  struct tls **ret, struct err *e);

void tls_free(struct tls *t);

/** tls_room() - How many encrypted bytes may be fed now */
size_t tls_room(const struct tls *t);

/** tls_feed() - Encrypted bytes came in; @n <= tls_room(). Return: 0, -ENOMEM */
MUST_CHECK int tls_feed(struct tls *t, const void *bytes, size_t n);

/**
 * tls_read() - Take plain bytes
 *
 * Return: how many; -EAGAIN: none now; 0: the other end has closed it;
 *         -EPROTO: see tls_why()
 */
MUST_CHECK ptrdiff_t tls_read(struct tls *t, void *buf, size_t cap);

/** tls_write() - Give plain bytes. Return: how many; -EAGAIN; -EPROTO */
MUST_CHECK ptrdiff_t tls_write(struct tls *t, const void *buf, size_t n);

/** tls_is_up() - Whether the handshake is done */
bool tls_is_up(const struct tls *t);

/** tls_close() - Say that no more will be written */
void tls_close(struct tls *t);

/** tls_out() - Encrypted bytes that are to be sent. Return: how many */
size_t tls_out(const struct tls *t, const void **ret);

/** tls_sent() - The first @n of them were */
void tls_sent(struct tls *t, size_t n);

/** tls_why() - What went wrong, with nothing secret; NULL: nothing */
const char *tls_why(const struct tls *t);

#endif
