/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of kernel_probe share. */
#ifndef HUTCH_TESTS_KERNEL_PROBE_H
#define HUTCH_TESTS_KERNEL_PROBE_H

#include <errno.h>
#include <unistd.h>

/* Answer of a probe that looked at something and found it wrong. */
#define WRONG (-EPROTO)

/* A failed call as a result; a descriptor is closed, and is fine. */
static inline int closed(int fd)
{
	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

/* A failed call as a result. */
static inline int result(long r)
{
	return r < 0 ? -errno : 0;
}

/**
 * in_child() - run a probe in a child, which may then spoil what it has
 * @fn: the probe
 *
 * Return: what @fn returned.
 */
int in_child(int (*fn)(void));

int probe_sockets(void);
int probe_packet_socket(void);
int probe_hash_socket(void);
int probe_tun(void);
int probe_links(void);
int probe_iptables(void);

#endif
