/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/keeper/netresolv.c - hutch-net asks who the host would ask, and goes on to
 * when the host is in another network: it has no files of its own to look in
 *
 * What it is told is whom to ask, never whom to allow: without resolvers it
 * resolves no names.
 */
#include <string.h>

#include "host/keeper/keeper.h"
#include "host/lib/netpolicy.h"

static void on_changed(struct resolv *r)
{
	struct keeper_net *n = container_of(r, struct keeper_net, resolv);

	n->stale = true;
	netresolv_tell(container_of(n, struct keeper, net));
}

void netresolv_start(struct keeper *k)
{
	struct keeper_net *n = &k->net;

	/* Without a watch it has those of now, and of each net-set. */
	if (resolv_watch(&n->resolv, &k->loop, NETPOLICY_RESOLV_CONF,
			 on_changed) < 0)
		return;
	/* They were read before there was a watch. */
	n->stale = true;
}

void netresolv_tell(struct keeper *k)
{
	struct keeper_net *n = &k->net;
	auto_free char *text = NULL;

	if (!n->stale || !n->begun || n->control < 0)
		return;
	text = netpolicy_resolvers_now();
	/* It is told with the next answer: it is at the last ones still. */
	if (text && netctl_ask(k, NET_ASKER_KEEPER, text, strlen(text)) == 0)
		n->stale = false;
}
