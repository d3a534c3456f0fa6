/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/lib/netplan.h - what "--net" says of a VM's network
 *
 * The words stand in the record as they were given, so that a VM goes on with
 * them; starter and keeper read them with the same function.
 */
#ifndef HUTCH_HOST_LIB_NETPLAN_H
#define HUTCH_HOST_LIB_NETPLAN_H

#include <stdbool.h>

#include "common/wire_net.h"

/* Bytes of the words, with their NUL. */
#define NETPLAN_TEXT_MAX 1024u

/* Every VM's own, and the same in all of them, where nobody else can see. */
#define NETPLAN_MAC         "02:68:75:74:63:02"
#define NETPLAN_MAC_LEN     sizeof(NETPLAN_MAC)
#define NETPLAN_GATEWAY_MAC "02:68:75:74:63:01"
#define NETPLAN_IPV4        "198.18.0.2"
#define NETPLAN_GATEWAY4    "198.18.0.1"
#define NETPLAN_IPV6        "fd00:6875:7463:6800::2"
#define NETPLAN_GATEWAY6    "fd00:6875:7463:6800::1"
#define NETPLAN_MTU         65520u /* where no frame leaves the machine */

/** enum netplan_mode - What the guest's frames go to */
enum netplan_mode {
	NETPLAN_NONE, /* there is a loopback interface and no other */
	NETPLAN_TAP,
	NETPLAN_PASST,
	NETPLAN_POLICY /* hutch-net, which asks a policy */
};

/**
 * struct netplan - The words, understood
 * @tap:	Name of the interface, with NETPLAN_TAP
 * @internet:	With NETPLAN_POLICY: no policy of its own is asked for
 * @rate:	As hutch-vmm takes it; "" for none
 * @mac:	Of the guest's interface; "": none was asked for
 * @net:	For the boot message; strings are in @text
 */
struct netplan {
	enum netplan_mode mode;
	bool internet;
	char tap[WIRE_NET_NAME_MAX + 1];
	char rate[64];
	char mac[NETPLAN_MAC_LEN];
	struct msg_net net;
	char text[NETPLAN_TEXT_MAX];
};

/**
 * netplan_read() - "none", "internet[,...]", "policy[,...]", "passt[,...]",
 *		    "tap=IF[,...]"; NULL is none
 *
 * Touches nothing but @ret, into which it points: not to be copied.
 *
 * Return: 0 or -EINVAL with a sentence
 */
MUST_CHECK int netplan_read(const char *words, struct netplan *ret,
			    struct err *e);

/** netplan_helper() - Program of others that carries such frames, or NULL */
const char *netplan_helper(const struct netplan *p);

/** netplan_private() - Whether its addresses are the VM's own, the same in all */
bool netplan_private(const struct netplan *p);

#endif
