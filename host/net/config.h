/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host/net/config.h - what the keeper says on the control socket
 *
 * Each message is one JSON document of at most CONFIG_MAX bytes. Unknown keys
 * are refused, so that what is misspelt is not taken for a default.
 */
#ifndef HUTCH_HOST_NET_CONFIG_H
#define HUTCH_HOST_NET_CONFIG_H

#include "host/net/limits.h"
#include "host/net/policy/policy.h"

#define CONFIG_MAX 65536u

/** config_seed() - Hash keys of documents by chance, while files can be opened */
void config_seed(void);

/** struct config_resolvers - @n of them, asked in this order */
struct config_resolvers {
	unsigned int n;
	struct net_addr v[DNS_RESOLVERS_MAX];
};

/**
 * struct config - The first message
 * @policy:	One reference
 * @mtu:	Of the link
 */
struct config {
	struct policy *policy;
	struct config_resolvers resolvers;
	uint32_t mtu;
};

/**
 * config_first() - {"policy": {...}, "resolvers": ["192.0.2.1"], "mtu": 65520}
 *
 * "mtu" may be left out.
 *
 * Return: 0; -EINVAL with a sentence; -ENOMEM
 */
MUST_CHECK int config_first(const char *text, size_t len, struct config *ret,
			    struct err *e);

/**
 * struct config_connected - What became of a connection to a handler
 * @id:		Of the question (handlers.h); 0: the message is another one
 * @error:	A word for why there is none; "": there is one
 */
struct config_connected {
	uint64_t id;
	char error[16];
};

/**
 * struct config_request - A later message
 * @policy:	One reference; NULL: it stays. Without resolvers either it is
 *		{"show": true}, or an answer
 * @all:	It is for the flows that there are as well
 * @connected:	An answer, and all else is nothing
 * @has_resolvers: @resolvers are to be asked from now on
 */
struct config_request {
	struct policy *policy;
	bool all;
	bool has_resolvers;
	struct config_connected connected;
	struct config_resolvers resolvers;
};

/**
 * config_request() - {"policy": {...}, "apply": "new"|"all"}, {"show": true},
 *		       {"connected": 7, "error": "word"}
 *
 * With a policy "resolvers" may be there too, or alone.
 */
MUST_CHECK int config_request(const char *text, size_t len,
			      struct config_request *ret, struct err *e);

#endif
