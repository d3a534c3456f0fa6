/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/sock.h - sockets of the host, on behalf of the guest */
#ifndef HUTCH_HOST_NET_SOCK_H
#define HUTCH_HOST_NET_SOCK_H

#include "host/net/flow.h"

/**
 * sock_connect() - A non-blocking socket that is being connected
 * @key:	To whom; NET_ICMP makes a ping socket
 * @small:	With buffers of NET_SMALL_BUFFER that never grow
 *
 * TCP is asked to notice a peer that has gone (keep-alive); datagrams beyond
 * the path's MTU are sent in pieces, as the guest cannot know that MTU.
 *
 * Return: the descriptor, of TCP maybe still connecting; or -errno
 */
MUST_CHECK int sock_connect(const struct flow_key *key, bool small);

/** sock_is_own() - Whether @fd, connected to @peer, leads to the host itself */
bool sock_is_own(int fd, const struct net_addr *peer);

/** sock_error() - What connect(2) came to, or what befell it: 0 or -errno */
int sock_error(int fd);

/** sock_abort() - Make close() reset the connection instead of ending it */
void sock_abort(int fd);

/** sock_has_peek_off() - Whether TCP sockets have SO_PEEK_OFF, for both IPs */
bool sock_has_peek_off(void);

#endif
