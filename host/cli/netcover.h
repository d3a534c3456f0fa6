/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/netcover.h - whether a rule leaves nothing to one behind it */
#ifndef HUTCH_CLI_NETCOVER_H
#define HUTCH_CLI_NETCOVER_H

#include <stdbool.h>

/**
 * struct netcover - What a rule is about, as it was written
 * @host:	Name, glob, address, range, or "internet"
 * @ports:	"443" or "8000-8100"; NULL: all, or those of HTTP
 * @http:	Of an interception: without @ports it is for 80 and 443
 */
struct netcover {
	const char *host;
	const char *ports;
	bool http;
};

/**
 * netcover_takes() - Whether @first decides what @second is about, in its place
 *
 * For all hosts of @second, and one of its ports or more. Who lies in a range is
 * not known.
 */
bool netcover_takes(const struct netcover *first,
		    const struct netcover *second);

#endif
