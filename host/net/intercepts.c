/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/intercepts.c - see intercepts.h */
#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <string.h>
#include <time.h>

#include "common/io.h"
#include "host/net/intercepts.h"

/** struct one - A connection that ends here, and what it is about */
struct one {
	struct list link;
	struct intercepts *of;
	struct carrier *carrier;
	struct handler_ask ask;
	struct attempt attempt;
	char name[NAME_CAP];
	int rule;
};

static int read_one(struct intercepts *i, const char *path, struct err *e)
{
	return io_read_file(AT_FDCWD, path, INTERCEPTS_BUNDLE_MAX, &i->bundle,
			    &i->bundle_len, e);
}

/* Whoever names one does not want another in its place. */
static int read_bundle(struct intercepts *i, struct err *e)
{
	static const char *const paths[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt"
	};
	const char *named = getenv("SSL_CERT_FILE");
	int r;

	if (named && *named) {
		r = read_one(i, named, e);
		return r < 0 ? err_wrap(e, r, "SSL_CERT_FILE") : 0;
	}
	for (size_t n = 0; n < ARRAY_LEN(paths); n++)
		if (read_one(i, paths[n], e) == 0)
			return 0;
	return err_set(e, -ENOENT,
		       "there is no bundle of certificates to check servers "
		       "by: install ca-certificates, or set SSL_CERT_FILE");
}

void intercepts_open(struct intercepts *i)
{
	unsigned char byte;
	struct err e;

	list_init(&i->all);
	i->open = true;
	/* Its configuration and its source of chance are files, if asked. */
	(void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	(void)RAND_bytes(&byte, 1);
	/* And libc's idea of the time of day, for a date in a certificate. */
	tzset();
	if (read_bundle(i, &e) < 0)
		i->bundle_why = e;
}

static void forget(struct one *o)
{
	handlers_cancel(&o->ask);
	list_del(&o->link);
	o->of->n--;
	free(o);
}

void intercepts_done(struct intercepts *i)
{
	if (!i->open)
		return;
	while (!list_empty(&i->all)) {
		struct one *o = list_entry(i->all.next, struct one, link);

		carrier_stop(o->carrier);
		forget(o);
	}
	ca_free(i->ca);
	trust_free(i->trust);
	free(i->bundle);
	memset(i, 0, sizeof(*i));
}

int intercepts_prepare(struct intercepts *i, const struct policy *p,
		       const char **ret_ca, struct err *e)
{
	int r = 0;

	*ret_ca = NULL;
	if (!policy_intercepts(p))
		return 0;
	if (!i->open)
		return err_set(e, -EINVAL,
			       "the network began without a rule that "
			       "intercepts, and cannot have one now");
	if (i->bundle_why.code < 0 && policy_has_upstream(p))
		return err_set(e, i->bundle_why.code, "%s", i->bundle_why.msg);
	if (!i->trust && policy_has_upstream(p))
		r = trust_new(i->bundle, i->bundle_len, &i->trust, e);
	if (r == 0 && !i->ca)
		r = ca_new((int64_t)time(NULL), &i->ca, e);
	if (r < 0)
		return r;
	*ret_ca = ca_pem(i->ca);
	return 0;
}

const char *intercepts_fingerprint(const struct intercepts *i)
{
	return i->ca ? ca_sha256(i->ca) : NULL;
}

/* (They end when this has returned, if they do: the list stays as it is.) */
void intercepts_retire(struct intercepts *i)
{
	for (struct list *p = i->all.next; i->open && p != &i->all; p = p->next)
		carrier_retire(list_entry(p, struct one, link)->carrier);
}

/* Why it ended is a denial, if it was refused; that it ended is no news. */
static void ended(void *arg, struct carrier *c, const char *why)
{
	struct one *o = arg;
	const struct verdict v = { .rule = o->rule,
				   .name = o->name,
				   .why = why };

	(void)c;
	if (why)
		denials_flow(o->of->denials, &o->attempt, &v);
	forget(o);
}

static struct one *new_one(struct intercepts *i, const struct attempt *a,
			   const struct verdict *v)
{
	struct one *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->of = i;
	o->rule = v->rule;
	o->attempt = (struct attempt){ .proto = a->proto,
				       .dst = a->dst,
				       .port = a->port };
	strncpy(o->name, v->name, sizeof(o->name) - 1);
	list_add_tail(&i->all, &o->link);
	i->n++;
	return o;
}

/* One that rests can be had again, with the next request. */
static void make_room(struct intercepts *i)
{
	struct one *best = NULL;
	uint64_t most = 0;
	struct list *p;

	if (i->n < NET_INTERCEPT_MAX)
		return;
	list_for_each (p, &i->all) {
		struct one *o = list_entry(p, struct one, link);
		uint64_t ns = carrier_rests_ns(o->carrier);

		if (ns > most) {
			most = ns;
			best = o;
		}
	}
	if (!best)
		return;
	carrier_stop(best->carrier);
	forget(best);
}

static void connected(struct handler_ask *a, int fd, unsigned int status,
		      const char *why)
{
	struct one *o = container_of(a, struct one, ask);

	if (fd >= 0)
		carrier_up(o->carrier, fd);
	else
		carrier_no_up(o->carrier, status, why);
}

/* (The rule's policy lives as long as what is carried.) */
static void want_up(void *arg, struct carrier *c)
{
	struct one *o = arg;

	(void)c;
	handlers_ask(o->of->handlers, &o->ask);
}

int intercepts_take(struct intercepts *i, const struct attempt *a,
		    const struct verdict *v, int fd, int up_fd)
{
	const char *handler = policy_handler(i->guard->policy, v->rule);
	struct one *o;
	int r;

	if ((up_fd < 0 && !handler) || !v->name || !i->ca)
		return -EACCES;
	make_room(i);
	if (i->n >= NET_INTERCEPT_MAX)
		return -EACCES;
	o = new_one(i, a, v);
	if (!o)
		return -ENOMEM;
	o->ask.path = handler;
	o->ask.done = connected;
	r = carrier_start(
		&(struct carrier_opts){
			.loop = i->loop,
			.icpt = { .policy = i->guard->policy,
				  .pins = i->guard->pins,
				  .rule = v->rule,
				  .name = o->name,
				  .dst = a->dst,
				  .port = a->port,
				  .vm = i->vm,
				  .tls = !a->plain,
				  .ca = i->ca,
				  .trust = i->trust,
				  .now_ms =
					  guard_dns_env(i->guard, NULL).now_ms,
				  .now_s = (int64_t)time(NULL) },
			.guest_fd = fd,
			.begin_ns = INTERCEPT_BEGIN_NS,
			.rest_ns = INTERCEPT_REST_NS,
			.idle_ns = INTERCEPT_IDLE_NS,
			.up_fd = handler ? -1 : up_fd,
			.want_up = want_up,
			.ended = ended,
			.arg = o,
		},
		&o->carrier, NULL);
	if (r < 0)
		forget(o);
	else if (handler && up_fd >= 0)
		(void)close(up_fd);
	return r;
}
