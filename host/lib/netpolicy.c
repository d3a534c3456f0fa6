/* SPDX-License-Identifier: Apache-2.0 */
/* host/lib/netpolicy.c - see netpolicy.h */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/io.h"
#include "host/lib/jsontext.h"
#include "host/lib/netpolicy.h"
#include "host/lib/netsecret.h"

#define RESOLV_MAX 65536

/* ---- JSON ---- */

static void drop(json_t *j)
{
	netsecret_wipe(j);
	json_decref(j);
}

/*
 * The line, and not what stands there, which may be a credential: jansson quotes
 * it behind "near".
 */
static int bad_json(json_error_t *why, struct err *e)
{
	char *near = strstr(why->text, " near ");

	if (near)
		*near = '\0';
	return err_set(e, -EINVAL,
		       "network: the policy is no JSON: line %d, column %d: %s",
		       why->line, why->column, why->text);
}

static int read_policy(const char *text, json_t **ret, struct err *e)
{
	const size_t flags = JSON_REJECT_DUPLICATES;
	json_error_t why;

	if (strlen(text) > NETPOLICY_MAX)
		return err_set(e, -E2BIG,
			       "network: a policy of %zu bytes is more than %u",
			       strlen(text), NETPOLICY_MAX);
	*ret = json_loads(text, flags, &why);
	return *ret ? 0 : bad_json(&why, e);
}

/* ---- Resolvers ---- */

int netpolicy_resolvers(const char *text, char ret[NETPOLICY_RESOLVERS][64])
{
	static const char key[] = "nameserver";
	const char *line = text;
	int n = 0;

	while (*line && n < NETPOLICY_RESOLVERS) {
		const char *s = line + strspn(line, " \t");
		unsigned char raw[16];
		size_t len;

		line += strcspn(line, "\n");
		line += *line == '\n';
		if (strncmp(s, key, sizeof(key) - 1) != 0)
			continue;
		s += sizeof(key) - 1;
		if (*s != ' ' && *s != '\t')
			continue;
		s += strspn(s, " \t");
		len = strcspn(s, " \t\r\n");
		if (len == 0 || len >= sizeof(ret[0]))
			continue;
		memcpy(ret[n], s, len);
		ret[n][len] = '\0';
		/* One with a scope ("fe80::1%eth0") is not for us. */
		if (inet_pton(AF_INET, ret[n], raw) == 1 ||
		    inet_pton(AF_INET6, ret[n], raw) == 1)
			n++;
	}
	return n;
}

static json_t *host_resolvers(void)
{
	char list[NETPOLICY_RESOLVERS][64];
	auto_free char *text = calloc(1, RESOLV_MAX + 1);
	auto_fd int fd =
		open(NETPOLICY_RESOLV_CONF, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	json_t *j = json_array();
	ssize_t len = -1;
	int n;

	/* A host without one resolves nothing, and so does its guest. */
	if (text && fd >= 0)
		len = io_read_full(fd, text, RESOLV_MAX);
	n = len > 0 ? netpolicy_resolvers(text, list) : 0;
	for (int i = 0; i < n; i++)
		if (json_array_append_new(j, json_string(list[i])) < 0)
			break;
	return j;
}

/* ---- The messages ---- */

/*
 * @j is ours to free. (json_dumps() would leave copies in memory that it has given
 * back.)
 */
static int dump(json_t *j, char **ret, struct err *e)
{
	size_t len = j ? json_dumpb(j, NULL, 0, JSON_COMPACT) : 0;
	char *text = len && len <= NETPOLICY_MAX ? malloc(len + 1) : NULL;

	if (text) {
		(void)json_dumpb(j, text, len, JSON_COMPACT);
		text[len] = '\0';
	}
	drop(j);
	if (len > NETPOLICY_MAX)
		return err_set(e, -E2BIG,
			       "network: a policy of %zu bytes is more than %u",
			       len, NETPOLICY_MAX);
	if (!text)
		return err_set(e, -ENOMEM, "no memory");
	*ret = text;
	return (int)len;
}

/* With the values of what it injects. */
static int read_expanded(const char *policy, json_t **ret, struct err *e)
{
	int r = read_policy(policy, ret, e);

	r = r < 0 ? r : netsecret_expand(*ret, e);
	if (r < 0)
		drop(*ret);
	return r;
}

int netpolicy_message(const char *policy, unsigned int mtu, char **ret,
		      struct err *e)
{
	json_t *p = NULL;
	int r = read_expanded(policy, &p, e);

	if (r < 0)
		return r;
	return dump(json_pack("{s:o,s:o,s:i}", "policy", p, "resolvers",
			      host_resolvers(), "mtu", (int)mtu),
		    ret, e);
}

int netpolicy_change(const char *policy, int all, char **ret, struct err *e)
{
	json_t *p = NULL;
	int r = read_expanded(policy, &p, e);

	if (r < 0)
		return r;
	return dump(json_pack("{s:o,s:o,s:s}", "policy", p, "resolvers",
			      host_resolvers(), "apply", all ? "all" : "new"),
		    ret, e);
}

char *netpolicy_resolvers_now(void)
{
	auto_json json_t *j = json_pack("{s:o}", "resolvers", host_resolvers());

	return j ? json_dumps(j, JSON_COMPACT) : NULL;
}

json_t *netpolicy_handlers(const char *policy)
{
	auto_json json_t *p = policy ? json_loads(policy, 0, NULL) : NULL;
	json_t *list = json_array(), *rule, *path;
	size_t i;

	json_array_foreach(json_object_get(p, "rules"), i, rule)
	{
		path = json_object_get(rule, "handler");
		/* Out of memory: to that one nobody is connected. */
		if (json_is_string(path))
			(void)json_array_append(list, path);
	}
	return list;
}

void netpolicy_free(char *message)
{
	if (message)
		explicit_bzero(message, strlen(message));
	free(message);
}
