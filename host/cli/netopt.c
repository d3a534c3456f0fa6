/* SPDX-License-Identifier: Apache-2.0 */
/* host/cli/netopt.c - see netopt.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "host/cli/jsonw.h"
#include "host/cli/netcover.h"
#include "host/cli/netopt.h"
#include "host/cli/value.h"

#define HOST_MAX 256
#define WHAT_MAX 16
#define WHY_MAX  200
#define INJECT   "inject"
#define HANDLER  "handler"

static int no_memory(struct hutch_err *e)
{
	(void)snprintf(e->msg, sizeof(e->msg), "network: out of memory");
	e->code = -ENOMEM;
	return -ENOMEM;
}

/* As value_refuse(), of which those who cannot look into it know no value. */
static int refuse(struct hutch_err *e, const char *what, const char *word,
		  const char *why)
{
	(void)value_refuse(e, what, word, why);
	return -EINVAL;
}

/* ---- HOST[:PORT] ---- */

/**
 * struct target - What a rule is about
 * @host:	Name, glob, address, range, or "internet"
 * @port:	"443" or "8000-8100"; NULL: all
 */
struct target {
	char host[HOST_MAX];
	const char *port;
};

/* Of an IPv6 address the colons are its own, unless it stands in brackets. */
static int split(const char *what, const char *word, struct target *ret,
		 struct hutch_err *e)
{
	const char *host = word, *port = strrchr(word, ':');
	size_t len = strlen(word);

	if (*word == '[') {
		const char *end = strchr(word, ']');

		if (!end || (end[1] && end[1] != ':'))
			return refuse(e, what, word,
				      "is not written as [ADDRESS]:PORT");
		host = word + 1;
		len = (size_t)(end - host);
		port = end[1] ? end + 1 : NULL;
	} else if (port && strchr(word, ':') == port) {
		len = (size_t)(port - word);
	} else {
		port = NULL;
	}
	if (len == 0 || len >= sizeof(ret->host))
		return refuse(e, what, word, "names no host");
	if (port && !port[1])
		return refuse(e, what, word, "has no port behind ':'");
	(void)snprintf(ret->host, sizeof(ret->host), "%.*s", (int)len, host);
	ret->port = port ? port + 1 : NULL;
	return 0;
}

static void put_target(struct jsonw *j, const char *act, const struct target *t)
{
	jsonw_str(j, act, t->host);
	if (!t->port)
		return;
	jsonw_array(j, "ports");
	jsonw_str(j, NULL, t->port);
	jsonw_array_end(j);
}

static int put_rule(struct jsonw *j, const char *act, const char *word,
		    struct hutch_err *e)
{
	char what[WHAT_MAX];
	struct target t;
	int r;

	(void)snprintf(what, sizeof(what), "--%s", act);
	r = split(what, word, &t, e);
	if (r < 0)
		return r;
	jsonw_object(j, NULL);
	put_target(j, act, &t);
	jsonw_object_end(j);
	return 0;
}

/* ---- HOST[:PORT][/PATH] HEADER=VALUE, and HOST[:PORT]=PATH ---- */

/**
 * struct injection - What --inject says
 * @head:	HOST[:PORT]
 * @path:	From its '/' on; "" for all
 */
struct injection {
	char head[HOST_MAX];
	char path[HOST_MAX];
	char header[HOST_MAX];
	const char *value;
};

static int take_part(char ret[HOST_MAX], const char *s, size_t len)
{
	if (len >= HOST_MAX)
		return -EINVAL;
	memcpy(ret, s, len);
	ret[len] = '\0';
	return 0;
}

static int read_injection(const char *word, struct injection *ret,
			  struct hutch_err *e)
{
	size_t where = strcspn(word, " "), head = strcspn(word, "/ ");
	const char *header = word + where + strspn(word + where, " ");
	const char *value = strchr(header, '=');

	if (head == 0 || !value || value == header ||
	    take_part(ret->head, word, head) < 0 ||
	    take_part(ret->path, word + head, where - head) < 0 ||
	    take_part(ret->header, header, (size_t)(value - header)) < 0)
		return refuse(e, "--inject", word,
			      "is not written as 'HOST[/PATH] "
			      "HEADER=VALUE'");
	ret->value = value + 1;
	return 0;
}

/* HOST[:PORT]=PATH */
static int read_handler(const char *word, char head[HOST_MAX],
			const char **ret_path, struct hutch_err *e)
{
	const char *path = strchr(word, '=');

	if (!path || path == word || path[1] != '/' ||
	    take_part(head, word, (size_t)(path - word)) < 0)
		return refuse(e, "--handler", word,
			      "is not written as HOST=/PATH/OF/SOCKET");
	*ret_path = path + 1;
	return 0;
}

static bool is_intercept(const char *act)
{
	return strcmp(act, INJECT) == 0 || strcmp(act, HANDLER) == 0;
}

/* HOST[:PORT] of either. */
static int read_head(const char *const *rule, char head[HOST_MAX],
		     struct hutch_err *e)
{
	const char *path;
	struct injection in;
	int r;

	if (strcmp(rule[0], HANDLER) == 0)
		return read_handler(rule[1], head, &path, e);
	r = read_injection(rule[1], &in, e);
	if (r < 0)
		return r;
	memcpy(head, in.head, HOST_MAX);
	return 0;
}

/* As names are compared: without regard to case and the last dot. */
static bool is_same_head(const char *a, const char *b)
{
	const size_t a_len = strcspn(a, ":"), b_len = strcspn(b, ":");
	const size_t n = a_len - (a_len && a[a_len - 1] == '.');

	return n == b_len - (b_len && b[b_len - 1] == '.') &&
	       strncasecmp(a, b, n) == 0 && strcmp(a + a_len, b + b_len) == 0;
}

static int put_injection(struct jsonw *j, const char *word, const char *head,
			 bool *any, struct hutch_err *e)
{
	struct injection in;
	int r = read_injection(word, &in, e);

	if (r < 0 || !is_same_head(in.head, head))
		return r;
	if (!*any)
		jsonw_array(j, "inject");
	*any = true;
	jsonw_object(j, NULL);
	if (*in.path)
		jsonw_str(j, "path", in.path);
	jsonw_object(j, "set");
	jsonw_str(j, in.header, in.value);
	jsonw_object_end(j);
	jsonw_object_end(j);
	return 0;
}

static int put_injections(struct jsonw *j, const struct opt_list *rules,
			  size_t first, const char *head, struct hutch_err *e)
{
	bool any = false;
	int r = 0;

	for (size_t i = first; r == 0 && i + 1 < rules->n; i += 2)
		if (strcmp(rules->v[i], INJECT) == 0)
			r = put_injection(j, rules->v[i + 1], head, &any, e);
	if (any)
		jsonw_array_end(j);
	return r;
}

static int put_handler(struct jsonw *j, const struct opt_list *rules,
		       size_t first, const char *head, struct hutch_err *e)
{
	char own[HOST_MAX];
	const char *path;
	bool any = false;

	for (size_t i = first; i + 1 < rules->n; i += 2) {
		const char *word = rules->v[i + 1];

		if (strcmp(rules->v[i], HANDLER) != 0)
			continue;
		if (read_handler(word, own, &path, e) < 0)
			return -EINVAL;
		if (!is_same_head(own, head))
			continue;
		if (any)
			return refuse(e, "--handler", word,
				      "is one handler more for the same host");
		any = true;
		jsonw_str(j, HANDLER, path);
	}
	return 0;
}

static bool is_told(const struct opt_list *rules, size_t end, const char *head)
{
	struct hutch_err ignored;
	char own[HOST_MAX];

	for (size_t i = 0; i < end; i += 2)
		if (is_intercept(rules->v[i]) &&
		    read_head(rules->v + i, own, &ignored) == 0 &&
		    is_same_head(own, head))
			return true;
	return false;
}

/* Rules of one host are one rule: of two the second would never be looked at. */
static int put_intercept(struct jsonw *j, const struct opt_list *rules,
			 size_t i, struct hutch_err *e)
{
	char head[HOST_MAX] = "", what[WHAT_MAX];
	struct target t;
	int r = read_head(rules->v + i, head, e);

	if (r < 0 || is_told(rules, i, head))
		return r;
	(void)snprintf(what, sizeof(what), "--%s", rules->v[i]);
	r = split(what, head, &t, e);
	if (r < 0)
		return r;
	jsonw_object(j, NULL);
	put_target(j, "intercept", &t);
	r = put_injections(j, rules, i, head, e);
	if (r == 0)
		r = put_handler(j, rules, i, head, e);
	jsonw_object_end(j);
	return r;
}

static int put_rules(FILE *out, const struct opt_list *rules, bool internet,
		     struct hutch_err *e)
{
	struct jsonw j = { .out = out };
	int r = 0;

	jsonw_object(&j, NULL);
	jsonw_array(&j, "rules");
	for (size_t i = 0; r == 0 && i + 1 < rules->n; i += 2)
		r = is_intercept(rules->v[i])
			    ? put_intercept(&j, rules, i, e)
			    : put_rule(&j, rules->v[i], rules->v[i + 1], e);
	if (internet) {
		jsonw_object(&j, NULL);
		jsonw_str(&j, "allow", "internet");
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
	jsonw_object_end(&j);
	return r;
}

static int make_rules(struct netopt *p, const struct opt_list *rules,
		      bool internet, struct hutch_err *e)
{
	size_t len = 0;
	FILE *out = open_memstream(&p->policy, &len);
	int r;

	if (!out)
		return no_memory(e);
	r = put_rules(out, rules, internet, e);
	if (fclose(out) != 0 && r == 0)
		r = no_memory(e);
	return r;
}

/* ---- Rules that come too late ---- */

/**
 * struct about - What one is about
 * @head:	HOST[:PORT], in which the others' strings are
 */
struct about {
	char head[HOST_MAX];
	struct target t;
	struct netcover cover;
};

static int read_about(const char *const *rule, struct about *ret)
{
	const bool http = is_intercept(rule[0]);
	struct hutch_err ignored;
	int r = http ? read_head(rule, ret->head, &ignored)
		     : take_part(ret->head, rule[1], strlen(rule[1]));

	r = r < 0 ? r : split("", ret->head, &ret->t, &ignored);
	if (r == 0)
		ret->cover =
			(struct netcover){ ret->t.host, ret->t.port, http };
	return r;
}

/* Of one that intercepts nothing would tell: what is allowed works. */
static void warn_of(struct hutch_err *ret, const struct opt_list *rules,
		    size_t i)
{
	struct about own, first;
	char what[WHAT_MAX], why[WHY_MAX], q[WHY_MAX / 2];

	if (read_about(rules->v + i, &own) < 0 || is_told(rules, i, own.head))
		return;
	for (size_t k = 0; k < i && !ret->code; k += 2) {
		if (read_about(rules->v + k, &first) < 0 ||
		    !netcover_takes(&first.cover, &own.cover))
			continue;
		(void)snprintf(what, sizeof(what), "--%s", rules->v[i]);
		(void)snprintf(
			why, sizeof(why),
			"has no effect where --%s '%s' decides, which is "
			"before it: put it first",
			rules->v[k],
			hutch_escape(q, sizeof(q), first.head,
				     strlen(first.head)));
		(void)value_refuse(ret, what, own.head, why);
	}
}

static void warn_of_all(struct hutch_err *ret, const struct opt_list *rules)
{
	for (size_t i = 0; i + 1 < rules->n && !ret->code; i += 2)
		if (is_intercept(rules->v[i]))
			warn_of(ret, rules, i);
}

/* ---- A policy in a file ---- */

static int read_file(const char *path, char **ret, struct hutch_err *e)
{
	AUTO_FREE char *text = calloc(1, NETOPT_FILE_MAX + 2);
	FILE *f = fopen(path, "re");
	size_t n = 0;
	int r;

	if (text && f) {
		n = fread(text, 1, NETOPT_FILE_MAX + 1, f);
		r = ferror(f) ? -errno : 0;
	} else {
		r = text ? -errno : -ENOMEM;
	}
	if (f)
		(void)fclose(f);
	if (r < 0) {
		(void)value_refuse(e, "--net", path, strerror(-r));
		e->code = r;
		return r;
	}
	if (n > NETOPT_FILE_MAX)
		return value_refuse(e, "--net", path, "is larger than 64 KiB");
	if (strlen(text) != n || n == 0)
		return value_refuse(e, "--net", path,
				    "holds no policy, but something else");
	*ret = text;
	text = NULL;
	return 0;
}

/* ---- All of it ---- */

static bool is_file(const char *net, size_t len)
{
	static const char end[] = ".json";

	return memchr(net, '/', len) ||
	       (len > sizeof(end) - 1 && strncmp(net + len - (sizeof(end) - 1),
						 end, sizeof(end) - 1) == 0);
}

/* "policy", and behind it what stood behind the mode. */
static int set_words(struct netopt *p, const char *rest, struct hutch_err *e)
{
	if (asprintf(&p->words, "policy%s", rest) < 0) {
		p->words = NULL;
		return no_memory(e);
	}
	p->net = p->words;
	return 0;
}

static int use_file(const char *net, size_t len, const struct opt_list *rules,
		    struct netopt *ret, struct hutch_err *e)
{
	AUTO_FREE char *path = strndup(net, len);
	int r;

	if (!path)
		return no_memory(e);
	if (rules->n)
		return value_refuse(e, "--net", path,
				    "has rules of its own: write what --allow, "
				    "--deny, --inject and --handler say into "
				    "it");
	r = read_file(path, &ret->policy, e);
	return r < 0 ? r : set_words(ret, net + len, e);
}

static bool only_denies(const struct opt_list *rules)
{
	for (size_t i = 0; i < rules->n; i += 2)
		if (strcmp(rules->v[i], "deny") != 0)
			return false;
	return true;
}

int netopt_parse(const char *net, const struct opt_list *rules,
		 struct netopt *ret, struct hutch_err *e)
{
	const char *mode = net ? net : "";
	size_t len = strcspn(mode, ",");
	bool internet = len == strlen("internet") &&
			strncmp(mode, "internet", len) == 0;
	int r;

	*ret = (struct netopt){ .net = net };
	if (is_file(mode, len))
		return use_file(mode, len, rules, ret, e);
	if (rules->n == 0)
		return 0;
	if (net && !internet)
		return value_refuse(
			e, "--net", net,
			"has no rules: --allow, --deny, --inject and "
			"--handler are for internet, or alone");
	if (!internet && only_denies(rules))
		return value_refuse(e, "--deny", rules->v[1],
				    "is denied anyhow: nothing is allowed yet, "
				    "by --allow or --net internet");
	r = make_rules(ret, rules, internet, e);
	warn_of_all(&ret->warning, rules);
	return r < 0 ? r : set_words(ret, mode + len, e);
}

void netopt_done(struct netopt *p)
{
	free(p->policy);
	free(p->words);
	*p = (struct netopt){ 0 };
}
