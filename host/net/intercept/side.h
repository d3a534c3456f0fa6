/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercept/side.h - one side of a session: TLS or not, two buffers */
#ifndef HUTCH_HOST_NET_INTERCEPT_SIDE_H
#define HUTCH_HOST_NET_INTERCEPT_SIDE_H

#include <stdbool.h>

#include "common/ring.h"
#include "host/net/intercept/tls.h"

/**
 * struct side - Plain bytes on their way in and out
 * @tls:	NULL: the bytes of the wire are the plain ones
 * @eof:	No more comes in than what is there
 * @shut:	No more is put into @out
 * @failed:	It is of no more use; @why says why
 */
struct side {
	struct tls *tls;
	struct ring in;
	struct ring out;
	bool eof;
	bool shut;
	bool failed;
	const char *why;
};

void side_init(struct side *s, size_t in_max, size_t out_max);
void side_done(struct side *s);

/** side_room() - How many bytes of the wire may be fed */
size_t side_room(const struct side *s);

/** side_feed() - They came */
void side_feed(struct side *s, const void *bytes, size_t n);

/** side_fill() - Decrypt as much as @in takes. Return: whether there was any */
bool side_fill(struct side *s);

/** side_flush() - Encrypt as much as can be. Return: whether there was any */
bool side_flush(struct side *s);

/** side_put() - Append to @out. Return: false: no room or no memory; failed */
bool side_put(struct side *s, const void *bytes, size_t n);

/** side_peek() - The first piece of @in. Return: its length */
size_t side_peek(const struct side *s, const char **ret);

/** side_out() - Bytes for the wire. Return: how many */
size_t side_out(const struct side *s, const void **ret);

/** side_sent() - The first @n of them went */
void side_sent(struct side *s, size_t n);

/** side_is_drained() - Whether all that was put is on the wire */
bool side_is_drained(const struct side *s);

#endif
