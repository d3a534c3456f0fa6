/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net_ip.c - IP packets, their pieces, and the header of TCP
 *
 * The input is packets, each with two bytes of length in front; the version is
 * that of its first byte. What is taken apart must lie within what came, and
 * what pieces make must be no longer than a datagram can be.
 */
#include <errno.h>
#include <string.h>

#include "common/rd.h"
#include "host/net/frag.h"
#include "host/net/proto.h"
#include "host/net/tcp.h"
#include "tests/fuzz/fuzz.h"

static void check_within(const struct packet *p, const uint8_t *buf, size_t len)
{
	bug_on(p->l4 < buf || p->l4 > buf + len);
	bug_on(p->l4_len > (size_t)(buf + len - p->l4));
	bug_on(p->frag_off % 8);
}

static void tcp(const struct packet *p)
{
	struct tcp_seg s;

	if (tcp_seg_parse(p, &s) < 0)
		return;
	bug_on(s.data < p->l4 || s.len > p->l4_len);
	bug_on(s.data + s.len != p->l4 + p->l4_len);
	bug_on(s.ws > 14);
}

static void one(struct frags *fs, const uint8_t *buf, size_t len, uint64_t now)
{
	struct packet p;
	int r = len && buf[0] >> 4 == 6 ? packet_ip6(buf, len, &p)
					: packet_ip4(buf, len, &p);

	if (r < 0)
		return;
	check_within(&p, buf, len);
	if (p.frag) {
		if (frags_add(fs, &p, now) <= 0)
			return;
		bug_on(p.frag || p.l4_len > FRAG_BYTES_MAX || !p.l4_len);
	}
	tcp(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd rd = rd_init(data, len);
	struct frags fs = { 0 };
	uint64_t now = 1;

	while (rd.left > 2 && !rd.bad) {
		size_t n = rd_le16(&rd);
		uint8_t *copy;

		n = MIN(n, rd.left);
		copy = malloc(n ? n : 1);
		bug_on(!copy);
		if (n)
			memcpy(copy, rd_bytes(&rd, n), n);
		now += 1000000000;
		one(&fs, copy, n, now);
		free(copy);
	}
	frags_done(&fs);
	return 0;
}
