/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_net_frame.c - whatever a guest sends, frame by frame
 *
 * Ethernet, ARP, neighbours, ICMP, UDP: the input is frames, each with two bytes
 * of length and one that says how much of it is made right: addresses, so that
 * it gets past the first checks. All that is not for the gateway is denied, so
 * nothing leaves the process. Answers must be sound frames (link_kit.c), and no
 * more than one to each.
 */
#include <string.h>

#include "common/rd.h"
#include "host/net/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/link_kit.h"

#define RIGHT_ETH 1u /* the MACs */
#define RIGHT_IP4 2u /* an IPv4 header: addresses, length, checksum */
#define RIGHT_IP6 4u /* an IPv6 header */
#define TO_GUESS  8u /* for somebody outside */

#define FRAME_MAX 60000u

static size_t make(uint8_t *frame, const uint8_t *in, size_t len, uint8_t how)
{
	static const struct net_addr out4 = {
		{ [10] = 0xff, [11] = 0xff, [12] = 93, 184, 216, 34 }
	};
	static const struct net_addr out6 = { { 0x26, 0x06, [15] = 1 } };
	const bool out = (how & TO_GUESS) != 0;

	if ((how & RIGHT_IP4) && len)
		return lk_ip4(frame, in[0], out ? &out4 : &ends_gateway4,
			      in + 1, len - 1);
	if ((how & RIGHT_IP6) && len)
		return lk_ip6(frame, in[0], out ? &out6 : &ends_gateway6,
			      in + 1, len - 1);
	memcpy(frame, in, len);
	if ((how & RIGHT_ETH) && len >= sizeof(struct eth_hdr))
		(void)lk_eth(frame, (uint16_t)(in[12] << 8 | in[13]));
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t frame[LK_FRAME_MAX], answer[LK_FRAME_MAX];
	struct rd rd = rd_init(data, len);
	struct link_kit k;

	lk_init(&k);
	k.how = JUDGE_DENY;
	while (rd.left > 3 && !rd.bad && !k.over) {
		uint8_t how = rd_u8(&rd);
		size_t n = rd_le16(&rd);
		const uint8_t *in;

		n = MIN(MIN(n, rd.left), FRAME_MAX);
		in = rd_bytes(&rd, n);
		bug_on(!in);
		n = make(frame, in, n, how);
		if (n < sizeof(struct eth_hdr))
			continue;
		lk_send(&k, frame, n);
		(void)lk_recv(&k, answer);
		bug_on(lk_recv(&k, answer));
		bug_on(k.over);
		bug_on(k.net.flows.n[NET_UDP] || k.net.flows.n[NET_ICMP]);
	}
	lk_done(&k);
	return 0;
}
