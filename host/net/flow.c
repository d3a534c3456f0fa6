/* SPDX-License-Identifier: Apache-2.0 */
/* host/net/flow.c - see flow.h */
#include <errno.h>
#include <string.h>

#include "host/net/flow.h"
#include "host/net/net.h"

void flows_init(struct flows *fs)
{
	memset(fs, 0, sizeof(*fs));
	for (size_t i = 0; i < FLOW_BUCKETS; i++)
		list_init(&fs->bucket[i]);
	for (size_t i = 0; i < ARRAY_LEN(fs->all); i++)
		list_init(&fs->all[i]);
	list_init(&fs->ready);
	list_init(&fs->settle);
}

static struct list *bucket_of(struct flows *fs, const struct flow_key *key)
{
	uint64_t h = siphash(&fs->hash_key, key, sizeof(*key));

	return &fs->bucket[h % FLOW_BUCKETS];
}

struct flow *flow_find(struct flows *fs, const struct flow_key *key)
{
	const struct list *head = bucket_of(fs, key);
	struct list *p;

	list_for_each (p, head) {
		struct flow *f = list_entry(p, struct flow, hash);

		if (memcmp(&f->key, key, sizeof(*key)) == 0)
			return f;
	}
	return NULL;
}

struct flow *flow_first(const struct flows *fs, enum net_proto proto)
{
	const struct list *head = &fs->all[proto];

	return list_empty(head) ? NULL
				: list_entry(head->next, struct flow, kind);
}

void flow_add(struct net *net, struct flow *f)
{
	struct flows *fs = &net->flows;

	f->net = net;
	f->fd = -1;
	f->rule = -1;
	list_init(&f->ready);
	list_init(&f->settle);
	list_add_tail(bucket_of(fs, &f->key), &f->hash);
	list_add_tail(&fs->all[f->key.proto], &f->kind);
	fs->n[f->key.proto]++;
}

static void on_event(struct loop_io *io, uint32_t events)
{
	struct flow *f = container_of(io, struct flow, io);

	net_wake(f->net);
	f->ops->event(f, events);
}

int flow_watch(struct flow *f, int fd, uint32_t events)
{
	int r = loop_add(f->net->loop, &f->io, fd, events, on_event);

	bug_on(f->fd >= 0);
	if (r < 0)
		return r;
	f->fd = fd;
	/* As net_connect() has seen to. */
	if (!f->large && !net_is_crowded(f->net)) {
		f->large = true;
		f->net->n_large++;
	}
	return 0;
}

void flow_used(struct flow *f)
{
	list_del(&f->kind);
	list_add_tail(&f->net->flows.all[f->key.proto], &f->kind);
}

void flow_ready(struct flow *f)
{
	if (f->dead || !list_empty(&f->ready))
		return;
	list_add_tail(&f->net->flows.ready, &f->ready);
	net_wake(f->net);
}

void flow_settle(struct flow *f)
{
	if (f->dead || !list_empty(&f->settle))
		return;
	list_add_tail(&f->net->flows.settle, &f->settle);
	net_wake(f->net);
}

int flow_judged(struct flow *f, const struct verdict *v)
{
	char *name = v->name ? strdup(v->name) : NULL;

	if (v->name && !name)
		return -ENOMEM;
	free(f->name);
	f->name = name;
	f->pinned = v->pinned;
	f->rule = v->rule;
	return 0;
}

struct attempt flow_attempt(const struct flow *f)
{
	struct attempt a = {
		.proto = (enum net_proto)f->key.proto,
		.dst = f->key.peer,
		.port = f->key.peer_port,
		.plain = f->seen == FLOW_PLAIN,
		.known = f->pinned ? f->name : NULL,
	};

	if (f->seen != FLOW_UNSEEN)
		a.sni = f->seen == FLOW_TLS ? f->name : "";
	return a;
}

static void free_flow(struct flow *f)
{
	free(take_ptr(&f->name));
	f->ops->free(f);
}

static void on_end_of_batch(struct loop_defer *d)
{
	free_flow(container_of(d, struct flow, defer));
}

static void detach(struct flow *f)
{
	f->dead = true;
	loop_forget(&f->io);
	loop_timer_cancel(&f->timer);
	drop_fd(&f->fd);
	list_del(&f->hash);
	list_del(&f->kind);
	list_del(&f->ready);
	list_del(&f->settle);
	f->net->flows.n[f->key.proto]--;
	f->net->n_large -= f->large;
}

void flow_end(struct flow *f)
{
	if (f->dead)
		return;
	detach(f);
	loop_defer(f->net->loop, &f->defer, on_end_of_batch);
}

void flows_done(struct flows *fs)
{
	for (size_t i = 0; i < ARRAY_LEN(fs->all); i++) {
		while (!list_empty(&fs->all[i])) {
			struct flow *f =
				list_entry(fs->all[i].next, struct flow, kind);

			detach(f);
			free_flow(f);
		}
	}
}
