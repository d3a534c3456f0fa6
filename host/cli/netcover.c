/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/netcover.c - see netcover.h */
#include <stdlib.h>
#include <string.h>

#include "host/cli/netcover.h"

#define PORT_MAX 65535u

/** struct ports - One range of ports, or two */
struct ports {
	unsigned int n;
	struct {
		unsigned long first;
		unsigned long last;
	} r[2];
};

static struct ports ports_of(const struct netcover *c)
{
	static const struct ports http = { 2, { { 80, 80 }, { 443, 443 } } };
	struct ports p = { 1, { { 0, PORT_MAX } } };
	char *end;

	if (!c->ports)
		return c->http ? http : p;
	p.r[0].first = p.r[0].last = strtoul(c->ports, &end, 10);
	if (*end == '-')
		p.r[0].last = strtoul(end + 1, NULL, 10);
	return p;
}

static bool share_port(const struct netcover *a, const struct netcover *b)
{
	const struct ports p = ports_of(a), q = ports_of(b);

	for (unsigned int i = 0; i < p.n; i++)
		for (unsigned int k = 0; k < q.n; k++)
			if (p.r[i].first <= q.r[k].last &&
			    q.r[k].first <= p.r[i].last)
				return true;
	return false;
}

static size_t name_len(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && s[len - 1] == '.' ? len - 1 : len;
}

/* Case does not count, nor does a dot at the end. */
static bool has_host(const char *pattern, const char *host)
{
	size_t tail = name_len(pattern), len = name_len(host);

	if (strcmp(pattern, "internet") == 0)
		return true;
	if (pattern[0] != '*')
		return tail == len && strncasecmp(pattern, host, len) == 0;
	tail--;
	return len >= tail &&
	       strncasecmp(host + len - tail, pattern + 1, tail) == 0;
}

bool netcover_takes(const struct netcover *first, const struct netcover *second)
{
	return has_host(first->host, second->host) && share_port(first, second);
}
