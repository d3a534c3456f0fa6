/* SPDX-License-Identifier: Apache-2.0 */
/* vmm/net/link.c - see link.h */
#include <errno.h>

#include "vmm/net/link.h"

int net_link_error(int code)
{
	switch (code) {
	case EWOULDBLOCK:
		return -EAGAIN;
	case ENOMEM:
		return -ENOBUFS;
	default:
		return -code;
	}
}

void net_link_free(struct net_link *l)
{
	if (l)
		l->ops->free(l);
}

size_t net_iov_len(const struct iovec *iov, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

int net_iov_cut(struct iovec *iov, int n, size_t skip, size_t len)
{
	int used = 0;

	for (int i = 0; i < n && len > 0; i++) {
		struct iovec v = iov[i];

		if (skip >= v.iov_len) {
			skip -= v.iov_len;
			continue;
		}
		v.iov_base = (uint8_t *)v.iov_base + skip;
		v.iov_len = MIN(v.iov_len - skip, len);
		skip = 0;
		len -= v.iov_len;
		iov[used++] = v;
	}
	return used;
}
